#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::event::CallInput;
use agent_core::provider::{Message, ModelInfo, Native, Request, ThoughtLevel};
use serde_json::{Value, json};

use super::body;
use crate::testing::{self, assistant, p, picture, read, result, user};

fn model(name: &str) -> ModelInfo {
    testing::model("openai-responses", "http://127.0.0.1/v1", name)
}

fn write(messages: &[Message], thinking: Option<ThoughtLevel>, model: &ModelInfo) -> String {
    let request = Request {
        system: "Be brief.",
        tools: &[read()],
        messages,
        thinking,
        counted: None,
    };
    body(&request, model)
}

/// The items that these messages become.
fn check(messages: &[Message], expect: &Value) {
    let body: Value = serde_json::from_str(&write(messages, None, &model("m"))).unwrap();
    assert_eq!(body["input"], *expect);
}

#[test]
fn a_request_says_what_is_asked_and_no_more() {
    let expect = json!({
        "model": "m",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [{
            "type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"},
            "strict": false,
        }],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    });
    let body = write(&[user("hi")], None, &model("m"));
    assert_eq!(body, expect.to_string(), "the order of fields counts too");
}

#[test]
fn how_much_to_think_and_to_say_is_told_last() {
    let limited = ModelInfo {
        max_output: Some(500),
        ..model("m")
    };
    for (level, effort) in [
        (ThoughtLevel::Off, "none"),
        (ThoughtLevel::Low, "low"),
        (ThoughtLevel::Medium, "medium"),
        (ThoughtLevel::High, "high"),
    ] {
        let body = write(&[user("hi")], Some(level), &limited);
        let end = format!(r#"}}]}}],"max_output_tokens":500,"reasoning":{{"effort":"{effort}","summary":"auto"}}}}"#);
        assert!(body.ends_with(&end), "{body}");
    }
}

#[test]
fn reasoning_is_asked_only_of_models_that_have_some() {
    let asks = |name: &str| write(&[], None, &model(name)).contains("include");
    for name in ["gpt-5", "o3", "gpt-oss-120b", "some/local-model"] {
        assert!(asks(name), "{name}");
    }
    for name in ["gpt-4o", "gpt-4.1-mini", "chatgpt-4o-latest", "gpt-5-chat-latest"] {
        assert!(!asks(name), "{name}");
    }
}

#[test]
fn a_conversation_is_a_list_of_items() {
    let cut = CallInput::Malformed("{\"p\":".into());
    check(
        &[
            assistant("", &[], None),
            assistant("hi", &[("a", p(1)), ("b", cut)], None),
            result("a", "", vec![picture("image/png", b"png")], false),
            result("a", "", vec![], false),
            user("go on"),
        ],
        &json!([
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "hi", "annotations": []},
            ]},
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"},
            {"type": "function_call", "call_id": "b", "name": "read",
                "arguments": "{\"malformed_arguments\":\"{\\\"p\\\":\"}"},
            {"type": "function_call_output", "call_id": "a", "output": "(no output)"},
            {"type": "function_call_output", "call_id": "a", "output": "(no output)"},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Picture from the tool read:"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,cG5n"},
            ]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
        ]),
    );
}

const KEPT: &str = r#"[{"reasoning":{"type":"reasoning","id":"r1"}},{"message":{"id":"m1","bytes":2}},
    {"reasoning":{"type":"reasoning","id":"r2"}},{"call":{"id":"f1","call_id":"a"}},
    {"reasoning":{"type":"reasoning","id":"r3"}},{"call":{"id":"f2","call_id":"b"}}]"#;

/// What the service of a model had to keep.
fn kept(model_name: &str, item: &str) -> Option<Native> {
    Some(Native {
        origin: model(model_name).origin,
        item: item.into(),
    })
}

/// The items by their ids, as far as they have one of the service.
fn ids(message: Message) -> Vec<String> {
    let body: Value = serde_json::from_str(&write(&[message], None, &model("m"))).unwrap();
    let items = body["input"].as_array().unwrap();
    let id = |item: &Value| item["id"].as_str().or(item["type"].as_str()).unwrap().to_owned();
    items.iter().map(id).collect()
}

#[test]
fn what_was_kept_goes_back_in_its_order_and_to_its_origin() {
    let both = [("a", p(1)), ("b", p(2))];
    assert_eq!(
        ids(assistant("hi", &both, kept("m", KEPT))),
        ["r1", "m1", "r2", "f1", "r3", "f2"]
    );
    assert_eq!(
        ids(assistant("hi", &both, kept("other", KEPT))),
        ["message", "function_call", "function_call"]
    );
}

#[test]
fn a_message_that_is_known_goes_back_with_what_it_was_for() {
    let item = r#"[{"message":{"id":"m1","phase":"commentary","bytes":2}},{"message":{"id":null,"bytes":1}}]"#;
    let text = |text: &str| json!([{"type": "output_text", "text": text, "annotations": []}]);
    check(
        &[assistant("hi!", &[], kept("m", item))],
        &json!([
            {"type": "message", "id": "m1", "status": "completed", "role": "assistant", "phase": "commentary",
                "content": text("hi")},
            {"type": "message", "role": "assistant", "content": text("!")},
        ]),
    );
}

#[test]
fn reasoning_goes_back_before_what_is_left_of_its_reply() {
    let first = [("a", p(1))];
    assert_eq!(
        ids(assistant("hi", &first, kept("m", KEPT))),
        ["r1", "m1", "r2", "f1"],
        "a call that never ran takes the reasoning before it along"
    );
    assert_eq!(
        ids(assistant("longer", &first, kept("m", KEPT))),
        ["r1", "r2", "r3", "message", "function_call"]
    );
    assert_eq!(ids(assistant("", &[], kept("m", KEPT))), Vec::<String>::new());
}
