//! How the program starts, what it prints where, and what the processes it starts can't reach.

use std::fs::File;
use std::process::Command;

use serde_json::json;
use talaria_tests::client::{Client, Home, binary, run};
use talaria_tests::start::through_shell;

use crate::exchange::check_turn;

#[test]
fn the_version_is_printed_and_nothing_served() {
    for arguments in [&["--version"][..], &["acp", "--version"]] {
        let (status, stdout, stderr) = run(Home::new().command(arguments), "");
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
        assert!(stdout.contains("0.") && stdout.lines().count() == 1, "{stdout}");
    }
}

#[test]
fn check_says_what_it_checked_and_serves_nothing() {
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";
    let check = |config: &str, code: i32, fault: Option<&str>| {
        let home = Home::with_config(config);
        let (status, stdout, _) = run(home.command(&["acp", "--check"]), input);
        assert_eq!(status.code(), Some(code), "{stdout}");
        assert!(!stdout.contains("jsonrpc"), "{stdout}");
        for name in ["configuration", "store"] {
            assert!(stdout.contains(name), "{stdout}");
        }
        assert!(
            stdout.contains(fault.unwrap_or("ok")) && fault.is_some() == stdout.contains("FAILED"),
            "{stdout}"
        );
    };
    check("", 0, None);
    check("model = \"openai/gpt-5\"\n", 1, Some("OPENAI_API_KEY"));
    check("modle = \"a/b\"\n", 1, Some("did you mean"));
}

#[test]
fn a_start_that_cannot_succeed_says_why_on_stderr_alone() {
    let home = Home::new();
    let (status, stdout, stderr) = run(home.command(&["acp", "--cwd", "/nowhere/at/all"]), "");
    assert_eq!((status.code(), stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("/nowhere/at/all"), "{stderr}");
    // Too few files for the event loop.
    let command = through_shell(&home, "ulimit -n 4; exec \"$@\"");
    let (status, stdout, stderr) = run(command, "");
    assert_eq!((status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(!stderr.trim().is_empty());
}

#[test]
fn the_log_goes_to_stderr_only_even_at_its_loudest() {
    let home = Home::new();
    let log = home.workspace().join("log");
    let mut command = home.command(&["acp"]);
    command.env("RUST_LOG", "trace");
    // Every line of stdout is parsed as JSON-RPC by the client.
    let mut client = Client::spawn_logging(command, File::create(&log).unwrap());
    let params = json!({"protocolVersion": 1, "clientInfo": {"name": "loud", "version": "1"}});
    client.request("initialize", params).unwrap();
    assert_eq!(client.log.len(), 1, "nothing comes before the first answer");
    let session = client.new_session(&home.workspace());
    let prompt = "run echo out; echo err >&2; cat";
    assert_eq!(client.prompt(&session, prompt), "end_turn");
    client.send_raw(b"no JSON\n");
    check_turn(&home, &mut client);
    assert!(client.close().success());
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("DEBUG") && text.contains("session/new"), "{text}");
    assert!(!text.contains("say pong"), "what a user writes is in the log");
}

#[test]
fn a_command_cannot_read_the_protocols_stdin() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "run cat; echo read-$?");
    // Would be its input if it had ours.
    let list = client.begin("session/list", json!({}));
    assert!(client.response(list).is_ok());
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let text = serde_json::to_string(&client.updates(0)).unwrap();
    assert!(text.contains("read-0") && !text.contains("session/list"), "{text}");
}

#[test]
fn a_copy_of_the_binary_starts_in_an_empty_environment() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("agent");
    std::fs::copy(binary(), &copy).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&copy);
        command.args(arguments).env_clear().current_dir(folder.path());
        // Its own home would be that of the machine's user otherwise.
        command.env("HOME", folder.path());
        command
    };
    let (status, stdout, _) = run(command(&["--version"]), "");
    assert!(status.success() && !stdout.is_empty());
    let mut client = Client::spawn(command(&["acp"]));
    client.request("initialize", json!({"protocolVersion": 1})).unwrap();
    let session = client.new_session(folder.path());
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert!(client.close().success());
}
