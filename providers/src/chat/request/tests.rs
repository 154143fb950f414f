#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::content::Content;
use agent_core::event::CallInput;
use agent_core::provider::{Message, ModelInfo, Request};
use serde_json::{Value, json};

use super::body;
use crate::testing::{self, assistant, picture, read, result, user};

/// A model that sees no pictures.
fn model() -> ModelInfo {
    ModelInfo {
        images: false,
        ..testing::model("openai-chat", "http://127.0.0.1/v1", "m")
    }
}

fn write(system: &str, messages: &[Message], model: &ModelInfo, host: &str) -> Value {
    let request = Request {
        system,
        tools: &[read()],
        messages,
        thinking: None,
        counted: None,
    };
    serde_json::from_str(&body(&request, model, host)).unwrap()
}

/// One message, or what it becomes where it needs more than one.
fn check(message: Message, sees: bool, expect: &Value) {
    let model = ModelInfo {
        images: sees,
        ..model()
    };
    assert_eq!(write("", &[message], &model, "")["messages"], *expect);
}

#[test]
fn a_request_says_what_is_asked_and_no_more() {
    let hi = user("hi");
    let expect = json!({
        "model": "m",
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "read", "description": "Reads.", "parameters": {"type": "object"},
        }}],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    });
    let whole = write("Be brief.", std::slice::from_ref(&hi), &model(), "");
    assert_eq!(whole.to_string(), expect.to_string(), "the order of fields counts too");
    let without_tools = ModelInfo {
        tools: false,
        ..model()
    };
    assert_eq!(write("", &[hi], &without_tools, "").get("tools"), None);
}

#[test]
fn a_message_of_many_pieces_is_one_text() {
    let link = Content::Link {
        uri: "file:///a.rs#L1".into(),
        name: "@a.rs".into(),
    };
    let resource = Content::Resource {
        uri: "file:///b.rs".into(),
        mime_type: None,
        text: "fn b() {}".into(),
    };
    let pieces = vec![
        Content::text("Compare "),
        link,
        Content::text(" with"),
        resource,
        Content::text("Go."),
    ];
    let text = "Compare [@a.rs](file:///a.rs#L1) with\n<resource uri=\"file:///b.rs\">\nfn b() {}\n</resource>\nGo.";
    check(Message::User(pieces), true, &json!([{"role": "user", "content": text}]));
    let lines = vec![Content::text("one"), Content::text("two")];
    check(
        Message::User(lines),
        true,
        &json!([{"role": "user", "content": "one\ntwo"}]),
    );
    check(
        user(" "),
        true,
        &json!([{"role": "user", "content": "(an empty message)"}]),
    );
}

#[test]
fn pictures_go_to_a_model_that_sees_and_are_named_to_one_that_does_not() {
    let message = || {
        Message::User(vec![
            Content::text("see"),
            picture("image/png", b"png"),
            Content::text("?"),
        ])
    };
    let parts = json!([
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        {"type": "text", "text": "?"},
    ]);
    check(message(), true, &json!([{"role": "user", "content": parts}]));
    let note = "see\n(a picture, image/png: not shown)\n?";
    check(message(), false, &json!([{"role": "user", "content": note}]));
    let lost = Message::User(vec![picture("image/png", b"")]);
    check(
        lost,
        true,
        &json!([{"role": "user", "content": "(a picture, image/png: not shown)\n"}]),
    );
}

#[test]
fn pictures_of_results_follow_the_last_result() {
    let sees = ModelInfo {
        images: true,
        ..model()
    };
    let messages = [
        result("a", "one", vec![picture("image/png", b"png")], false),
        result("a", "", vec![], false),
        assistant("done", &[], None),
    ];
    let roles = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect()
    };
    let body = write("", &messages, &sees, "");
    assert_eq!(roles(&body), ["tool", "tool", "user", "assistant"]);
    assert_eq!(body["messages"][1]["content"], "(no output)");
    assert_eq!(body["messages"][2]["content"][0]["text"], "Picture from the tool read:");
    assert_eq!(roles(&write("", &messages[..1], &sees, "")), ["tool", "user"]);
}

#[test]
fn a_reply_goes_back_in_a_form_that_every_server_parses() {
    let call = |arguments: &str| {
        let function = json!({"name": "read", "arguments": arguments});
        json!([{"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": function},
        ]}])
    };
    check(
        assistant("", &[("a", CallInput::Json(json!({"b": 1, "a": 2})))], None),
        false,
        &call(r#"{"b":1,"a":2}"#),
    );
    let cut = CallInput::Malformed("{\"p\":".into());
    check(
        assistant("", &[("a", cut)], None),
        false,
        &call(r#"{"malformed_arguments":"{\"p\":"}"#),
    );
    check(
        assistant("hi", &[], None),
        false,
        &json!([{"role": "assistant", "content": "hi"}]),
    );
    check(assistant("", &[], None), false, &json!([]));
}

#[test]
fn the_reply_never_asks_for_more_room_than_is_left() {
    let limit = |window, most, host: &str, letters: usize| {
        let model = ModelInfo {
            context_window: window,
            max_output: most,
            ..model()
        };
        let body = write("", &[user(&"x".repeat(letters))], &model, host);
        (body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64())
    };
    assert_eq!(limit(None, None, "", 0), (None, None));
    assert_eq!(limit(Some(1000), None, "", 0), (None, None));
    assert_eq!(limit(None, Some(500), "", 0), (Some(500), None));
    assert_eq!(limit(None, Some(500), "api.openai.com", 0), (None, Some(500)));
    assert_eq!(limit(Some(10_000), Some(500), "", 3000), (Some(500), None));
    let (Some(room), None) = limit(Some(10_000), Some(10_000), "", 3000) else {
        panic!("a limit in the older field")
    };
    assert!((8_500..9_000).contains(&room), "{room}");
    assert_eq!(
        limit(Some(1000), Some(500), "", 3000),
        (Some(250), None),
        "a few words are no reply"
    );
}

#[test]
fn a_cache_is_asked_for_where_it_is_not_made_unasked() {
    let cache = |name: &str, host: &str| {
        let mut model = model();
        model.origin.model = name.into();
        write("", &[], &model, host)["cache_control"].clone()
    };
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(cache("anthropic/claude-sonnet-4.5", "openrouter.ai"), ephemeral);
    assert_eq!(cache("openai/gpt-5", "openrouter.ai"), Value::Null);
    assert_eq!(cache("claude-sonnet-4.5", "gateway.example.com"), Value::Null);
}
