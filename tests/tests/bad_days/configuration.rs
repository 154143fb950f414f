//! A configuration that can't be used, a folder that is not there, an environment without a home.

use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{initialized, times_told, with_mounts};

/// The session and the command line say the same; once the file is mended, the same process works.
fn check(text: &str, expect: &[&str]) {
    let home = Home::with_config(text);
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let error = client.request("session/new", params).unwrap_err();
    let message = error["message"].as_str().unwrap();
    let file = home.state().join("config.toml");
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    for part in expect {
        assert!(message.contains(part), "{message}\nlacks: {part}");
    }
    assert_eq!(error["data"]["class"], "config", "{error}");

    let (status, stdout, stderr) = run(home.command(&["run", "say pong"]), "");
    assert!(matches!(status.code(), Some(1 | 2)), "{status}");
    assert_eq!(stdout, "");
    assert!(stderr.contains(message), "{stderr}\nlacks: {message}");

    home.write_config("[agent]\nmode = \"plan\"\n");
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

#[test]
fn a_broken_configuration_is_told_and_mended_without_a_restart() {
    check("model = \"offline/offline\"\n[agent\n", &[":2: "]);
    check(
        "[agent]\nmax_stepz = 3\n",
        &[":2: ", "`max_stepz`", "did you mean `max_steps`?"],
    );
    check("modle = \"a/b\"\n", &[":1: ", "`modle`", "did you mean `model`?"]);
    check("[agent]\nmax_steps = \"many\"\n", &[":2: ", "`agent.max_steps`"]);
    check("model = 5\n", &[":1: ", "`model`"]);
}

#[test]
fn a_session_does_not_notice_that_the_configuration_breaks() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    home.write_config("modle = 1");
    assert_eq!(client.prompt(&session, "say two"), "end_turn");
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    assert!(client.request("session/new", params).is_err());
    assert_eq!(client.prompt(&session, "say three"), "end_turn");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let file = home.workspace().join("file");
    std::fs::write(&file, "").unwrap();
    for (folder, why) in [
        (home.workspace().join("gone"), "No such file"),
        (file, "is not a folder"),
    ] {
        let params = json!({"cwd": folder, "mcpServers": []});
        let error = client.request("session/new", params).unwrap_err();
        let message = error["message"].as_str().unwrap();
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32602), &json!("cwd"))
        );
        assert!(
            message.contains(folder.to_str().unwrap()) && message.contains(why),
            "{message}"
        );
    }
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

/// A folder that is deleted under a session does not end the session.
#[test]
fn a_folder_that_goes_away_is_a_failed_call() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let folder = home.workspace().join("sub");
    std::fs::create_dir(&folder).unwrap();
    let session = client.new_session(&folder);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    std::fs::remove_dir(&folder).unwrap();
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "run echo hello"), "end_turn");
    let failed = client
        .updates(from)
        .into_iter()
        .any(|update| update["status"] == "failed");
    assert!(failed, "{:#?}", client.updates(from));
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(client.prompt(&session, "run echo hello"), "end_turn");
}

/// Without any variable the system's list of users is asked, so that is hidden too.
#[test]
fn without_any_home_sessions_live_in_memory_and_the_user_is_told_once() {
    let home = Home::new();
    let script = "for file in passwd nsswitch.conf; do mount --bind /dev/null /etc/$file; done; \
                  mount -t tmpfs tmpfs /root; exec \"$@\"";
    let Some(mut command) = with_mounts(&home, script) else {
        return;
    };
    for name in ["HOME", "TALARIA_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert_eq!(client.prompt(&session, "say pong again"), "end_turn");
    assert_eq!(times_told(&client, 0, "neither HOME nor TALARIA_HOME is set"), 1);
    assert!(client.said(0).contains("pong again"));
    assert!(client.close().success());
}
