//! Keys: from the private file, read anew with each session.

use std::fs;

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

#[test]
fn a_key_of_the_private_file_is_sent() {
    let mock = Mock::serve(vec![Reply::text("Hello.")]);
    let home = Home::with_config(&config_of(&mock, "api_key_env = \"MOCK_API_KEY\"\n"));
    let file = home.state().join(".env");
    fs::write(&file, "MOCK_API_KEY=k-from-file\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "hi"), "end_turn");
    assert_eq!(mock.requests()[0].header("authorization"), Some("Bearer k-from-file"));
}

/// Only a service elsewhere can't do without a key, so the first session is about one, and is not prompted.
#[test]
fn a_key_written_while_running_is_used_without_a_restart() {
    let far = "model = \"far/m\"\n[providers.far]\napi = \"openai-chat\"\nbase_url = \"https://far.example/v1\"\n\
               api_key_env = \"FAR_KEY\"\n";
    let home = Home::with_config(far);
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let error = client.request("session/new", params.clone()).unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["code"], -32000, "{error}");
    assert!(message.contains("FAR_KEY") && message.contains("far"), "{message}");
    assert_eq!(error["data"]["provider"], "far", "{error}");

    let arguments = [
        "setup",
        "--provider",
        "far",
        "--key-stdin",
        "--model",
        "m",
        "--no-check",
    ];
    let (status, _, stderr) = run(home.command(&arguments), "k-new\n");
    assert!(status.success(), "{stderr}");
    let mode = fs::metadata(home.state().join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    client.request("session/new", params).unwrap();
}

#[test]
fn a_changed_key_is_used_by_the_next_session() {
    let mock = Mock::answering(|asked| match asked.header("authorization") {
        Some("Bearer right") => Reply::text("Welcome."),
        _ => Reply::answer("HTTP/1.1 401 Unauthorized", "wrong key"),
    });
    let home = Home::with_config(&config_of(&mock, "api_key_env = \"MOCK_API_KEY\"\n"));
    let file = home.state().join(".env");
    fs::write(&file, "MOCK_API_KEY=wrong\n").unwrap();
    let (mut client, first) = Client::with_session(&home);
    let prompt = client.begin_prompt(&first, "hi");
    let error = client.response(prompt).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["class"]),
        (&json!(-32000), &json!("auth"))
    );
    assert_eq!(error["data"]["authMethods"][0]["id"], "mock", "{error}");
    fs::write(&file, "MOCK_API_KEY=right\n").unwrap();
    let second = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&second, "hi"), "end_turn");
    // A client that has been told to sign in goes on in the session it has.
    assert_eq!(client.prompt(&first, "hi again"), "end_turn");
}

/// Its service may put into a header what it was sent in one.
#[test]
fn a_key_that_an_answer_names_its_request_by_is_not_logged() {
    let key = "sk-distinct-0123456789";
    let head = format!(
        "HTTP/1.1 401 Unauthorized\nx-request-id: req-{key}-{}",
        "x".repeat(5000)
    );
    let mock = Mock::serve(vec![Reply::answer(&head, "wrong key")]);
    let home = Home::with_config(&config_of(&mock, "api_key_env = \"MOCK_API_KEY\"\n"));
    let mut command = home.command(&["run", "hi"]);
    command.env("MOCK_API_KEY", key).env("TALARIA_LOG", "info");
    let (_, _, stderr) = run(command, "");
    let logs = fs::read_dir(home.state().join("logs")).unwrap();
    let logs: String = logs
        .map(|log| fs::read_to_string(log.unwrap().path()).unwrap())
        .collect();
    assert!(logs.contains("req-***-xxx"), "{logs}");
    for told in [&logs, &stderr] {
        assert!(!told.contains(key) && told.len() < 4000, "{told}");
    }
}
