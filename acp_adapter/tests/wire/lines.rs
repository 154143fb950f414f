//! Lines: bad ones, long ones, and those that come before the greeting.

use serde_json::{Value, json};

use crate::client::Client;
use crate::say;

#[test]
fn a_bad_line_is_answered_and_the_next_one_served() {
    let mut client = Client::greeted(&say("hi"));
    let nested = format!("{}\n", "[".repeat(100_000));
    let rows: [(&[u8], i64, Value); 9] = [
        (b"Welcome back\n", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\n", -32700, Value::Null),
        (b"\xff\xfe\n", -32700, Value::Null),
        (nested.as_bytes(), -32700, Value::Null),
        (b"[]\n", -32600, Value::Null),
        (b"null\n", -32600, Value::Null),
        (b"{\"id\":1}\n", -32600, json!(1)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"session/list\"}\n",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"session/archive\"}\r\n",
            -32601,
            json!("a"),
        ),
    ];
    for (line, code, id) in rows {
        client.bytes(line);
        let answer = client.line().unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id));
        client.bytes("\n  \n");
        client.result("session/list", Value::Null);
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused() {
    let mut client = Client::greeted(&say("hi"));
    for _ in 0..100 {
        client.bytes(vec![b'x'; 1_000_000]);
    }
    client.bytes("\n");
    assert_eq!(client.line().unwrap()["error"]["code"], -32600);
    client.result("session/list", Value::Null);
}

#[test]
fn initialize_comes_first_and_once() {
    let mut client = Client::start(&say("hi"));
    assert_eq!(client.error("session/list", Value::Null).0, -32600);
    assert_eq!(client.error("initialize", json!({ "protocolVersion": "1" })).0, -32602);
    assert_eq!(client.error("session/list", Value::Null).0, -32600);
    client.result("initialize", json!({ "protocolVersion": 99 }));
    client.result("initialize", json!({ "protocolVersion": 1 }));
    client.result("session/list", Value::Null);
    assert_eq!(client.error("initialize", json!({ "protocolVersion": 1 })).0, -32600);
}

#[test]
fn notifications_and_responses_that_mean_nothing_are_met_with_silence() {
    let (mut client, session) = Client::in_session(&say("hi"));
    client.notify("session/cancel", &json!({ "sessionId": session }));
    client.notify("session/cancel", &json!({ "sessionId": "unknown" }));
    client.notify("session/cancel", &json!({}));
    client.notify("$/cancel_request", &json!({ "requestId": 7 }));
    client.notify("something/else", &json!([]));
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    let id = client.request("session/list", Value::Null);
    assert_eq!(client.answer(id).0, Vec::<Value>::new());
}
