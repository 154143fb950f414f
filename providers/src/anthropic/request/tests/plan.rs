//! How long a reply may be, and how much of it thoughts.

use agent_core::provider::{Message, ModelInfo, Request, ThoughtLevel};
use serde_json::json;

use super::{calls, done, kept, model, named, request, with, write};
use crate::testing::user;

/// The length, the budget and the effort that a request asks for.
fn plan(request: &Request<'_>, model: &ModelInfo) -> (u64, Option<u64>, Option<String>) {
    let body = write(request, model);
    let effort = body["output_config"]["effort"].as_str().map(str::to_owned);
    (
        body["max_tokens"].as_u64().unwrap(),
        body["thinking"]["budget_tokens"].as_u64(),
        effort,
    )
}

#[test]
fn the_reply_never_asks_for_more_room_than_is_left() {
    let limit = |window: Option<u64>, most: Option<u64>, letters: usize, thinking| {
        let model = ModelInfo {
            context_window: window,
            max_output: most,
            ..model()
        };
        let messages = [user(&"x".repeat(letters))];
        let request = Request {
            thinking,
            ..request(&[], &messages)
        };
        let (max_tokens, budget, _) = plan(&request, &model);
        assert!(budget.is_none_or(|budget| budget < max_tokens));
        let input = u64::try_from(letters).unwrap() / 3;
        assert!(window.is_none_or(|window| input + max_tokens <= window || max_tokens <= window / 4));
        (max_tokens, budget)
    };
    let (off, low, medium, high) = (
        Some(ThoughtLevel::Off),
        Some(ThoughtLevel::Low),
        Some(ThoughtLevel::Medium),
        Some(ThoughtLevel::High),
    );
    assert_eq!(limit(None, None, 0, None), (8192, None));
    assert_eq!(limit(None, Some(500), 0, off), (500, None));
    assert_eq!(limit(None, None, 0, low), (8192 + 2048, Some(2048)));
    assert_eq!(limit(None, None, 0, medium), (8192 + 8192, Some(8192)));
    assert_eq!(limit(None, None, 0, high), (8192 + 16_384, Some(16_384)));
    assert_eq!(limit(None, Some(64_000), 0, high), (64_000, Some(16_384)));
    assert_eq!(limit(None, Some(4096), 0, medium), (4096, Some(3072)));
    assert_eq!(limit(None, Some(2048), 0, low), (2048, Some(1024)));
    assert_eq!(limit(None, Some(2047), 0, low), (2047, None));
    assert_eq!(limit(Some(200_000), None, 3000, None), (8192, None));
    let (room, Some(budget)) = limit(Some(10_000), None, 15_000, high) else {
        panic!("there is room for thoughts")
    };
    assert!((4700..4900).contains(&room) && budget == room - 1024, "{room} {budget}");
    assert_eq!(limit(Some(1100), None, 3000, high).0, 275, "a few words are no reply");
    assert_eq!(limit(Some(1000), Some(100), 3000, None), (100, None));
}

#[test]
fn a_newer_model_is_told_an_effort_and_no_budget() {
    let messages = [user("hi")];
    let level = |thinking| {
        let request = Request {
            thinking,
            ..request(&[], &messages)
        };
        write(&request, &named("claude-opus-4-7"))
    };
    let high = level(Some(ThoughtLevel::High));
    assert_eq!(high["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!(high["output_config"], json!({"effort": "high"}));
    for body in [level(None), level(Some(ThoughtLevel::Off))] {
        assert_eq!((body.get("thinking"), body.get("output_config")), (None, None));
    }
}

#[test]
fn no_thinking_is_asked_for_in_a_turn_that_began_without() {
    let check = |messages: &[Message], model: &str, expect: bool| {
        let request = Request {
            thinking: Some(ThoughtLevel::Low),
            ..request(&[], messages)
        };
        let body = write(&request, &named(model));
        assert_eq!(body.get("thinking").is_some(), expect, "{body}");
    };
    let thinks = |ids: &[&str]| with(calls("", ids), &kept("S"), model().origin);
    check(&[user("hi")], "m", true);
    check(&[user("hi"), calls("", &["a"]), done("a")], "m", false);
    check(&[user("hi"), calls("", &["a"]), done("a")], "claude-opus-4-6", true);
    check(&[user("hi"), thinks(&["a"]), done("a")], "m", true);
    check(&[user("hi"), thinks(&["a"]), done("a")], "other", false);
    // It thinks once, before the first call of a turn.
    check(
        &[user("hi"), thinks(&["a"]), done("a"), calls("", &["b"]), done("b")],
        "m",
        true,
    );
    check(
        &[user("hi"), calls("", &["a"]), done("a"), thinks(&["b"]), done("b")],
        "m",
        false,
    );
    check(
        &[
            user("hi"),
            calls("", &["a"]),
            done("a"),
            calls("done", &[]),
            user("more"),
        ],
        "m",
        true,
    );
}
