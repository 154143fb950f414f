//! A cancel at each moment of a turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::process::commands_of;

use crate::check_calls;

#[test]
fn cancel_while_a_command_runs_takes_its_processes_along() {
    let home = Home::new();
    let client = check_cancel(
        &home,
        Some("allow_once"),
        &["run sleep 611 & sleep 611 & echo started-$!; wait", "say pong"],
        |message| started(message).is_some(),
    );
    let left = commands_of(client.pid());
    assert!(left.is_empty(), "processes {left:?} are left");
}

#[test]
fn cancel_while_a_question_is_open_runs_nothing() {
    let home = Home::new();
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let mut client = check_cancel(&home, None, &["create a.txt with hello", "say pong"], is_question);
    let question = client.log.iter().find(|message| is_question(message)).cloned().unwrap();
    let withdrawn = client
        .log
        .iter()
        .any(|message| message["method"] == "$/cancel_request" && message["params"]["requestId"] == question["id"]);
    assert!(withdrawn, "the question is withdrawn");
    client.answer(&question, "allow_once");
    client.request("session/list", json!({})).unwrap();
    assert!(!home.workspace().join("a.txt").exists());
}

#[test]
fn cancel_while_waiting_for_the_model_says_nothing() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    let prompt = client.begin_prompt(&session, "go");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert_eq!(client.said(from), "");
    assert_eq!(client.prompt(&session, "/version"), "end_turn");
}

#[test]
fn cancel_in_mid_stream_keeps_what_was_said() {
    let script =
        json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}, {"steps": [{"text": "fine"}]}]});
    let home = Home::with_script(&script);
    let client = check_cancel(&home, None, &["go", "again"], is_update("agent_message_chunk"));
    assert_eq!(client.said(0), "so farfine");
}

#[test]
fn cancel_request_on_a_prompt_cancels_it() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    client.notify("$/cancel_request", json!({"requestId": prompt}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
}

/// Cancels when the message that is meant has come; the prompt must end as cancelled and the next one work.
fn check_cancel(
    home: &Home,
    permission: Option<&'static str>,
    prompts: &[&str],
    is_meant: impl Fn(&Value) -> bool,
) -> Client {
    let (mut client, session) = Client::with_session(home);
    client.permission = permission;
    let from = client.log.len();
    let prompt = client.begin_prompt(&session, prompts[0]);
    client.wait_for(is_meant);
    let at = Instant::now();
    client.notify("session/cancel", json!({"sessionId": session}));
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(at.elapsed() < Duration::from_secs(2), "{:?}", at.elapsed());
    check_calls(&client, from);
    assert_eq!(client.prompt(&session, prompts[1]), "end_turn");
    client
}

fn is_update(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["params"]["update"]["sessionUpdate"] == kind
}

/// The process that a call's output names behind `started-`. The command itself has no number there.
fn started(message: &Value) -> Option<u32> {
    let update = &message["params"]["update"];
    if update["sessionUpdate"] != "tool_call_update" {
        return None;
    }
    let output = update["content"].to_string();
    let number = output.split("started-").nth(1)?;
    let end = number.find(|c: char| !c.is_ascii_digit())?;
    number[..end].parse().ok()
}
