//! How serving ends.

use serde_json::{Value, json};

use crate::client::Client;
use crate::{hang, say};

#[test]
fn at_the_end_of_the_input_prompts_are_answered_as_cancelled() {
    let (mut client, session) = Client::in_session(&hang());
    let id = client.prompt(&session, "hi");
    let (end, lines) = client.end();
    end.unwrap();
    let answer = lines.last().unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&json!(id), &json!({ "stopReason": "cancelled" }))
    );
}

#[test]
fn the_last_line_needs_no_newline_and_gets_its_answer() {
    let client = Client::start(&say("hi"));
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } }));
    let new = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": { "cwd": std::env::temp_dir() } });
    client.bytes(new.to_string());
    let (end, lines) = client.end();
    end.unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line["id"] == 2 && line["result"]["sessionId"].is_string())
    );
}

#[test]
fn a_stop_ends_it_while_the_input_is_open() {
    let (mut client, session) = Client::in_session(&json!([{ "steps": [{ "text": "a" }, { "wait_cancel": true }] }]));
    let id = client.prompt(&session, "hi");
    client.line();
    client.stop.set();
    assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    assert!(client.line().is_none());
    client.agent.join().unwrap().unwrap();
}

#[test]
fn a_client_that_has_gone_is_no_error() {
    let mut client = Client::greeted(&say("hi"));
    client.output = None;
    client.request("session/list", Value::Null);
    // The input stays open: the broken output alone ends it.
    client.agent.join().unwrap().unwrap();
}
