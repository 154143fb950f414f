//! OpenAI Responses.

use agent_core::event::ErrorClass;
use providers::{Dialect, LIST_PATIENCE, ListedModel, Service, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::handle;

use crate::ask::{KEY, ask, ask_once_in, ask_with, file, open, service};
use crate::replay::{check_continued, converse};
use crate::told::{check_complete, check_cuts, check_in, check_stream};

const DIALECT: Dialect = Dialect::OpenaiResponses;

/// Each stream with what comes out.
const STREAMS: &[(&str, &str)] = &[
    (
        "responses-01-encrypted-reasoning-two-calls",
        r#"thought "hm" · call a read {"p":1} · call b read {"p":2} · usage 10/7/-/5/2 · ToolCalls"#,
    ),
    ("responses-02-failed", r#"thought "hm" · error Server"#),
    ("responses-03-cut-before-completed", r#"thought "hm" · error Network"#),
    (
        "responses-04-incomplete-max-output",
        r#"text "hal" · usage 10/0/-/16/0 · Length"#,
    ),
];

#[test]
fn every_stream_comes_out_right_however_it_is_cut_into_pieces() {
    check_complete("responses-", STREAMS);
    for (name, expect) in STREAMS {
        check_stream(DIALECT, name, expect);
    }
}

#[test]
fn a_stream_cut_anywhere_before_its_end_is_never_a_clean_end() {
    let ends = ["completed", "incomplete", "failed"].map(|end| format!("response.{end}"));
    check_cuts(DIALECT, STREAMS, |event| {
        event["type"]
            .as_str()
            .is_some_and(|kind| ends.iter().any(|end| end == kind))
    });
}

/// A reply in these events, ended by a plain end without items.
fn check(name: &str, mut said: Vec<Value>, expect: &str) {
    said.push(json!({"type": "response.completed", "response": {"status": "completed", "output": []}}));
    check_in(DIALECT, name, Answer::events(&said), expect);
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn text_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "delta": delta})
}

#[test]
fn a_text_is_told_once_wherever_it_stands() {
    let hi = r#"text "hi" · usage -/-/-/-/- · Stop"#;
    check("in a delta", vec![text_delta(0, "hi")], hi);
    check("in its item", vec![done(0, &message("hi"))], hi);
    check("in both", vec![text_delta(0, "hi"), done(0, &message("hi"))], hi);
    let end = |text: &str| json!({"type": "response.output_text.done", "output_index": 0, "text": text});
    check("in its end", vec![end("hi")], hi);
    check("in a delta and its end", vec![text_delta(0, "hi"), end("hi")], hi);
    check("in parts", vec![text_delta(0, "h"), done(0, &message("hi"))], hi);
    check("twice", vec![done(0, &message("hi")), done(0, &message("hi"))], hi);
    for before in [vec![], vec![text_delta(0, "hi")], vec![done(0, &message("hi"))]] {
        let end = json!({"type": "response.completed", "response": {"output": [message("hi")]}});
        check_in(DIALECT, "in the end", Answer::events(&[before, vec![end]].concat()), hi);
    }
}

#[test]
fn an_item_is_found_by_its_index_or_its_id() {
    let piece = |place: Value| {
        let mut event = json!({"type": "response.function_call_arguments.delta", "delta": "{\"p\":1}"});
        event
            .as_object_mut()
            .unwrap()
            .extend(place.as_object().unwrap().clone());
        event
    };
    let call = |id: &str| json!({"type": "function_call", "id": id, "call_id": "a", "name": "read", "arguments": ""});
    let added = |item: Value| json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let whole = json!({"type": "function_call", "id": "f9", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"});
    let expect = r#"call a read {"p":1} · usage -/-/-/-/- · ToolCalls"#;
    for place in [
        json!({"output_index": 0, "item_id": "other"}),
        json!({"item_id": "f"}),
        json!({}),
    ] {
        check("found", vec![added(call("f")), piece(place.clone())], expect);
        check("ended", vec![added(call("f")), piece(place), done(0, &whole)], expect);
    }
    check("only its end", vec![done(0, &whole)], expect);
    let other = json!({"type": "function_call", "call_id": "b", "name": "read", "arguments": {"p": 2}});
    check(
        "two at one index",
        vec![done(0, &whole), done(0, &other)],
        r#"call a read {"p":1} · call b read {"p":2} · usage -/-/-/-/- · ToolCalls"#,
    );
}

#[test]
fn paragraphs_of_a_summary_stay_apart() {
    let delta = |index: u64, delta: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": delta});
    let item = json!({"type": "reasoning", "id": "r", "summary": [{"text": "ab"}, {"text": "c"}]});
    check(
        "summary",
        vec![delta(0, "a"), delta(0, "b"), delta(1, "c"), done(0, &item)],
        r#"thought "ab\n\nc" · usage -/-/-/-/- · Stop"#,
    );
    let next = |id: &str| json!({"type": "reasoning", "id": id, "summary": [{"text": "d"}]});
    check(
        "items",
        vec![
            delta(0, "a"),
            done(1, &next("r2")),
            done(2, &message("hi")),
            done(3, &next("r3")),
        ],
        r#"thought "a\n\ndd" · text "hi" · usage -/-/-/-/- · Stop"#,
    );
    let shown = json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "hm"});
    let item = json!({"type": "reasoning", "id": "r", "summary": [], "content": [{"text": "hm"}]});
    check(
        "shown",
        vec![shown, done(0, &item)],
        r#"thought "hm" · usage -/-/-/-/- · Stop"#,
    );
}

#[test]
fn what_nobody_knows_is_passed_over() {
    let unknown = vec![
        json!({"type": "response.output_item.added", "item": {"type": "web_search_call", "arguments": 1}}),
        json!({"type": "response.new", "delta": {"x": 1}}),
        json!({}),
        text_delta(1, "hi"),
    ];
    check("unknown", unknown, r#"text "hi" · usage -/-/-/-/- · Stop"#);
}

#[test]
fn a_refusal_or_a_filter_is_no_plain_stop() {
    let delta = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I can't"});
    let refused = r#"text "I can't" · usage -/-/-/-/- · Refusal"#;
    check("delta", vec![delta], refused);
    let item = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I can't"}]});
    check("item", vec![done(0, &item)], refused);
    let filtered = json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}});
    check_in(
        DIALECT,
        "filter",
        Answer::events(&[
            text_delta(0, "par"),
            json!({"type": "response.incomplete", "response": filtered}),
        ]),
        r#"text "par" · usage -/-/-/-/- · ContentFilter"#,
    );
}

#[test]
fn arguments_that_lost_their_end_are_not_completed_by_guessing() {
    let item = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": ""});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let piece = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"p\":"});
    let end =
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}});
    for (said, arguments) in [(vec![added.clone(), piece], "{\"p\":"), (vec![added], "")] {
        check_in(
            DIALECT,
            "cut",
            Answer::events(&[said, vec![end.clone()]].concat()),
            &format!("call a read malformed {arguments} · usage -/-/-/-/- · Length"),
        );
    }
}

#[test]
fn an_error_in_a_stream_has_its_class_and_the_services_own_words() {
    let table = [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit reached"}),
            ErrorClass::RateLimit,
        ),
        (
            json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}}),
            ErrorClass::ContextOverflow,
        ),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "server_is_overloaded", "message": "busy"}}}),
            ErrorClass::Overloaded,
        ),
        (
            json!({"type": "response.failed", "response": {"status": "failed"}}),
            ErrorClass::Server,
        ),
        (json!({"error": {"message": "no key", "code": 401}}), ErrorClass::Auth),
    ];
    for (event, class) in table {
        let failure = ask_once_in(DIALECT, Answer::events(std::slice::from_ref(&event))).failure();
        assert_eq!(failure.class, class, "{event}");
        let words = event.pointer("/message").or(event.pointer("/error/message"));
        let words = words
            .or(event.pointer("/response/error/message"))
            .and_then(Value::as_str);
        assert!(
            failure.message.contains(words.unwrap_or("failed")),
            "{}",
            failure.message
        );
    }
}

#[test]
fn a_reply_of_endless_items_is_broken_off() {
    let call = |index: u64| {
        let item = json!({"type": "function_call", "call_id": format!("c{index}"), "name": "read"});
        json!({"type": "response.output_item.added", "output_index": index, "item": item})
    };
    for (event, words) in [
        (&call as &dyn Fn(u64) -> Value, "more than 128 calls"),
        (&|index| text_delta(index, "x"), "more than 1024 items"),
    ] {
        let failure = ask_once_in(DIALECT, Answer::events(&(0..5_000).map(event).collect::<Vec<_>>())).failure();
        assert_eq!(failure.class, ErrorClass::Protocol);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[test]
fn a_reply_that_is_no_stream_is_understood_or_refused() {
    let json = |body: Value| Answer::json(body.to_string());
    let call = json!({"type": "function_call", "id": "f", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"});
    let reply = json!({
        "status": "completed", "error": null, "output": [message("hi"), call], "usage": {"input_tokens": 1},
    });
    check_in(
        DIALECT,
        "whole",
        json(reply),
        r#"text "hi" · call a read {"p":1} · usage 1/-/-/-/- · ToolCalls"#,
    );
    check_in(
        DIALECT,
        "in progress",
        json(json!({"status": "in_progress", "output": []})),
        "error Network",
    );
    check_in(
        DIALECT,
        "failed",
        json(json!({"status": "failed", "output": [], "error": {"code": "server_error"}})),
        "error Server",
    );
    check_in(
        DIALECT,
        "error",
        json(json!({"error": {"message": "model 'm' not found"}})),
        "error ModelNotFound",
    );
    check_in(DIALECT, "no JSON", Answer::sse("data: {\n\n"), "error Protocol");
    check_in(DIALECT, "empty", Answer::sse("data: [DONE]\n\n"), "error Network");
}

#[test]
fn reasoning_and_calls_go_back_as_they_came() {
    // As no writer of JSON would put it, to see that nobody does.
    const REASONING: &str =
        r#"{ "encrypted_content":"ENC", "type":"reasoning","id":"rs1", "summary":[{"text":"h\u006d"}] }"#;
    let first = String::from_utf8(file("responses-01-encrypted-reasoning-two-calls.sse")).unwrap();
    let came =
        r#"{"type":"reasoning","id":"rs1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ENC"}"#;
    assert!(first.contains(came));
    let second = first.replace(came, REASONING);
    let mock = Mock::serve(vec![Answer::sse(first), Answer::sse(second), Answer::events(&[])]);
    let provider = open(Service {
        dialect: DIALECT,
        ..service(&mock)
    });
    let messages = converse(|messages| ask_with(&provider, messages));
    ask_with(&provider, &messages);
    let requests = mock.requests();
    let call = |id: &str, call_id: &str, p: u64| {
        let arguments = json!({ "p": p }).to_string();
        json!({"type": "function_call", "id": id, "call_id": call_id, "name": "read", "arguments": arguments})
    };
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": format!("result of {id}")});
    let expect = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        serde_json::from_str::<Value>(came).unwrap(),
        call("fc1", "a", 1),
        call("fc2", "b", 2),
        output("a"),
        output("b"),
    ]);
    assert_eq!(requests[1].body["input"], expect);
    let last = &requests[2].raw;
    assert!(requests[1].raw.contains(came) && last.contains(came) && last.contains(REASONING));
    let bodies: Vec<String> = requests.iter().map(|asked| asked.raw.clone()).collect();
    check_continued(&bodies, |body| body.strip_suffix("]}"));
}

#[test]
fn the_key_goes_out_in_its_header_and_the_models_are_listed() {
    let mock = Mock::serve(vec![
        Answer::answer(
            "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
            json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}).to_string(),
        ),
        Answer::json(json!({"object": "list", "data": [{"id": "m"}]}).to_string()),
    ])
    .with_list();
    let service = Service {
        dialect: DIALECT,
        ..service(&mock)
    };
    let failure = ask(&open(service.clone())).failure();
    assert_eq!(failure.class, ErrorClass::Auth);
    assert!(failure.message.contains("provided: ***;"), "{}", failure.message);
    let models = list_models(LIST_PATIENCE, &service, &handle());
    let listed = ListedModel {
        images: None,
        id: "m".into(),
        context_window: None,
        max_output: None,
    };
    assert_eq!(models, Ok(vec![listed]));
    let asked = mock.requests();
    let bearer = format!("Bearer {KEY}");
    for (asked, line) in asked.iter().zip(["POST /v1/responses", "GET /v1/models"]) {
        assert_eq!(asked.line, line);
        assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    }
}
