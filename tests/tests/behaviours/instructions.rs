//! The system prompt that a client brings along.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::config_of;

fn prompt(mode: &str, text: &str) -> Value {
    json!({"mode": mode, "content": [{"type": "text", "text": text}]})
}

/// Opens a session by a method, with a system prompt.
fn open(client: &mut Client, home: &Home, method: &str, session: &str, system: &Value) -> Result<Value, Value> {
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": [], "systemPrompt": system});
    client.request(method, params)
}

/// The system prompt of a request.
fn system(asked: &Asked) -> String {
    asked.messages()[0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn it_is_kept_with_the_session_and_changed_only_when_the_client_says_so() {
    let mock = Mock::answering(|_| Reply::text("yes"));
    let home = Home::with_config(&config_of(&mock, ""));
    let mut client = Client::initialized(&home, json!({}));
    let terse = prompt("append", "Be terse.");
    let poet = prompt("override", "You are a poet.");
    let new = open(&mut client, &home, "session/new", "", &terse).unwrap();
    let session = new["sessionId"].as_str().unwrap().to_owned();
    client.prompt(&session, "one");
    let first = system(&mock.requests()[0]);
    assert!(
        first.starts_with("You are Talaria") && first.ends_with("\nBe terse.\n"),
        "{first}"
    );
    client.kill();
    // The same bytes, whether the client says it again or not.
    for (method, again) in [("session/load", &Value::Null), ("session/resume", &terse)] {
        let mut client = Client::initialized(&home, json!({}));
        open(&mut client, &home, method, &session, again).unwrap();
        client.prompt(&session, "more");
        assert_eq!(system(mock.requests().last().unwrap()), first, "{method}");
        client.kill();
    }
    let mut client = Client::initialized(&home, json!({}));
    open(&mut client, &home, "session/load", &session, &poet).unwrap();
    client.prompt(&session, "in verse");
    let second = system(mock.requests().last().unwrap());
    assert!(second.starts_with("You are a poet.\n\n# Tools\n"), "{second}");
    assert!(second.contains("# Permissions") && second.contains("# Surroundings") && !second.contains("terse"));
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    open(&mut client, &home, "session/resume", &session, &Value::Null).unwrap();
    client.prompt(&session, "go on");
    assert_eq!(system(mock.requests().last().unwrap()), second);
    // A fork has it too, unless its client wants another one.
    for (wants, expect) in [(&Value::Null, "You are a poet."), (&terse, "You are Talaria")] {
        let fork = open(&mut client, &home, "session/fork", &session, wants).unwrap();
        let fork = fork["sessionId"].as_str().unwrap().to_owned();
        client.prompt(&fork, "hi");
        assert!(system(mock.requests().last().unwrap()).starts_with(expect));
    }
    client.prompt(&session, "and on");
    assert_eq!(
        system(mock.requests().last().unwrap()),
        second,
        "the parent keeps its own"
    );
}

#[test]
fn one_that_can_not_be_taken_opens_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say one");
    let huge = prompt("append", &"x".repeat(1 << 20));
    let picture = json!({"mode": "append", "content": [{"type": "image", "data": "", "mimeType": "image/png"}]});
    for (wrong, field) in [
        (huge, "systemPrompt.content"),
        (prompt("prepend", "x"), "systemPrompt.mode"),
        (picture, "systemPrompt.content[0]"),
        (json!({"mode": "append", "content": []}), "systemPrompt.content"),
    ] {
        for method in ["session/new", "session/load", "session/resume", "session/fork"] {
            let error = open(&mut client, &home, method, &session, &wrong).unwrap_err();
            assert_eq!(
                (&error["code"], &error["data"]["field"]),
                (&json!(-32602), &json!(field)),
                "{method}"
            );
        }
    }
    let list = client.request("session/list", json!({})).unwrap();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    let longest = prompt("override", &"x".repeat(64 * 1024));
    open(&mut client, &home, "session/new", "", &longest).unwrap();
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}
