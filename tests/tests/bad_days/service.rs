//! A model service that can't be reached or fails: told with class and reason, and over with the next prompt.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::process::peak;
use talaria_tests::spoken::{DIALECTS, Spoken};
use talaria_tests::start::{asked, config_in, initialized, load, through_shell};

const KEY: &str = "sk-test-6f1e8d0c4b7a92553e1f";

/// The failed turn is answered with an error of this class whose sentence holds `says`, the process lives, the next
/// prompt works, and a later load shows what happened.
fn check(failing: &Reply, class: &str, status: Option<u16>, says: &str) {
    check_in(Dialect::OpenaiChat, failing, class, status, says);
}

fn check_in(dialect: Dialect, failing: &Reply, class: &str, status: Option<u16>, says: &str) {
    let failing = failing.clone();
    let mock = Mock::answering(move |asked| match asked.raw.contains("once more, please") {
        true => Spoken::text("works again").reply(dialect),
        false => failing.clone(),
    });
    let home = Home::with_config(&config_in(dialect, &mock.base_url(), ""));
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
    assert_eq!(client.prompt(&session, "once more, please"), "end_turn");
    assert_eq!(client.said(from), "works again");
    assert!(client.close().success());

    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["fail", "once more, please"]);
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
fn a_session_goes_on_after_a_failure_in_every_dialect() {
    let json_type = "content-type: application/json";
    let wrong = r#"{"error": {"message": "no such thing", "code": "wrong"}}"#;
    for dialect in DIALECTS {
        for (head, body, class, status, says) in [
            (
                format!("400 Bad Request\n{json_type}"),
                wrong,
                "bad_request",
                Some(400),
                "no such thing",
            ),
            (
                format!("413 Too Large\n{json_type}"),
                "",
                "payload_too_large",
                Some(413),
                "413",
            ),
            (
                "403 Forbidden\ncontent-type: text/html".to_owned(),
                "<html>",
                "auth",
                Some(403),
                "403 Forbidden; ",
            ),
            (
                "200 OK\ncontent-type: text/html".to_owned(),
                "<html>",
                "protocol",
                None,
                "a web page",
            ),
            (
                "307 Elsewhere\nlocation: https://example.invalid/x".to_owned(),
                "",
                "config",
                None,
                "redirects to https",
            ),
        ] {
            check_in(dialect, &refusal(&head, body), class, status, says);
        }
    }
}

/// A server that answers each request with a stream of one endless line, 1 GB at most; its address.
fn endless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65_536]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ");
            let piece = vec![b'x'; 1 << 20];
            // It ends early where the client has had enough.
            let _ = (0..1024).try_for_each(|_| stream.write_all(&piece));
        }
    });
    format!("http://{address}/v1")
}

#[test]
fn a_reply_without_an_end_takes_bounded_memory_in_every_dialect() {
    const MOST_MIB: u64 = 120;
    let url = endless();
    for dialect in DIALECTS {
        let home = Home::with_config(&config_in(dialect, &url, ""));
        let (mut client, session) = Client::with_session(&home);
        for _ in 0..2 {
            let prompt = client.begin_prompt(&session, "hello");
            let error = client.response(prompt).unwrap_err();
            assert_eq!(error["data"]["class"], "protocol", "{error}");
            assert!(
                error["message"].as_str().unwrap().contains("more than 8 MiB"),
                "{error}"
            );
        }
        let peak = peak(client.pid()) / 1024;
        assert!(peak < MOST_MIB, "{} took {peak} MiB", dialect.name());
        assert_eq!(client.prompt(&session, "/version"), "end_turn");
    }
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
    for dialect in DIALECTS {
        check_wrong_key(dialect);
    }
}

fn check_wrong_key(dialect: Dialect) {
    let said = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "type": "auth"}});
    let wrong = Reply::answer(
        "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
        said.to_string(),
    );
    let mock = Mock::answering(move |asked| match asked.raw.contains("look around") {
        false => wrong.clone(),
        true if asked.raw.contains("variables:") => Spoken::text(&format!("You sent {KEY}."))
            .thinking(&format!("It was {KEY}."))
            .reply(dialect),
        true => {
            let command = "echo variables:; env";
            Spoken::call("c", "terminal", json!({ "command": command })).reply(dialect)
        }
    });
    let home = Home::with_config(&config_in(
        dialect,
        &mock.base_url(),
        "api_key_env = \"MOCK_API_KEY\"\n",
    ));
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
    let is_in = |value: &str| value.contains(KEY);
    let with_key = mock.requests()[0]
        .headers
        .iter()
        .filter(|(_, value)| is_in(value))
        .count();
    assert_eq!(with_key, 1, "{:?}", mock.requests()[0].headers);
    assert_eq!(client.prompt(&session, "look around"), "end_turn");
    assert_eq!(client.said(0).matches("You sent ***.").count(), 1, "{}", client.said(0));
    assert!(
        mock.requests().pop().unwrap().raw.contains("PATH="),
        "the command has run"
    );
    for asked in mock.requests() {
        assert!(!asked.raw.contains(KEY) && !asked.line.contains(KEY), "{}", asked.raw);
    }

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
