//! That the checks of what is sent find what is wrong.

use serde_json::{Value, json};
use talaria_tests::hearing::Hearing;
use talaria_tests::schema::faults;

#[test]
fn the_schema_finds_faults() {
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" });
    assert_eq!(faults("SessionUpdate", &update), Vec::<String>::new());
    for wrong in [
        json!({ "sessionUpdate": "current_mode_update", "modeId": "plan" }),
        json!({ "sessionUpdate": "private_update" }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c" }),
    ] {
        assert_ne!(faults("SessionUpdate", &wrong), Vec::<String>::new());
    }
}

/// Whether a client that has said this takes the message.
fn takes(capabilities: &Value, message: &Value) -> bool {
    let mut hearing = Hearing::default();
    let asked = [
        (
            1,
            "initialize",
            json!({ "protocolVersion": 1, "clientCapabilities": capabilities }),
        ),
        (2, "session/new", json!({})),
        (3, "_own/method", json!({})),
    ];
    for (id, method, params) in asked {
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        hearing.said(format!("{line}\n").as_bytes());
    }
    let line = message.to_string();
    std::panic::catch_unwind(|| hearing.heard(&line, message)).is_ok()
}

#[test]
fn a_client_takes_what_is_of_the_protocol_and_in_its_place() {
    let none = json!({});
    let message = |rest: Value| {
        let mut message = json!({ "jsonrpc": "2.0" });
        message
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        message
    };
    for good in [
        json!({ "id": 2, "result": { "sessionId": "s" } }),
        json!({ "id": 3, "result": 5 }),
        json!({ "id": null, "error": { "code": -32700, "message": "m" } }),
        json!({ "method": "$/cancel_request", "params": { "requestId": 1 } }),
    ] {
        assert!(takes(&none, &message(good.clone())), "{good}");
    }
    for bad in [
        json!({ "id": 2, "result": {} }),
        json!({ "id": 4, "result": {} }),
        json!({ "id": 2, "result": { "sessionId": "s" }, "more": 1 }),
        json!({ "id": 2, "error": { "message": "m" } }),
        json!({ "method": "$/cancel_request", "params": {} }),
        json!({ "id": 1, "method": "session/update", "params": {} }),
        json!({ "method": "session/other", "params": {} }),
    ] {
        assert!(!takes(&none, &message(bad.clone())), "{bad}");
    }
}

#[test]
fn a_client_takes_nothing_that_it_has_not_asked_for() {
    let none = json!({});
    let update = |update: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let read = json!({ "sessionId": "s", "path": "/a" });
    let form = json!({ "sessionId": "s", "mode": "form", "message": "m", "requestedSchema": { "type": "object" } });
    let output = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": { "terminal_output": {} } });
    for (capabilities, message) in [
        (
            json!({ "fs": { "readTextFile": true } }),
            call("fs/read_text_file", read),
        ),
        (
            json!({ "terminal": true }),
            call("terminal/kill", json!({ "sessionId": "s", "terminalId": "t" })),
        ),
        (
            json!({ "elicitation": { "form": {} } }),
            call("elicitation/create", form),
        ),
        (
            json!({ "plan": {} }),
            update(json!({ "sessionUpdate": "plan_removed", "planId": "p" })),
        ),
        (json!({ "_meta": { "terminal_output": true } }), update(output)),
    ] {
        assert!(takes(&capabilities, &message), "{message}");
        assert!(!takes(&none, &message), "{message}");
    }
}
