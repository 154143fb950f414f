//! A model service that can't be reached or fails: told with class and reason, and over with the next prompt.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, initialized, load, through_shell};

const KEY: &str = "sk-test-6f1e8d0c4b7a92553e1f";

/// The failed turn is answered with an error of this class whose sentence holds `says`, the process lives, the next
/// prompt works, and a later load shows what happened.
fn check(failing: &Reply, class: &str, status: Option<u16>, says: &str) {
    let failing = failing.clone();
    let mock = Mock::answering(move |asked| {
        let last = asked.messages().last().unwrap();
        match last["content"] == "fail" {
            true => failing.clone(),
            false => Reply::text("works again"),
        }
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "fail");
    let error = client.response(prompt).unwrap_err();
    let message = error["message"].as_str().unwrap().to_owned();
    let code = if class == "auth" { -32000 } else { -32603 };
    assert_eq!(
        (&error["code"], &error["data"]["class"]),
        (&json!(code), &json!(class)),
        "{error}"
    );
    assert_eq!(error["data"]["provider"], "mock", "{error}");
    assert_eq!(error["data"]["status"], json!(status), "{error}");
    assert!(
        message.starts_with("mock (127.0.0.1:") && message.contains(says),
        "{message}"
    );
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "go on"), "end_turn");
    assert_eq!(client.said(from), "works again");
    assert!(client.close().success());

    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["fail", "go on"]);
    assert_eq!(client.said(from), format!("This turn failed: {message}works again"));
}

fn refusal(head: &str, body: &str) -> Reply {
    Reply::answer(&format!("HTTP/1.1 {head}"), body)
}

#[test]
fn each_failure_has_its_class_and_is_over_with_the_next_prompt() {
    let json_type = "content-type: application/json";
    check(
        &refusal(
            &format!("429 Too Many Requests\n{json_type}"),
            r#"{"error": {"message": "slow down", "type": "rate_limit"}}"#,
        ),
        "rate_limit",
        Some(429),
        "slow down",
    );
    check(&refusal("500 Internal Server Error", ""), "server", Some(500), "500");
    check(
        &refusal(
            "502 Bad Gateway\ncontent-type: text/html",
            "<html><h1>Bad Gateway</h1></html>",
        ),
        "server",
        Some(502),
        "502 Bad Gateway; ",
    );
    check(
        &refusal(
            &format!("200 OK\n{json_type}"),
            r#"{"error": {"message": "the engine is on fire", "code": 500}}"#,
        ),
        "server",
        None,
        "the engine is on fire",
    );
    check(
        &refusal("200 OK\ncontent-type: text/html", "<html>Sign in</html>"),
        "protocol",
        None,
        "a web page",
    );
    check(
        &Reply::sse("data: {\"choices\": [{\"delta\": {\"content\": \"\"}}]}\n\n"),
        "network",
        None,
        "ended early",
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // The port was free a moment ago, and nobody listens on it.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "model = \"local/m\"\n[providers.local]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
    );
    let home = Home::with_config(&config);
    let (mut client, session) = Client::with_session(&home);
    for _ in 0..2 {
        let prompt = client.begin_prompt(&session, "hello");
        let error = client.response(prompt).unwrap_err();
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["data"]["class"], "network", "{error}");
        assert!(
            message.contains(&format!("127.0.0.1:{port}")) && message.contains("check that the server runs"),
            "{message}"
        );
    }
    assert_eq!(client.prompt(&session, "/version"), "end_turn");
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn a_wrong_key_is_shown_nowhere_though_the_service_echoes_it() {
    let said = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "type": "auth"}});
    let wrong = Reply::answer(
        "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
        said.to_string(),
    );
    let mock = Mock::answering(move |_| wrong.clone());
    let home = Home::with_config(&config_of(&mock, "api_key_env = \"MOCK_API_KEY\"\n"));
    std::fs::write(home.state().join(".env"), format!("MOCK_API_KEY={KEY}\n")).unwrap();
    let mut command = through_shell(&home, "exec \"$@\" 2>stderr.txt");
    command.env("TALARIA_LOG", "trace");
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    let prompt = client.begin_prompt(&session, "hello");
    let error = client.response(prompt).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["class"]),
        (&json!(-32000), &json!("auth")),
        "{error}"
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("check the key in MOCK_API_KEY"),
        "{error}"
    );
    assert_eq!(
        mock.requests()[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );

    let stdout = Value::from(client.log.clone()).to_string();
    assert!(client.close().success());
    assert!(!stdout.contains(KEY), "{stdout}");
    let mut looked_into = Vec::new();
    for path in files(&home.state()).into_iter().chain(files(&home.workspace())) {
        if path.ends_with(".env") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let shows = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!shows, "the key stands in {}", path.display());
        looked_into.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    let has = |name: &str| looked_into.iter().any(|file| file.contains(name));
    assert!(has("state.db") && has("stderr.txt") && has(".log"), "{looked_into:?}");
}
