//! How servers start, and what becomes of a session whose servers do not.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

use crate::play::{PROGRAM, Play, begin, call_and_end, client, client_by, notices, program, server};

pub(crate) fn says(count: usize) -> Vec<Reply> {
    (0..count).map(|_| Reply::text("hello")).collect()
}

#[test]
fn servers_of_the_client_and_of_the_configuration_are_there_in_their_order() {
    let more = format!("[mcp_servers.own]\ncommand = {PROGRAM:?}\ntools = [\"echo\", \"fail\"]\n");
    let mut play = Play::configured(says(2), &more, json!([server("a", &[])]));
    play.prompt();
    play.prompt();
    let names = play.tools(0);
    assert_eq!(names[..3], ["mcp__own__echo", "mcp__own__fail", "mcp__a__alter"]);
    assert_eq!(names.len(), 2 + 12);
    let tools = |request: usize| play.mock.requests()[request].body["tools"].to_string();
    assert_eq!(tools(0), tools(1), "the list is the same byte for byte");
}

#[test]
fn a_prompt_that_comes_at_once_waits_for_a_slow_server() {
    let mut play = Play::new(
        call_and_end("mcp__slow__echo", json!({"text": "hi"})),
        json!([server("slow", &["--slow", "3000"])]),
    );
    let from = play.prompt();
    assert!(play.tools(0).contains(&"mcp__slow__echo".to_owned()));
    assert!(play.told(1).contains("hi"));
    let notices = play.notices(from);
    assert!(
        notices[0].starts_with("waiting for MCP servers to start, 10 s at most: `slow`"),
        "{notices:?}"
    );
}

#[test]
fn a_slow_login_shell_is_not_put_down_to_the_servers() {
    let mock = Mock::serve(says(1));
    let home = Home::with_config(&config_of(&mock, ""));
    let shell = home.workspace().join("slow-shell");
    std::fs::write(&shell, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&shell, Permissions::from_mode(0o700)).unwrap();
    let mut command = home.command(&["acp"]);
    command.env("SHELL", &shell);
    let mut client = client_by(command);
    let session = begin(&mut client, &home, json!([server("a", &[])]));
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let told = notices(&client, 0).join("\n");
    assert!(
        told.contains("waiting for the login shell to say its PATH, 2 s at most: `"),
        "{told}"
    );
    assert!(!told.contains("waiting for MCP servers"), "{told}");
}

#[test]
fn a_silent_server_holds_up_neither_the_session_nor_the_others() {
    let silent = Mock::answering(|_| Reply::silence());
    let silent = json!({"type": "http", "name": "silent", "url": silent.base_url(), "headers": []});
    let mock = Mock::serve(says(2));
    let home = Home::with_config(&config_of(&mock, ""));
    let mut client = client(&home);
    let begun = Instant::now();
    let session = begin(&mut client, &home, json!([silent, server("good", &[])]));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert!(begun.elapsed() < Duration::from_secs(13), "{:?}", begun.elapsed());
    let tools = mock.requests()[0].body["tools"].to_string();
    assert!(tools.contains("mcp__good__echo") && !tools.contains("mcp__silent"));
    let told = notices(&client, 0).join("\n");
    assert!(
        told.contains("the MCP server `silent` is still being started"),
        "{told}"
    );
    let begun = Instant::now();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert!(begun.elapsed() < Duration::from_secs(5), "it is not waited for again");
}

#[test]
fn a_cancel_ends_the_wait_for_a_server() {
    let mut play = Play::new(says(1), json!([server("silent", &["--silent"])]));
    let id = play.client.begin_prompt(&play.session, "go");
    play.client.wait_for_update("notice");
    let begun = Instant::now();
    play.client.notify("session/cancel", json!({"sessionId": play.session}));
    assert_eq!(play.client.stop_reason(id), "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(play.mock.requests().is_empty());
}

/// A session with one server that can't be used: the notice says all this, and the turn works.
#[track_caller]
fn fails(server: serde_json::Value, expect: &[&str]) {
    let mut play = Play::new(says(2), json!([server]));
    let from = play.prompt();
    let notices = play.notices(from);
    let told: Vec<&String> = notices
        .iter()
        .filter(|notice| notice.contains("can't be used"))
        .collect();
    assert_eq!(told.len(), 1, "{notices:?}");
    for part in expect {
        assert!(told[0].contains(part), "{part} is not in {}", told[0]);
    }
    let from = play.prompt();
    assert_eq!(play.notices(from), [""; 0], "it is told once");
    let listed = play.command("/mcp");
    assert!(
        listed.contains("**bad**") && listed.contains("can't be used"),
        "{listed}"
    );
}

#[test]
fn a_program_that_is_not_there_is_named_with_the_path() {
    fails(
        program("bad", "nope-xyz", &[]),
        &["starting it failed", "no program `nope-xyz` in PATH, which is /"],
    );
}

#[test]
fn a_program_that_can_not_be_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.txt");
    std::fs::write(&file, "no program").unwrap();
    let file = file.display().to_string();
    fails(
        program("bad", &file, &[]),
        &["starting it failed", &file, "is it executable?"],
    );
    fails(program("bad", "/nope/xyz", &[]), &["there is no program /nope/xyz"]);
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let more = format!("[mcp_servers.bad]\ncommand = {PROGRAM:?}\ncwd = \"not/there\"\n");
    let mut play = Play::configured(says(1), &more, json!([]));
    let from = play.prompt();
    let told = play.notices(from).join("\n");
    assert!(
        told.contains("its folder") && told.contains("not/there does not exist"),
        "{told}"
    );
}

#[test]
fn a_server_that_ends_at_once_is_told_with_its_last_words() {
    fails(
        server("bad", &["--die", "no token is set"]),
        &["greeting it failed", "exit code: 3", "no token is set"],
    );
}

#[test]
fn sse_is_refused_for_its_server_alone() {
    let sse = json!({"type": "sse", "name": "bad", "url": "http://127.0.0.1:1/sse", "headers": []});
    fails(sse, &["SSE is not served"]);
}

#[test]
fn an_address_where_nobody_listens_is_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let http = json!({"type": "http", "name": "bad", "url": format!("http://{free}/mcp?key=SECRET"), "headers": []});
    fails(http, &["greeting it failed", "Connection refused"]);
    // Written otherwise than a program would write it.
    let url = format!("http://{free}?key=SECRET");
    let http = json!({"type": "http", "name": "web", "url": url, "headers": []});
    let mut play = Play::new(says(1), json!([http]));
    let from = play.prompt();
    let told = play.notices(from).join("\n") + &play.command("/mcp");
    assert!(
        told.contains("`web` can't be used") && !told.contains("SECRET"),
        "{told}"
    );
}

#[test]
fn what_a_server_says_beside_its_messages_harms_nobody() {
    let mut play = Play::new(
        call_and_end("mcp__loud__echo", json!({"text": "hi"})),
        json!([server("loud", &["--noise"])]),
    );
    play.prompt();
    assert!(play.told(1).contains("hi"));
    let log = format!("{:?}", play.client.log);
    assert!(!log.contains("no message") && !log.contains("neither is this"), "{log}");
}

#[test]
fn a_server_runs_in_the_sessions_folder_with_the_commands_environment_and_its_own() {
    let more = format!("[mcp_servers.own]\ncommand = {PROGRAM:?}\nenv = {{ OWN = \"yes\" }}\ncwd = \"sub\"\n");
    let names = json!({"names": ["SOME_API_KEY", "TALARIA_HOME", "OWN", "TALARIA_SESSION"]});
    let replies = vec![
        Reply::calls(&[("1", "mcp__a__where", names.clone()), ("2", "mcp__own__where", names)]),
        Reply::text("done"),
    ];
    let mock = Mock::serve(replies);
    let home = Home::with_config(&config_of(&mock, &more));
    std::fs::create_dir(home.workspace().join("sub")).unwrap();
    let mut command = home.command(&["acp"]);
    command.env("SOME_API_KEY", "secret");
    let mut client = talaria_tests::start::initialized(command);
    let session = begin(&mut client, &home, json!([server("a", &[])]));
    client.prompt(&session, "go");
    let body = mock.requests()[1].body.clone();
    let told = |index: usize| {
        let messages = body["messages"].as_array().unwrap();
        let text = messages[messages.len() - 2 + index]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let (first, own) = (told(0), told(1));
    assert_eq!(first["cwd"], home.workspace().display().to_string());
    assert_eq!(first["env"]["SOME_API_KEY"], json!(null));
    assert_eq!(first["env"]["TALARIA_HOME"], json!(null));
    assert_eq!(first["env"]["OWN"], json!(null));
    assert!(first["env"]["TALARIA_SESSION"].is_string());
    assert_eq!(own["cwd"], home.workspace().join("sub").display().to_string());
    assert_eq!(own["env"]["OWN"], "yes");
}

#[test]
fn a_program_is_found_where_the_login_shell_looks() {
    let mock = Mock::serve(call_and_end("mcp__local__echo", json!({"text": "hi"})));
    let home = Home::with_config(&config_of(&mock, ""));
    let user = home.workspace().join("user");
    let bin = user.join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(PROGRAM, bin.join("my-server")).unwrap();
    std::fs::write(user.join(".profile"), "PATH=\"$HOME/.local/bin:$PATH\"\n").unwrap();
    let mut command = home.command(&["acp"]);
    command
        .env("HOME", &user)
        .env("SHELL", "/bin/sh")
        .env("PATH", "/usr/bin:/bin");
    let mut client = talaria_tests::start::initialized(command);
    let session = begin(&mut client, &home, json!([program("local", "my-server", &[])]));
    client.prompt(&session, "go");
    assert!(mock.requests()[1].messages().last().unwrap().to_string().contains("hi"));
}

#[test]
fn what_a_client_leaves_out_of_a_server_is_empty() {
    let mut play = Play::new(says(1), json!([{"name": "a", "command": PROGRAM}]));
    play.prompt();
    assert_eq!(play.tools(0).len(), 12);
}

#[test]
fn a_configuration_that_makes_no_sense_is_told_by_its_key() {
    let home = Home::new();
    for (server, part) in [
        ("", "neither a `command` to start nor a `url`"),
        ("command = \"a\"\nurl = \"http://h\"", "both a `command` and a `url`"),
        ("url = \"h\"", ".url must begin with"),
        ("url = \"http://h\"\nargs = [\"a\"]", "are for a `command`"),
        ("command = \"a\"\ntimeout_s = 0", ".timeout_s is 0"),
        ("comand = \"a\"", "did you mean `command`?"),
    ] {
        home.write_config(&format!("[mcp_servers.x]\n{server}\n"));
        let mut client = Client::initialized(&home, json!({}));
        let error = client.request("session/new", json!({"cwd": home.workspace(), "mcpServers": []}));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("mcp_servers.x") && error.contains(part), "{error}");
    }
}

#[test]
fn a_workspace_adds_no_server() {
    let mut play = Play::new(says(1), json!([]));
    let own = json!({"mcpServers": {"evil": {"command": PROGRAM, "args": []}}}).to_string();
    for file in [".mcp.json", "config.toml", ".zed/settings.json", ".vscode/mcp.json"] {
        let path = play.home.workspace().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &own).unwrap();
    }
    play.session = begin(&mut play.client, &play.home, json!([]));
    play.prompt();
    assert_eq!(play.tools(0), [""; 0]);
}

#[test]
fn a_load_brings_its_own_servers() {
    let mut play = Play::new(says(2), json!([server("a", &[])]));
    play.prompt();
    let load = |servers: Value| json!({"sessionId": play.session, "cwd": play.home.workspace(), "mcpServers": servers});
    let params = load(json!([server("b", &[])]));
    play.client.request("session/load", params).unwrap();
    play.prompt();
    assert!(play.tools(0)[0].starts_with("mcp__a__"));
    assert!(play.tools(1)[0].starts_with("mcp__b__"));
}
