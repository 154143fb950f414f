//! Prompts and their answers.

use serde_json::json;

use crate::client::Client;
use crate::{hang, say, texts};

#[test]
fn all_updates_of_a_turn_come_before_its_answer() {
    let (mut client, session) = Client::in_session(&say("hello"));
    let id = client.prompt(&session, "hi");
    let (updates, answer) = client.answer(id);
    assert_eq!(
        (texts(&updates).as_str(), &answer["result"]),
        ("hello", &json!({ "stopReason": "end_turn" }))
    );
}

#[test]
fn a_failed_turn_is_an_error_with_its_class() {
    let error = json!({ "class": "bad_request", "message": "the service did not understand", "status": 400 });
    let (mut client, session) = Client::in_session(&json!([{ "steps": [{ "error": error }] }]));
    let id = client.prompt(&session, "hi");
    let answer = client.answer(id).1;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["class"]),
        (&json!(-32603), &json!("bad_request"))
    );
    assert_eq!(answer["error"]["data"]["status"], 400);
}

#[test]
fn a_cancel_answers_the_running_prompt_and_the_queued_one() {
    let (mut client, session) = Client::in_session(&hang());
    let (first, second) = (client.prompt(&session, "a"), client.prompt(&session, "b"));
    client.notify("session/cancel", &json!({ "sessionId": session }));
    for id in [first, second] {
        assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    }
}

#[test]
fn a_cancelled_request_is_answered_once() {
    let (mut client, session) = Client::in_session(&hang());
    let prompt = client.prompt(&session, "a");
    client.send(&json!({ "jsonrpc": "2.0", "id": prompt, "method": "session/list" }));
    assert_eq!(client.answer(prompt).1["error"]["code"], -32600);
    client.notify("$/cancel_request", &json!({ "requestId": prompt }));
    assert_eq!(client.answer(prompt).1["result"], json!({ "stopReason": "cancelled" }));
}
