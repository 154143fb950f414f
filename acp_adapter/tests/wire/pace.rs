//! A client that reads too little, and one that hears nothing for long.

use std::time::Duration;

use crossbeam_channel::{bounded, unbounded};
use serde_json::{Value, json};

use crate::client::Client;
use crate::{hang, texts};

#[test]
fn a_client_that_does_not_read_can_still_cancel_and_costs_bounded_memory() {
    let (output, lines) = bounded(0);
    let flood = json!([{ "steps": [{ "repeat": 20_000_000, "text": "word " }] }]);
    let mut client = Client::start_with(&flood, output, lines, Duration::ZERO);
    client.result("initialize", json!({ "protocolVersion": 1 }));
    let session = client.new_session();
    let id = client.prompt(&session, "hi");
    // The first pieces are there, so the flood has begun; from here on nothing is read, and still each line is taken.
    client.line();
    for _ in 0..100 {
        client.notify("session/cancel", &json!({ "sessionId": session }));
    }
    client.wait_until_taken();
    let (updates, answer) = client.answer(id);
    assert_eq!(answer["result"], json!({ "stopReason": "cancelled" }));
    assert!(texts(&updates).len() < 8 * 1024 * 1024);
}

#[test]
fn a_turn_that_is_silent_for_long_shows_that_it_goes_on() {
    let (output, lines) = unbounded();
    let mut client = Client::start_with(&hang(), output, lines, Duration::from_millis(20));
    client.result("initialize", json!({ "protocolVersion": 1 }));
    let (silent, idle) = (client.new_session(), client.new_session());
    let id = client.prompt(&silent, "hi");
    let mut signs = 0;
    while signs < 3 {
        let line = client.line().unwrap();
        assert_eq!(line["params"]["sessionId"], silent, "{idle} has no prompt: {line}");
        let update = &line["params"]["update"];
        signs += usize::from(*update == json!({ "sessionUpdate": "session_info_update" }));
    }
    client.notify("session/cancel", &json!({ "sessionId": silent }));
    assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    // The end of the input ends it: a sign after the answer would be among the last lines.
    let (end, lines) = client.end();
    end.unwrap();
    assert_eq!(lines, Vec::<Value>::new());
}
