//! Cancel in each phase of a turn: the prompt ends as cancelled, the service sees the connection close, and the next
//! turn works.

use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::LIMIT;

use crate::{Stage, check_paired};

fn is_question(message: &Value) -> bool {
    message["method"] == "session/request_permission"
}

/// Cancels when `ready` returns; the model's second reply is for the next turn. The stage and what it asked come back.
fn check(first: Reply, permission: Option<&'static str>, ready: impl FnOnce(&mut Stage)) -> Stage {
    let mut stage = Stage::new(vec![first, Reply::text("Fine.")]);
    stage.client.permission = permission;
    let prompt = stage.client.begin_prompt(&stage.session, "go");
    ready(&mut stage);
    stage
        .client
        .notify("session/cancel", json!({"sessionId": stage.session}));
    assert_eq!(stage.client.stop_reason(prompt), "cancelled");
    let from = stage.client.log.len();
    assert_eq!(stage.prompt("go on"), "end_turn");
    assert_eq!(stage.client.said(from), "Fine.");
    check_paired(&stage.last_request());
    stage
}

fn is_asked(mock: &Mock) {
    assert!(mock.wait_requests(1, LIMIT));
}

fn check_closed(stage: &Stage) {
    assert!(stage.mock.wait_closed(LIMIT), "the service sees no close");
}

#[test]
fn while_the_service_says_nothing() {
    let stage = check(Reply::silence(), None, |stage| is_asked(&stage.mock));
    check_closed(&stage);
    assert!(stage.last_request().raw.contains("[The user cancelled this turn.]"));
}

#[test]
fn while_the_service_has_sent_its_head_only() {
    let stage = check(Reply::sse("").stalling(), None, |stage| is_asked(&stage.mock));
    check_closed(&stage);
}

#[test]
fn in_mid_stream_what_was_said_is_kept() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "so far"}}]});
    let cut = Reply::events(&[chunk]).stalling();
    let stage = check(cut, None, |stage| {
        stage.client.wait_for_update("agent_message_chunk");
    });
    check_closed(&stage);
    let raw = stage.last_request().raw;
    assert!(raw.contains("so far\\n\\n[The user cancelled this turn.]"), "{raw}");
}

#[test]
fn in_the_middle_of_a_call_nothing_is_run() {
    let function = json!({"name": "write_file", "arguments": "{\"path\": \"a.txt\", \"content\": \"x\"}"});
    let call = json!({"index": 0, "id": "x", "type": "function", "function": function});
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "I write.", "tool_calls": [call]}}]});
    let cut = Reply::events(&[chunk]).stalling();
    let stage = check(cut, Some("allow_once"), |stage| {
        stage.client.wait_for_update("agent_message_chunk");
    });
    check_closed(&stage);
    assert!(!stage.home.workspace().join("a.txt").exists());
}

#[test]
fn while_a_command_runs() {
    let run = Reply::calls(&[("c", "terminal", json!({"command": "echo started; sleep 615"}))]);
    let stage = check(run, Some("allow_once"), |stage| {
        stage
            .client
            .wait_for(|message| message.to_string().contains("started\\n"));
    });
    let raw = stage.last_request().raw;
    assert!(raw.contains("started") && raw.contains("cancelled"), "{raw}");
}

#[test]
fn while_a_question_is_open() {
    let write = Reply::calls(&[("w", "write_file", json!({"path": "a.txt", "content": "x"}))]);
    let mut stage = check(write, None, |stage| {
        stage.client.wait_for(is_question);
    });
    let question = stage
        .client
        .log
        .iter()
        .find(|message| is_question(message))
        .cloned()
        .unwrap();
    stage.client.answer(&question, "allow_once");
    stage.client.request("session/list", json!({})).unwrap();
    assert!(!stage.home.workspace().join("a.txt").exists());
}

#[test]
fn queued_prompts_are_cancelled_with_the_running_one() {
    let mut stage = Stage::new(vec![Reply::silence(), Reply::text("Fine.")]);
    let prompts = ["one", "two", "three"].map(|text| stage.client.begin_prompt(&stage.session, text));
    is_asked(&stage.mock);
    stage
        .client
        .notify("session/cancel", json!({"sessionId": stage.session}));
    for prompt in prompts {
        assert_eq!(stage.client.stop_reason(prompt), "cancelled");
    }
    assert_eq!(stage.prompt("four"), "end_turn");
    assert_eq!(stage.mock.requests().len(), 2);
}

#[test]
fn the_end_of_the_client_ends_the_request() {
    let stage = Stage::new(vec![Reply::silence()]);
    let Stage {
        mock,
        mut client,
        session,
        home: _home,
    } = stage;
    client.begin_prompt(&session, "go");
    is_asked(&mock);
    assert!(client.close().success());
    assert!(mock.wait_closed(LIMIT));
}
