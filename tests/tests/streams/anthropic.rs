//! The streams of Anthropic Messages, each with something odd in it, and what comes out of them.

mod asked;

use agent_core::event::ErrorClass;
use providers::{Dialect, Service};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};

use crate::ask::{ask_once_in, file, service};
use crate::told::{check_complete, check_cuts, check_in, check_stream};

/// Each stream with what comes out.
const STREAMS: &[(&str, &str)] = &[
    (
        "anthropic-01-thinking-two-tools",
        r#"thought "hm" · call a read {"p":1} · call b read {"p":2} · usage 20/7/3/20/- · ToolCalls"#,
    ),
    (
        "anthropic-02-tool-without-input",
        "call a read {} · usage 20/7/3/20/- · ToolCalls",
    ),
    (
        "anthropic-03-unknown-event-and-block",
        "call a read {} · usage 20/7/3/20/- · ToolCalls",
    ),
    ("anthropic-04-overloaded-mid-stream", "error Overloaded"),
    ("anthropic-05-cut-in-args", "error Network"),
    (
        "anthropic-06-max-tokens-in-args",
        r#"text "I read it." · call a write malformed {"p":"x","text":"half · usage 20/7/3/64/- · Length"#,
    ),
    ("anthropic-07-refusal", r#"text "I can" · usage 20/7/3/3/- · Refusal"#),
];

fn check(name: &str, answer: Answer, expect: &str) {
    check_in(Dialect::Anthropic, name, answer, expect);
}

fn messages(mock: &Mock) -> Service {
    Service {
        dialect: Dialect::Anthropic,
        ..service(mock)
    }
}

/// A stream of these events.
fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn piece(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn ending(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
        json!({"type": "message_stop"}),
    ]
}

/// A call whose arguments come as a whole.
fn whole_call(index: u64, id: &str, input: Value) -> Value {
    begin(
        index,
        json!({"type": "tool_use", "id": id, "name": "read", "input": input}),
    )
}

#[test]
fn every_stream_comes_out_right_however_it_is_cut_into_pieces() {
    for (name, expect) in STREAMS {
        check_stream(Dialect::Anthropic, name, expect);
    }
}

#[test]
fn every_stream_of_the_folder_is_in_the_table() {
    check_complete("anthropic-", STREAMS);
}

#[test]
fn a_stream_cut_anywhere_before_its_end_is_never_a_clean_end() {
    check_cuts(Dialect::Anthropic, STREAMS, |event| {
        event["type"] == "error" || event["type"] == "message_stop"
    });
}

#[test]
fn the_reason_to_stop_is_told_in_the_clients_own_words() {
    for (reason, alone, with_call) in [
        ("end_turn", "Stop", "ToolCalls"),
        ("stop_sequence", "Stop", "ToolCalls"),
        ("pause_turn", "Stop", "ToolCalls"),
        ("tool_use", "Stop", "ToolCalls"),
        ("max_tokens", "Length", "Length"),
        ("model_context_window_exceeded", "Length", "Length"),
        ("refusal", "Refusal", "Refusal"),
        ("brand_new", "Stop", "ToolCalls"),
    ] {
        let call = whole_call(0, "a", json!({"p": 1}));
        let [delta, stop] = ending(reason);
        check(
            reason,
            Answer::events(&[delta.clone(), stop.clone()]),
            &format!("usage -/-/-/-/- · {alone}"),
        );
        check(
            reason,
            Answer::events(&[call, delta, stop]),
            &format!(r#"call a read {{"p":1}} · usage -/-/-/-/- · {with_call}"#),
        );
    }
    check(
        "no reason",
        Answer::events(&[json!({"type": "message_stop"})]),
        "error Network",
    );
}

#[test]
fn blocks_are_told_apart_by_their_index_and_deltas_that_fit_nowhere_say_nothing() {
    let [delta, stop] = ending("end_turn");
    let answer = Answer::events(&[
        whole_call(0, "a", json!({})),
        begin(1, json!({"type": "text", "text": "x", "citations": []})),
        whole_call(2, "a", json!({})),
        begin(
            3,
            json!({"type": "server_tool_use", "id": "s", "name": "search", "input": {}}),
        ),
        piece(2, json!({"type": "input_json_delta", "partial_json": "{\"p\":2}"})),
        piece(1, json!({"type": "citations_delta", "citation": {}})),
        piece(1, json!({"type": "text_delta", "text": "y"})),
        piece(3, json!({"type": "input_json_delta", "partial_json": "{\"q\":1}"})),
        piece(0, json!({"type": "input_json_delta", "partial_json": "{\"p\":1}"})),
        piece(0, json!({"type": "brand_new_delta", "text": "never"})),
        piece(9, json!({"type": "signature_delta", "signature": "never"})),
        json!({"type": "content_block_stop", "index": 0}),
        delta,
        stop,
    ]);
    check(
        "mixed",
        answer,
        r#"text "xy" · call a read {"p":1} · call new read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    );
}

#[test]
fn a_call_that_was_cut_before_its_arguments_is_not_run() {
    let [delta, stop] = ending("max_tokens");
    check(
        "cut",
        Answer::events(&[
            whole_call(0, "a", json!({})),
            whole_call(1, "b", json!({})),
            delta,
            stop,
        ]),
        "call a read {} · call b read malformed  · usage -/-/-/-/- · Length",
    );
}

#[test]
fn counts_are_of_the_whole_reply_and_the_later_one_holds() {
    let usage = |usage: Value| json!({"type": "message_start", "message": {"usage": usage}});
    let [_, stop] = ending("end_turn");
    let delta = json!({
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 12, "cache_read_input_tokens": null, "output_tokens": 9},
    });
    check(
        "later",
        Answer::events(&[
            usage(json!({"input_tokens": 1, "cache_read_input_tokens": 5, "output_tokens": 1})),
            delta.clone(),
            stop.clone(),
        ]),
        "usage 17/5/-/9/- · Stop",
    );
    check(
        "nonsense",
        Answer::events(&[usage(json!({"input_tokens": "many"})), delta, stop]),
        "usage 12/-/-/9/- · Stop",
    );
}

#[test]
fn answers_that_are_no_streams_are_understood_or_refused() {
    let whole = json!({
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "SIG"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    });
    check(
        "whole",
        Answer::json(whole.to_string()),
        r#"thought "hm" · text "hi" · call a read {"p":1} · usage 10/-/-/5/- · ToolCalls"#,
    );
    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    check("error", Answer::json(error.to_string()), "error RateLimit");
    check("no reply", Answer::json("{}"), "error Server");
    check("no event", Answer::sse("data: {}\n\n"), "error Protocol");
    check("no JSON", Answer::sse("data: {\n\n"), "error Protocol");
    check("empty", Answer::sse(""), "error Network");
    check("done", Answer::sse("data: [DONE]\n\n"), "error Network");
    check(
        "nameless",
        Answer::events(&[begin(0, json!({"type": "tool_use"}))]),
        "error Network",
    );
}

#[test]
fn a_reply_of_endless_calls_is_broken_off() {
    let calls: Vec<Value> = (0..5_000)
        .map(|index| whole_call(index, &format!("c{index}"), json!({})))
        .collect();
    let failure = ask_once_in(Dialect::Anthropic, Answer::events(&calls)).failure();
    assert_eq!(failure.class, ErrorClass::Protocol);
    assert!(failure.message.contains("more than 128 calls"), "{}", failure.message);
}

#[test]
fn every_error_answer_has_its_class() {
    for (name, class) in [
        ("error-04-context-anthropic-400", ErrorClass::ContextOverflow),
        (
            "error-06-context-anthropic-input-plus-output-400",
            ErrorClass::ContextOverflow,
        ),
        ("error-07-rate-limit-http-date-429", ErrorClass::RateLimit),
    ] {
        let head = String::from_utf8(file(&format!("{name}.head"))).unwrap();
        let answer = Answer::answer(&head, file(&format!("{name}.json")));
        let failure = ask_once_in(Dialect::Anthropic, answer).failure();
        assert_eq!(failure.class, class, "{name}: {}", failure.message);
    }
}
