//! Services that mean harm, or are broken enough to do it: what is too large, what never ends, and what looks like
//! something else.

use std::time::{Duration, Instant};

use agent_core::event::{ErrorClass, Failure};
use providers::{Dialect, RemoteModel, Service, ServiceError, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::spoken::{DIALECTS, Spoken};

use crate::ask::{LIMIT, ask, ask_once, ask_once_in, handle, model, open, service};
use crate::told::{check, check_in, tell};

const JSON: &str = "HTTP/1.1 200 OK\ncontent-type: application/json";

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn fails_as(failure: &Failure, class: ErrorClass, words: &str) {
    assert_eq!(failure.class, class, "{}", failure.message);
    assert!(failure.message.contains(words), "{}", failure.message);
    assert!(failure.message.len() < 1000, "{} bytes", failure.message.len());
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

#[test]
fn a_reply_of_too_many_values_is_refused_before_it_is_read() {
    for dialect in DIALECTS {
        for value in ["{}", "[]", "0", r#"{"a":""}"#] {
            let many = [value].repeat(31_000).join(",");
            let piece = holding(dialect, &many);
            let streamed = ask_once_in(dialect, Answer::sse(format!("data: {piece}\n\n"))).failure();
            fails_as(&streamed, ErrorClass::Protocol, "more than 30,000 values");
            let whole = ask_once_in(dialect, Answer::answer(JSON, piece)).failure();
            fails_as(&whole, ErrorClass::Protocol, "more than 30,000 values");
        }
        let long = format!("{{\"x\":\"{}\"}}", "x".repeat(17 << 20));
        let whole = ask_once_in(dialect, Answer::answer(JSON, long)).failure();
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
    let failure = ask_once(Answer::sse(stream(&calls) + &stream(&[end]))).failure();
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
            (stream(&pieces), end)
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
    let failure = ask_once_in(Dialect::Anthropic, Answer::sse(stream(&blocks))).failure();
    fails_as(&failure, ErrorClass::Protocol, "blocks in one reply");
}

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
        let head = stream(&[finish]);
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
fn no_sentence_is_longer_than_a_person_reads() {
    let long = "Z".repeat(1_000_000);
    for dialect in DIALECTS {
        let wrong = match dialect {
            Dialect::OpenaiChat => json!({ "choices": long }),
            Dialect::OpenaiResponses => json!({"type": "response.completed", "response": long}),
            Dialect::Anthropic => json!({"type": "content_block_start", "index": 0, "content_block": long}),
            Dialect::Gemini => json!({ "candidates": long }),
        };
        let failure = ask_once_in(dialect, Answer::sse(stream(&[wrong]))).failure();
        fails_as(&failure, ErrorClass::Protocol, "sent an event that is");
        let plain = ask_once_in(dialect, Answer::answer(JSON, format!("{{\"error\":\"{long}\"}}"))).failure();
        fails_as(&plain, ErrorClass::Server, "failed: ZZZ");
    }
    let head = format!("HTTP/1.1 302 Found\nlocation: https://e.example/{}", "a".repeat(60_000));
    fails_as(
        &ask_once(Answer::answer(&head, "")).failure(),
        ErrorClass::Config,
        "redirects to https://e.example/aaa",
    );
}

/// A key of every letter that is written in another way somewhere.
const ODD: &str = "AbCd+EfGh/IjKl==\"q\\0123456";

fn with_key(mock: &Mock, key: &str) -> Service {
    Service {
        key: Some(key.to_owned().into()),
        ..service(mock)
    }
}

#[test]
fn a_key_is_masked_in_an_error_in_whatever_form() {
    let forms = [
        ODD.to_owned(),
        "AbCd+EfGh/IjKl==\\\"q\\\\0123456".to_owned(),
        "AbCd+EfGh\\/IjKl==\\\\\\\"q\\\\\\\\0123456".to_owned(),
        "AbCd+EfGh/IjKl\\u003d\\u003D\\u0022q\\u005c0123456".to_owned(),
        "AbCd%2BEfGh%2FIjKl%3D%3D%22q%5C0123456".to_owned(),
        "abcd%2befgh%2fijkl%3d%3d%22q%5c0123456".to_owned(),
        ODD.to_lowercase(),
    ];
    for form in forms {
        let body = json!({"error": {"message": format!("your key {form} is none")}}).to_string();
        let mock = Mock::serve(vec![Answer::answer("HTTP/1.1 401 Unauthorized", body)]);
        let failure = ask(&open(with_key(&mock, ODD))).failure();
        assert!(
            failure.message.contains("your key *** is none"),
            "{form}: {}",
            failure.message
        );
    }
    let key = "AbCd+EfGh/IjKl==0123456";
    for (place, expect) in [
        (
            "https://e.example/AbCd+EfGh%2FIjKl%3D%3D0123456",
            "https://e.example/***",
        ),
        (
            "https://e.example/abcd%2befgh/ijkl==0123456/x",
            "https://e.example/***/x",
        ),
    ] {
        let redirect = format!("HTTP/1.1 302 Found\nlocation: {place}");
        let mock = Mock::serve(vec![Answer::answer(&redirect, "")]);
        let failure = ask(&open(with_key(&mock, key))).failure();
        let told = format!("redirects to {expect}, which");
        assert!(failure.message.contains(&told), "{place}: {}", failure.message);
    }
    let mock = Mock::serve(vec![Answer::answer(
        "HTTP/1.1 302 Found\nlocation: https://sk-very-secret-0123456789.example/",
        "",
    )]);
    let failure = ask(&open(with_key(&mock, "SK-Very-Secret-0123456789"))).failure();
    assert!(failure.message.contains("https://***.example/"), "{}", failure.message);
}

#[test]
fn a_key_is_masked_in_a_reply_as_json_writes_it_too() {
    for form in [
        ODD.to_owned(),
        "AbCd+EfGh/IjKl==\\\"q\\\\0123456".to_owned(),
        "AbCd+EfGh\\/IjKl==\\\"q\\\\0123456".to_owned(),
    ] {
        let mock = Mock::serve(vec![Answer::text(&format!("it is {form}, yes"))]);
        let outcome = ask(&open(with_key(&mock, ODD)));
        assert_eq!(outcome.text, "it is ***, yes", "{form}");
    }
}

#[test]
fn quotes_around_a_key_are_no_part_of_it() {
    for key in [
        "\"sk-quoted-0123456789\"",
        "'sk-quoted-0123456789'",
        " \"sk-quoted-0123456789\"\n",
    ] {
        let echo = json!({"error": {"message": "Incorrect API key: sk-quoted-0123456789."}}).to_string();
        let mock = Mock::serve(vec![Answer::answer("HTTP/1.1 401 Unauthorized", echo)]);
        let failure = ask(&open(with_key(&mock, key))).failure();
        assert!(failure.message.contains("API key: ***."), "{}", failure.message);
        assert_eq!(
            mock.requests()[0].header("authorization"),
            Some("Bearer sk-quoted-0123456789")
        );
    }
}

#[test]
fn an_address_with_a_key_in_its_query_is_refused() {
    let open = |base_url: &str| RemoteModel::new(Service::new("mock", base_url), model(base_url), handle()).err();
    for query in [
        "key=sk-1",
        "api_key=x",
        "a=1&access_token=x",
        "KEY=x",
        "sig=x",
        "sk-0123456789",
    ] {
        let error = open(&format!("http://127.0.0.1/v1?{query}"));
        assert!(
            matches!(error, Some(ServiceError::KeyInAddress { .. })),
            "{query}: {error:?}"
        );
    }
    assert!(open("http://127.0.0.1/v1?api-version=preview").is_none());
}

#[test]
fn a_reason_that_nobody_knows_is_told() {
    let ending = |dialect, reason: &str| match dialect {
        Dialect::OpenaiChat => stream(&[json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": reason}]})]),
        Dialect::Anthropic => stream(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ]),
        Dialect::Gemini => {
            stream(&[json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": reason}]})])
        }
        Dialect::OpenaiResponses => unreachable!("it has a status in place of a reason"),
    };
    let check = |dialect, reason: &str, expect: &str, is_told: bool| {
        let outcome = ask_once_in(dialect, Answer::sse(ending(dialect, reason)));
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

#[test]
fn events_are_read_whatever_they_are_called() {
    for dialect in DIALECTS {
        let reply = Spoken::text("hello").reply(dialect);
        let named = reply.clone().called("application/json");
        assert_eq!(tell(&ask_once_in(dialect, named)), tell(&ask_once_in(dialect, reply)));
    }
}

#[test]
fn an_error_of_any_form_ends_a_stream() {
    let begun = stream(&[json!({"choices": [{"delta": {"content": "x"}}]})]);
    for event in [
        json!({"object": "error", "message": "the engine died", "code": 500}),
        json!({"detail": "the engine died"}),
        json!({"message": "the engine died"}),
    ] {
        let failure = ask_once(Answer::sse(begun.clone() + &stream(&[event]))).failure();
        fails_as(&failure, ErrorClass::Server, "the engine died");
    }
    let progress = json!({"type": "progress", "message": "loading the model"});
    let begun = begun + &stream(&[progress]);
    let fine = json!({"error": false, "choices": [{"delta": {"content": "y"}, "finish_reason": "stop"}]});
    check(
        "no error",
        Answer::sse(begun + &stream(&[fine])),
        r#"text "xy" · usage -/-/-/-/- · Stop"#,
    );
}

#[test]
fn half_a_character_is_shown_as_one_that_is_missing() {
    for dialect in DIALECTS {
        for (escape, expect) in [
            ("A\\ud800B", "A\u{fffd}B"),
            ("A\\uDE00B", "A\u{fffd}B"),
            ("A\\uD83D", "A\u{fffd}"),
            ("\\ud83d\\ud83d\\ude00", "\u{fffd}😀"),
            ("\\\\ud800", "\\ud800"),
        ] {
            let reply = Spoken::text("HALF").reply(dialect).replacing("HALF", escape);
            assert_eq!(ask_once_in(dialect, reply).text, expect, "{escape} {}", dialect.name());
        }
        let call = Spoken::call("c", "read", json!({"path": "HALF"}));
        let escape = if dialect == Dialect::Gemini {
            "\\ud800"
        } else {
            "\\\\ud800"
        };
        let told = tell(&ask_once_in(dialect, call.reply(dialect).replacing("HALF", escape)));
        assert!(told.contains("read {\"path\":\"\u{fffd}\"}"), "{told}");
    }
}

#[test]
fn an_odd_entry_costs_only_itself_in_a_list_of_models() {
    let list = |dialect, entries: Value| {
        let (list, id) = match dialect {
            Dialect::Gemini => ("models", "name"),
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Anthropic => ("data", "id"),
        };
        let body = json!({ list: entries })
            .to_string()
            .replace("\"id\"", &format!("\"{id}\""));
        let mock = Mock::serve(vec![Answer::answer(JSON, body)]).with_list();
        let service = Service {
            dialect,
            ..service(&mock)
        };
        let listed = list_models(LIMIT, &service, &handle()).unwrap();
        listed
            .into_iter()
            .map(|model| (model.id, model.context_window))
            .collect::<Vec<_>>()
    };
    for dialect in DIALECTS {
        let entries = json!([{"id": null}, {"id": 5}, {"id": ""}, 7, [], {"name_of": "x"}, {"id": "good"}]);
        assert_eq!(list(dialect, entries), [("good".to_owned(), None)]);
    }
    for (said, expect) in [
        (json!(8192.0), Some(8192)),
        (json!("8192"), Some(8192)),
        (json!(-1), None),
        (json!("8k"), None),
        (json!(0), None),
        (json!(1e30), None),
        (json!([8192]), None),
    ] {
        let listed = list(
            Dialect::OpenaiChat,
            json!([{"id": "m", "context_length": said.clone()}]),
        );
        assert_eq!(listed, [("m".to_owned(), expect)], "{said}");
        let listed = list(Dialect::Gemini, json!([{"id": "m", "inputTokenLimit": said.clone()}]));
        assert_eq!(listed, [("m".to_owned(), expect)], "{said}");
    }
}

#[test]
fn a_text_that_is_said_again_is_one() {
    let check = |events: &[Value], expect: &str| {
        check(
            "again",
            Answer::sse(stream(events)),
            &format!("{expect} · usage -/-/-/-/- · Stop"),
        );
    };
    let hello = json!({"choices": [{"delta": {"content": "HELLO"}}]});
    let again = json!({"choices": [{"message": {"content": "HELLO"}, "finish_reason": "stop"}]});
    check(&[hello.clone(), again.clone()], r#"text "HELLO""#);
    check(&[again], r#"text "HELLO""#);
    let other = json!({"choices": [{"index": 1, "delta": {"content": "OTHER"}}]});
    let both = json!({"choices": [
        {"index": 1, "delta": {"content": "OTHER"}},
        {"index": 0, "delta": {"content": "!"}, "finish_reason": "stop"},
    ]});
    let first = json!({"choices": [{"index": 0, "delta": {"content": "HELLO"}}]});
    let early = json!({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]});
    check(&[first, other, early, both.clone()], r#"text "HELLO!""#);
    let second = json!({"choices": [{"index": 1, "delta": {"content": "HELLO"}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    check(&[second, end], r#"text "HELLO""#);
    check(&[hello, both], r#"text "HELLO!""#);
}

#[test]
fn an_index_that_is_none_is_as_a_missing_one() {
    let told = "call c read {\"path\":\"a\"}";
    for dialect in DIALECTS {
        let call = Spoken::call("c", "read", json!({"path": "a"}));
        for index in ["-1", "null", "\"0\"", "1.5"] {
            let reply = call.reply(dialect).replacing("index\":0", &format!("index\":{index}"));
            let outcome = ask_once_in(dialect, reply);
            assert!(
                tell(&outcome).starts_with(told),
                "{} {index}: {}",
                dialect.name(),
                tell(&outcome)
            );
        }
    }
}

#[test]
fn an_end_that_is_none_is_no_clean_end() {
    let completed = |status: &str| {
        stream(&[
            json!({"type": "response.output_text.delta", "delta": "hi"}),
            json!({"type": "response.completed", "response": {"status": status, "output": []}}),
        ])
    };
    let check = |status: &str, expect: &str| {
        check_in(Dialect::OpenaiResponses, status, Answer::sse(completed(status)), expect);
    };
    check("cancelled", r#"text "hi" · error Server"#);
    check("banana", r#"text "hi" · error Server"#);
    check("in_progress", r#"text "hi" · usage -/-/-/-/- · Stop"#);
    let unchanged = ask_once(Answer::answer("HTTP/1.1 304 Not Modified", "")).failure();
    fails_as(&unchanged, ErrorClass::BadRequest, "answered 304 Not Modified");
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
