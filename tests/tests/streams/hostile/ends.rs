//! Ends that are none, and errors where a reply should be.

use std::time::{Duration, Instant};

use agent_core::event::ErrorClass;
use providers::{Dialect, Service};
use serde_json::json;
use talaria_tests::mock::{Mock, Reply as Answer, stream_of};
use talaria_tests::spoken::DIALECTS;

use crate::ask::{LIMIT, ask, ask_once, ask_once_in, open, service};
use crate::hostile::fails_as;
use crate::told::{check, check_in, tell};

#[test]
fn comments_after_the_finish_do_not_keep_a_turn_alive() {
    for dialect in DIALECTS {
        let begun = Instant::now();
        let finish = match dialect {
            Dialect::OpenaiChat => json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}),
            Dialect::Anthropic => json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            Dialect::Gemini => {
                json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]})
            }
            // Its last event is its end.
            Dialect::OpenaiResponses => continue,
        };
        let head = stream_of(&[finish]);
        let comment = ": keep\n\n";
        let body = format!("{head}{}", comment.repeat(90));
        let offsets = (0..90).map(|count| head.len() + count * comment.len()).collect();
        let answer = Answer::sse(body).in_pieces(offsets).pausing(Duration::from_millis(150));
        let mock = Mock::serve(vec![answer.stalling()]);
        let service = Service {
            dialect,
            stall: Duration::from_millis(400),
            ..service(&mock)
        };
        let told = tell(&ask(&open(service)));
        let is_complete = told == r#"text "hi" · usage -/-/-/-/- · Stop"#;
        // A reason is not the end in this one: an event of its own is.
        assert!(
            is_complete || dialect == Dialect::Anthropic && told == "error Network",
            "{told}"
        );
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        assert!(mock.wait_closed(LIMIT));
    }
}

#[test]
fn a_reason_that_nobody_knows_is_told() {
    let ending = |dialect, reason: &str| match dialect {
        Dialect::OpenaiChat => {
            Answer::events(&[json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": reason}]})])
        }
        Dialect::Anthropic => Answer::events(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ]),
        Dialect::Gemini => {
            Answer::events(&[json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": reason}]})])
        }
        Dialect::OpenaiResponses => unreachable!("it has a status in place of a reason"),
    };
    let check = |dialect, reason: &str, expect: &str, is_told: bool| {
        let outcome = ask_once_in(dialect, ending(dialect, reason));
        let remark = outcome.end.as_ref().ok().and_then(|reply| reply.remark.clone());
        assert_eq!(tell(&outcome), format!(r#"text "hi" · {expect}"#), "{reason}");
        let names_it = remark.as_ref().is_some_and(|remark| remark.contains(reason));
        assert_eq!((remark.is_some(), names_it), (is_told, is_told), "{reason}: {remark:?}");
    };
    for dialect in [Dialect::OpenaiChat, Dialect::Anthropic, Dialect::Gemini] {
        check(dialect, "MAX_TOKENS", "usage -/-/-/-/- · Length", false);
        check(dialect, "max_tokens", "usage -/-/-/-/- · Length", false);
        check(dialect, "Stop", "usage -/-/-/-/- · Stop", false);
        check(dialect, "banana", "usage -/-/-/-/- · Stop", true);
    }
    check(Dialect::OpenaiChat, "eos", "usage -/-/-/-/- · Stop", false);
    check(Dialect::OpenaiChat, "time_limit", "usage -/-/-/-/- · Length", false);
    check(
        Dialect::OpenaiChat,
        "Content_Filter",
        "usage -/-/-/-/- · ContentFilter",
        false,
    );
    check(Dialect::OpenaiChat, "ERROR", "error Server", false);
    check(Dialect::Anthropic, "pause_turn", "usage -/-/-/-/- · Stop", true);
    check(Dialect::Gemini, "MALFORMED_FUNCTION_CALL", "error Server", false);
}

#[test]
fn an_end_that_is_none_is_no_clean_end() {
    let completed = |status: &str| {
        Answer::events(&[
            json!({"type": "response.output_text.delta", "delta": "hi"}),
            json!({"type": "response.completed", "response": {"status": status, "output": []}}),
        ])
    };
    let check = |status: &str, expect: &str| {
        check_in(Dialect::OpenaiResponses, status, completed(status), expect);
    };
    check("cancelled", r#"text "hi" · error Server"#);
    check("banana", r#"text "hi" · error Server"#);
    check("in_progress", r#"text "hi" · usage -/-/-/-/- · Stop"#);
    let unchanged = ask_once(Answer::answer("HTTP/1.1 304 Not Modified", "")).failure();
    fails_as(&unchanged, ErrorClass::BadRequest, "answered 304 Not Modified");
}

#[test]
fn an_error_of_any_form_ends_a_stream() {
    let begun = json!({"choices": [{"delta": {"content": "x"}}]});
    for event in [
        json!({"object": "error", "message": "the engine died", "code": 500}),
        json!({"detail": "the engine died"}),
        json!({"message": "the engine died"}),
    ] {
        let failure = ask_once(Answer::events(&[begun.clone(), event])).failure();
        fails_as(&failure, ErrorClass::Server, "the engine died");
    }
    let progress = json!({"type": "progress", "message": "loading the model"});
    let fine = json!({"error": false, "choices": [{"delta": {"content": "y"}, "finish_reason": "stop"}]});
    let answer = Answer::events(&[begun, progress, fine]);
    check("no error", answer, r#"text "xy" · usage -/-/-/-/- · Stop"#);
}

#[test]
fn what_is_no_stream_is_known_by_its_beginning() {
    let of = |media_type: &str| format!("HTTP/1.1 200 OK\ncontent-type: {media_type}");
    for dialect in DIALECTS {
        let ask = |media_type: &str, body: &[u8]| ask_once_in(dialect, Answer::answer(&of(media_type), body)).failure();
        let error = br#" {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}"#;
        for media_type in ["text/plain", "Application/JSON; charset=utf-8", "text/event-stream", ""] {
            fails_as(&ask(media_type, error), ErrorClass::Auth, "Incorrect API key");
        }
        fails_as(
            &ask("text/plain", b"Welcome to the proxy.\nPlease sign in."),
            ErrorClass::Protocol,
            "Welcome to the proxy. Please sign in.",
        );
        fails_as(
            &ask("text/event-stream", b"\x78\x9c\xab\x56"),
            ErrorClass::Protocol,
            "no text",
        );
        fails_as(
            &ask("text/plain", b"\n<!DOCTYPE html>"),
            ErrorClass::Protocol,
            "web page",
        );
        fails_as(&ask("text/event-stream", b""), ErrorClass::Network, "ended early");
        fails_as(&ask("text/event-stream", b"dat"), ErrorClass::Network, "ended early");
    }
}
