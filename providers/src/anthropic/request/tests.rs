#![allow(clippy::unwrap_used, reason = "tests")]

mod plan;
mod turns;

use agent_core::event::CallInput;
use agent_core::provider::{Message, ModelInfo, Native, Origin, Request, ToolSpec};
use serde_json::{Value, json};

use super::body;
use crate::testing::{self, assistant, read, result, user};

fn model() -> ModelInfo {
    named("m")
}

fn named(name: &str) -> ModelInfo {
    testing::model("anthropic", "https://api.anthropic.com/v1", name)
}

fn request<'a>(tools: &'a [ToolSpec], messages: &'a [Message]) -> Request<'a> {
    Request {
        system: "Be brief.",
        tools,
        messages,
        thinking: None,
        counted: None,
    }
}

fn write(request: &Request<'_>, model: &ModelInfo) -> Value {
    serde_json::from_str(&body(request, model)).unwrap()
}

/// The messages that a conversation becomes, without their breakpoints.
fn check(messages: &[Message], model: &ModelInfo, expect: &Value) {
    let mut body = write(&request(&[read()], messages), model);
    strip(&mut body);
    assert_eq!(body["messages"], *expect);
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(strip);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn calls(text: &str, ids: &[&str]) -> Message {
    let calls: Vec<_> = ids.iter().map(|id| (*id, CallInput::Json(json!({})))).collect();
    assistant(text, &calls, None)
}

fn done(id: &str) -> Message {
    result(id, "done", Vec::new(), false)
}

/// The message with what was kept of it.
fn with(message: Message, item: &Value, origin: Origin) -> Message {
    let Message::Assistant {
        text, thought, calls, ..
    } = message
    else {
        panic!("only a reply keeps something")
    };
    let item = item.to_string();
    Message::Assistant {
        text,
        thought,
        calls,
        native: Some(Native { origin, item }),
    }
}

fn thought(signature: &str) -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": signature})
}

fn kept(signature: &str) -> Value {
    json!({"thoughts": [{"block": thought(signature)}]})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

fn tool_result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [text("done")]})
}

#[test]
fn a_request_says_what_is_asked_and_no_more() {
    let ephemeral = json!({"type": "ephemeral"});
    let expect = json!({
        "model": "m",
        "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": ephemeral}],
        "tools": [{
            "name": "read", "description": "Reads.", "input_schema": {"type": "object"}, "cache_control": ephemeral,
        }],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": ephemeral}]}],
        "max_tokens": 8192,
    });
    let messages = [user("hi")];
    let tools = [read()];
    let whole = request(&tools, &messages);
    assert_eq!(
        body(&whole, &model()),
        expect.to_string(),
        "the order of fields counts too"
    );
    let bare = Request { system: " ", ..whole };
    let bare = write(
        &bare,
        &ModelInfo {
            tools: false,
            ..model()
        },
    );
    assert_eq!((bare.get("system"), bare.get("tools")), (None, None));
}

#[test]
fn breakpoints_stand_at_the_end_and_where_the_request_before_ended() {
    let messages = [
        user("one"),
        calls("", &["a", "b"]),
        done("a"),
        done("b"),
        calls("", &["c"]),
        done("c"),
    ];
    let tools = [read(), read()];
    let body = write(&request(&tools, &messages), &model());
    let mut marked = Vec::new();
    find_marks("", &body, &mut marked);
    let expect = [
        "/system/0",
        "/tools/1",
        "/messages/2/content/1",
        "/messages/4/content/0",
    ];
    assert_eq!(marked, expect);
}

fn find_marks(path: &str, value: &Value, found: &mut Vec<String>) {
    if value.get("cache_control").is_some() {
        found.push(path.to_owned());
    }
    for (field, value) in value.as_object().into_iter().flatten() {
        find_marks(&format!("{path}/{field}"), value, found);
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        find_marks(&format!("{path}/{index}"), value, found);
    }
}

#[test]
fn a_schema_that_the_service_would_refuse_is_made_fit() {
    let one = |schema: Value, expect: Value| {
        let tools = [ToolSpec { schema, ..read() }];
        let body = write(&request(&tools, &[user("hi")]), &model());
        assert_eq!(body["tools"][0]["input_schema"], expect);
    };
    let properties = json!({"p": {"anyOf": []}});
    one(
        json!({"type": "object", "properties": properties}),
        json!({"type": "object", "properties": properties}),
    );
    one(
        json!({"properties": properties, "anyOf": []}),
        json!({"type": "object", "properties": properties}),
    );
    one(json!({}), json!({"type": "object"}));
    one(Value::Null, json!({"type": "object"}));
}

#[test]
fn a_conversation_with_calls_names_its_tools_even_where_none_may_be_called() {
    let messages = [user("hi"), calls("", &["a", "b"]), done("a"), done("b")];
    let mut body = write(&request(&[], &messages), &model());
    strip(&mut body);
    assert_eq!(
        body["tools"],
        json!([{"name": "read", "input_schema": {"type": "object"}}])
    );
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    let given = write(&request(&[read()], &messages), &model());
    assert_eq!(given.get("tool_choice"), None);
}
