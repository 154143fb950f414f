//! How a turn ends.

use agent_core::event::{ErrorClass, Event, Failure, StopReason};
use agent_core::provider::Usage;
use serde_json::json;

use crate::live;
use crate::rows::{Row, chunk, only_live, text};

pub(crate) fn rows() -> Vec<Row> {
    let stops = [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::MaxSteps, "max_turn_requests"),
        (StopReason::Refusal, "refusal"),
        (StopReason::Cancelled, "cancelled"),
        (StopReason::NotDone, "end_turn"),
    ];
    let stopped = stops.map(|(stop, name)| {
        let usage = Usage::default();
        only_live(Event::TurnFinished { stop, usage }, vec![json!({ "stopReason": name })])
    });
    let failed = |class: ErrorClass, name: &str, code: i32| Row {
        event: failure(class),
        live: vec![json!({ "code": code, "message": "the service does not answer",
            "data": { "class": name, "provider": "local", "status": 503, "retryAfterMs": 2000 } })],
        replay: vec![chunk(
            "agent_message_chunk",
            "failure-9",
            text("This turn failed: the service does not answer"),
        )],
    };
    let failures = [
        failed(ErrorClass::Overloaded, "overloaded", -32603),
        failed(ErrorClass::Auth, "auth", -32000),
    ];
    stopped.into_iter().chain(failures).collect()
}

fn failure(class: ErrorClass) -> Event {
    Event::TurnFailed {
        failure: Failure {
            class,
            message: "the service does not answer".into(),
            provider: Some("local".into()),
            status: Some(503),
            retry_after_ms: Some(2000),
        },
    }
}

#[test]
fn what_a_turn_took_comes_with_its_answer_where_the_service_said_it() {
    let answer = |usage: Usage| {
        let stop = StopReason::EndTurn;
        live(Event::TurnFinished { stop, usage }).remove(0)
    };
    let all = Usage {
        input: Some(30),
        cached_read: Some(20),
        output: Some(12),
        reasoning: Some(2),
        ..Usage::default()
    };
    let usage = json!({ "totalTokens": 42, "inputTokens": 30, "outputTokens": 12, "thoughtTokens": 2,
        "cachedReadTokens": 20 });
    assert_eq!(answer(all), json!({ "stopReason": "end_turn", "usage": usage }));
    let half = Usage {
        input: Some(30),
        ..Usage::default()
    };
    assert_eq!(answer(half), json!({ "stopReason": "end_turn" }));
}
