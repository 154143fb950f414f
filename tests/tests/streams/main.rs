//! Raw answers of model services, each with something odd in it, and what comes out of them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod anthropic;
mod ask;
mod cancels;
mod failures;
mod gemini;
mod hostile;
mod keys;
mod replay;
mod responses;
mod statuses;
mod told;

use std::time::Duration;

use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};

use ask::{ask, file, open, service};
use told::{check, check_complete, check_cuts, check_stream, tell};

/// Each stream with what comes out.
const STREAMS: &[(&str, &str)] = &[
    (
        "chat-01-parallel-fragments",
        r#"call a read {"p":1} · call b read {"p":2} · usage 10/7/-/5/- · ToolCalls"#,
    ),
    (
        "chat-02-parallel-index-zero",
        r#"call a read {"p":1} · call b read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-03-no-index",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-04-no-done",
        r#"text "hi" · call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    ("chat-05-cut-in-text", r#"text "hal" · error Network"#),
    (
        "chat-06-reasoning-two-fields",
        r#"thought "R1R2" · text "T" · usage 10/7/-/5/- · Stop"#,
    ),
    (
        "chat-07-reasoning-details-signed",
        r#"thought "RD" · text "T" · usage -/-/-/-/- · Stop"#,
    ),
    (
        "chat-08-finish-reason-empty-string",
        r#"text "x" · usage -/-/-/-/- · Stop"#,
    ),
    ("chat-09-error-mid-stream", r#"text "x" · error Overloaded"#),
    (
        "chat-10-args-cut-by-length",
        r#"call a read malformed {"p": · usage -/-/-/-/- · Length"#,
    ),
    ("chat-11-comment-crlf", r#"text "x" · usage -/-/-/-/- · Stop"#),
    (
        "chat-12-args-as-object",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-13-utf8-split",
        r#"text "見積 日本語 🌍 fin" · usage -/-/-/-/- · Stop"#,
    ),
    (
        "chat-14-call-without-id",
        r#"call new read {"p":1} · usage 10/7/-/5/- · ToolCalls"#,
    ),
    (
        "chat-15-two-calls-without-id",
        r#"call new read {"p":1} · call new read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-16-two-calls-same-id",
        r#"call a read {"p":1} · call new read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-17-id-and-name-in-every-piece",
        r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#,
    ),
    (
        "chat-18-content-filter",
        r#"text "par" · usage -/-/-/-/- · ContentFilter"#,
    ),
    (
        "chat-19-length",
        r#"text "The first half of a sen" · usage 10/7/-/5/- · Length"#,
    ),
    ("chat-20-empty-reply", "usage 10/-/-/0/- · Stop"),
    ("chat-21-reasoning-only", r#"thought "R1R2" · usage 10/-/-/6/6 · Stop"#),
    ("chat-22-crlf-multi-line-data", r#"text "AB" · usage -/-/-/-/- · Stop"#),
    ("chat-23-usage-in-every-chunk", r#"text "AB" · usage 10/-/-/2/- · Stop"#),
    (
        "chat-24-text-like-sse-and-late-content",
        r#"text "say data: {\"x\":1}\n\ndata: [DONE]\n\nend" · usage 10/7/-/5/- · Stop"#,
    ),
];

#[test]
fn every_stream_comes_out_right_however_it_is_cut_into_pieces() {
    for (name, expect) in STREAMS {
        check_stream(Dialect::OpenaiChat, name, expect);
    }
}

#[test]
fn every_stream_of_the_folder_is_in_the_table() {
    check_complete("chat-", STREAMS);
}

#[test]
fn a_stream_cut_anywhere_before_its_finish_is_never_a_clean_end() {
    check_cuts(Dialect::OpenaiChat, STREAMS, |event| {
        let reason = event.pointer("/choices/0/finish_reason").and_then(Value::as_str);
        reason.is_some_and(|reason| !reason.is_empty()) || event["error"].is_object()
    });
}

#[test]
fn a_connection_lost_after_the_finish_reason_loses_nothing() {
    let head = "HTTP/1.1 200 OK\ncontent-type: text/event-stream\ncontent-length: 100000";
    let body = file("chat-19-length.sse");
    check(
        "lost",
        Answer::answer(head, body.clone()),
        r#"text "The first half of a sen" · usage 10/7/-/5/- · Length"#,
    );
    check("lost", Answer::answer(head, &body[..100]), "error Network");
}

#[test]
fn a_server_that_says_nothing_after_the_finish_reason_is_not_waited_for() {
    let body = String::from_utf8(file("chat-19-length.sse")).unwrap();
    let (before, _) = body.split_once("data: {\"choices\":[],").unwrap();
    let mock = Mock::serve(vec![Answer::sse(before).stalling()]);
    let mut service = service(&mock);
    service.stall = Duration::from_millis(200);
    let told = tell(&ask(&open(service)));
    assert_eq!(told, r#"text "The first half of a sen" · usage -/-/-/-/- · Length"#);
}

#[test]
fn answers_that_are_no_streams_are_understood_or_refused() {
    let json = "HTTP/1.1 200 OK\ncontent-type: application/json";
    let message = json!({"content": "hi", "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": ""}}]});
    let whole = json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}});
    check(
        "whole",
        Answer::answer(json, whole.to_string()),
        r#"text "hi" · call a read {} · usage 1/-/-/-/- · ToolCalls"#,
    );
    check("no reply", Answer::answer(json, "{}"), "error Server");
    check(
        "page",
        Answer::answer("HTTP/1.1 200 OK\ncontent-type: text/html", "<html>"),
        "error Protocol",
    );
    check("no JSON", Answer::sse("data: {\n\n"), "error Protocol");
    check("empty", Answer::sse(""), "error Network");
    check(
        "unnamed",
        Answer::answer("HTTP/1.1 200 OK", "data: [DONE]\n\n"),
        "error Network",
    );
}

#[test]
fn the_last_blank_line_may_be_missing() {
    for end in ["", "\n", "\r", "\n\n"] {
        let chunk = r#"data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
        check(
            "missing",
            Answer::sse(format!("{chunk}{end}")),
            r#"text "x" · usage -/-/-/-/- · Stop"#,
        );
    }
}

#[test]
fn a_refusal_is_shown_and_is_no_plain_stop() {
    let chunk = json!({"choices": [{"delta": {"refusal": "I can't"}, "finish_reason": "stop"}]});
    check(
        "refusal",
        Answer::events(&[chunk]),
        r#"text "I can't" · usage -/-/-/-/- · Refusal"#,
    );
}
