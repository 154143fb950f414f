//! What is too large, too long or too much.

use agent_core::event::ErrorClass;
use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::mock::{Reply as Answer, stream_of};
use talaria_tests::spoken::{DIALECTS, Spoken};

use crate::ask::{ask_once, ask_once_in};
use crate::hostile::fails_as;

#[test]
fn a_reply_of_too_many_values_is_refused_before_it_is_read() {
    for dialect in DIALECTS {
        for value in ["{}", "[]", "0", r#"{"a":""}"#] {
            let many = [value].repeat(31_000).join(",");
            let piece = holding(dialect, &many);
            let streamed = ask_once_in(dialect, Answer::sse(format!("data: {piece}\n\n"))).failure();
            fails_as(&streamed, ErrorClass::Protocol, "more than 30,000 values");
            let whole = ask_once_in(dialect, Answer::json(piece)).failure();
            fails_as(&whole, ErrorClass::Protocol, "more than 30,000 values");
        }
        let long = format!("{{\"x\":\"{}\"}}", "x".repeat(17 << 20));
        let whole = ask_once_in(dialect, Answer::json(long)).failure();
        fails_as(&whole, ErrorClass::Protocol, "more than 16 MiB");
    }
}

#[test]
fn arguments_of_calls_are_bounded() {
    let ask = |dialect, sizes: &[usize]| {
        let calls = sizes.iter().enumerate();
        let calls = calls.map(|(id, size)| (id.to_string(), "read".to_owned(), json!({"path": "x".repeat(*size)})));
        let spoken = Spoken {
            calls: calls.collect(),
            ..Spoken::default()
        };
        // Some dialects say all of it twice, so each stays within one event.
        ask_once_in(dialect, spoken.reply(dialect))
    };
    const MIB: usize = 1024 * 1024;
    for dialect in DIALECTS {
        fails_as(&ask(dialect, &[5 * MIB]).failure(), ErrorClass::Protocol, "4 MiB");
        if dialect == Dialect::Anthropic {
            fails_as(&ask(dialect, &[3 * MIB; 6]).failure(), ErrorClass::Protocol, "16 MiB");
        }
        assert!(ask(dialect, &[MIB, MIB]).end.is_ok());
    }
    let call = |id: usize| {
        let arguments = format!("[{}0]", "0,".repeat(20_000));
        let function = json!({"name": "read", "arguments": arguments});
        json!({"choices": [{"delta": {"tool_calls": [{"index": id, "function": function}]}}]})
    };
    let calls: Vec<Value> = (0..6).map(call).collect();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let failure = ask_once(Answer::events(&[calls, vec![end]].concat())).failure();
    fails_as(&failure, ErrorClass::Protocol, "more than 30,000 values");
}

#[test]
fn what_goes_back_unchanged_is_bounded_and_its_loss_costs_no_reply() {
    for dialect in DIALECTS {
        let seals = |size: usize, count: usize| {
            let seal = "s".repeat(size);
            let piece = |index: usize| match dialect {
                Dialect::OpenaiChat => {
                    let detail = json!({"type": "reasoning.encrypted", "data": seal});
                    vec![json!({"choices": [{"delta": {"reasoning_details": [detail]}}]})]
                }
                Dialect::OpenaiResponses => {
                    let item = json!({"type": "reasoning", "id": index.to_string(), "encrypted_content": seal});
                    vec![json!({"type": "response.output_item.done", "output_index": index, "item": item})]
                }
                Dialect::Anthropic => {
                    let block = json!({"type": "thinking", "thinking": "", "signature": seal});
                    vec![json!({"type": "content_block_start", "index": index, "content_block": block})]
                }
                Dialect::Gemini => {
                    let part = json!({"text": "", "thought": true, "thoughtSignature": seal});
                    vec![json!({"candidates": [{"content": {"parts": [part]}}]})]
                }
            };
            let pieces: Vec<Value> = (0..count).flat_map(piece).collect();
            let end = Spoken::text("hi").reply(dialect);
            (stream_of(&pieces), end)
        };
        let reply = |size, count| {
            let (pieces, end) = seals(size, count);
            let outcome = ask_once_in(dialect, end.after(&pieces));
            assert_eq!(outcome.text, "hi");
            outcome.end.unwrap().native
        };
        assert!(reply(100, 3).is_some(), "{}", dialect.name());
        assert_eq!(reply(1 << 20, 6), None, "{}", dialect.name());
    }
}

#[test]
fn a_reply_of_endless_blocks_is_broken_off() {
    let block =
        |index: usize| json!({"type": "content_block_start", "index": index, "content_block": {"type": "thinking"}});
    let blocks: Vec<Value> = (0..5_000).map(block).collect();
    let failure = ask_once_in(Dialect::Anthropic, Answer::events(&blocks)).failure();
    fails_as(&failure, ErrorClass::Protocol, "blocks in one reply");
}

#[test]
fn no_sentence_is_longer_than_a_person_reads() {
    let long = "Z".repeat(1_000_000);
    for dialect in DIALECTS {
        let wrong = match dialect {
            Dialect::OpenaiChat => json!({ "choices": long }),
            Dialect::OpenaiResponses => json!({"type": "response.completed", "response": long}),
            Dialect::Anthropic => json!({"type": "content_block_start", "index": 0, "content_block": long}),
            Dialect::Gemini => json!({ "candidates": long }),
        };
        let failure = ask_once_in(dialect, Answer::events(&[wrong])).failure();
        fails_as(&failure, ErrorClass::Protocol, "sent an event that is");
        let plain = ask_once_in(dialect, Answer::json(format!("{{\"error\":\"{long}\"}}"))).failure();
        fails_as(&plain, ErrorClass::Server, "failed: ZZZ");
    }
    let head = format!("HTTP/1.1 302 Found\nlocation: https://e.example/{}", "a".repeat(60_000));
    fails_as(
        &ask_once(Answer::answer(&head, "")).failure(),
        ErrorClass::Config,
        "redirects to https://e.example/aaa",
    );
}

#[test]
fn names_and_ids_are_bounded() {
    for dialect in DIALECTS {
        let call = Spoken::call(&"i".repeat(100_000), &"n".repeat(100_000), json!({}));
        let reply = ask_once_in(dialect, call.reply(dialect)).end.unwrap();
        let call = &reply.calls[0];
        assert!(
            call.id.len() < 1000 && call.name.len() < 1000,
            "{} {}",
            call.id.len(),
            call.name.len()
        );
        assert!(call.name.starts_with("nnn"));
    }
}

#[test]
fn counts_that_no_model_reaches_are_no_counts() {
    for dialect in DIALECTS {
        for (used, expect) in [
            (1_000_000_000, Some(1_000_000_000)),
            (u64::MAX / 100 + 1, None),
            (u64::MAX, None),
        ] {
            let reply = ask_once_in(dialect, Spoken::text("hi").using(used).reply(dialect))
                .end
                .unwrap();
            assert_eq!(reply.usage.input, expect, "{used}");
        }
    }
}

/// A piece of a reply in a dialect, with `{}` where it may hold anything.
fn holding(dialect: Dialect, anything: &str) -> String {
    let frame = match dialect {
        Dialect::OpenaiChat => r#"{"choices":[{"delta":{"reasoning_details":[{}]}}]}"#,
        Dialect::OpenaiResponses => {
            r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"x","arguments":[{}]}}"#
        }
        Dialect::Anthropic => {
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","x":[{}]}}"#
        }
        Dialect::Gemini => r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x","args":[{}]}}]}}]}"#,
    };
    frame.replace("{}", anything)
}
