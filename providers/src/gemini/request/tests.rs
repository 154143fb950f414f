#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::event::CallInput;
use agent_core::provider::{Message, ModelInfo, Native, Request, ThoughtLevel, ToolSpec};
use serde_json::{Value, json};

use super::body;
use crate::testing::{self, assistant, p, picture, read, result, user};

fn model(name: &str) -> ModelInfo {
    testing::model("gemini", "http://127.0.0.1/v1beta", name)
}

fn write(messages: &[Message], thinking: Option<ThoughtLevel>, model: &ModelInfo) -> String {
    let tools = [ToolSpec {
        schema: json!({"type": "object", "additionalProperties": false}),
        ..read()
    }];
    let request = Request {
        system: "Be brief.",
        tools: &tools,
        messages,
        thinking,
        counted: None,
    };
    body(&request, model)
}

/// The contents that these messages become for a model of this name.
fn check(name: &str, messages: &[Message], expect: &Value) {
    let body: Value = serde_json::from_str(&write(messages, None, &model(name))).unwrap();
    assert_eq!(body["contents"], *expect);
}

#[test]
fn a_request_says_what_is_asked_and_no_more() {
    let expect = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{
            "name": "read", "description": "Reads.",
            "parametersJsonSchema": {"type": "object", "additionalProperties": false},
        }]}],
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    });
    let body = write(&[user("hi")], None, &model("m"));
    assert_eq!(body, expect.to_string(), "the order of fields counts too");
    let bare = Request {
        system: "",
        tools: &[],
        messages: &[user("hi")],
        thinking: None,
        counted: None,
    };
    let expect = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    assert_eq!(super::body(&bare, &model("m")), expect.to_string());
}

#[test]
fn how_much_to_think_is_told_in_the_words_of_the_models_generation() {
    use ThoughtLevel::{High, Low, Medium, Off};
    let budget = |tokens: u64| json!({"includeThoughts": tokens > 0, "thinkingBudget": tokens});
    let word = |word: &str| json!({"includeThoughts": true, "thinkingLevel": word});
    for (name, level, expect) in [
        ("gemini-2.5-flash", Off, budget(0)),
        ("gemini-2.5-pro", Off, budget(128)),
        ("models/gemini-2.5-flash", Low, budget(1024)),
        ("gemini-2.5-pro", Medium, budget(8192)),
        ("gemini-flash-latest", High, budget(24_576)),
        ("gemini-3-pro-preview", Off, word("low")),
        ("models/gemini-3-flash-preview", Low, word("low")),
        ("gemini-3.1-pro", Medium, word("medium")),
        ("gemini-10-flash", High, word("high")),
    ] {
        let limited = ModelInfo {
            max_output: Some(500),
            ..model(name)
        };
        let body: Value = serde_json::from_str(&write(&[], Some(level), &limited)).unwrap();
        let config = json!({"maxOutputTokens": 500, "thinkingConfig": expect});
        assert_eq!(body["generationConfig"], config, "{name} {level:?}");
    }
}

#[test]
fn user_model_and_tools_take_turns() {
    let cut = CallInput::Malformed("{\"p\":".into());
    check(
        "gemini-2.5-pro",
        &[
            user("go"),
            assistant("", &[], None),
            user("now"),
            assistant(
                "hi",
                &[("a", p(1)), ("b", cut), ("c", CallInput::Json(json!([1])))],
                None,
            ),
            result("a", "", vec![picture("image/png", b"png")], false),
            result("b", "no JSON", vec![], true),
            result("c", "one", vec![], false),
            assistant("done", &[], None),
        ],
        &json!([
            {"role": "user", "parts": [{"text": "go"}, {"text": "now"}]},
            {"role": "model", "parts": [
                {"text": "hi"},
                {"functionCall": {"name": "read", "args": {"p": 1}}},
                {"functionCall": {"name": "read", "args": {"malformed_arguments": "{\"p\":"}}},
                {"functionCall": {"name": "read", "args": {"malformed_arguments": [1]}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "(no output)"}}},
                {"functionResponse": {"name": "read", "response": {"error": "no JSON"}}},
                {"functionResponse": {"name": "read", "response": {"output": "one"}}},
            ]},
            {"role": "user", "parts": [
                {"text": "Picture from the tool read:"},
                {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
            ]},
            {"role": "model", "parts": [{"text": "done"}]},
        ]),
    );
}

/// A signed thought, a text in two parts and two calls.
fn kept() -> Native {
    let item = json!([
        {"thought": {"text": "hm", "signature": "T"}},
        {"text": {"bytes": 2}},
        {"text": {"bytes": 1, "signature": "U"}},
        {"call": {"call": "a", "id": "one", "signature": "S"}},
        {"call": {"call": "b"}},
    ]);
    Native {
        origin: model("m").origin,
        item: item.to_string(),
    }
}

#[test]
fn signatures_and_ids_go_back_each_with_its_part() {
    check(
        "m",
        &[
            user("go"),
            assistant("hi!", &[("a", p(1)), ("b", p(2))], Some(kept())),
            result("a", "1", vec![], false),
            result("b", "2", vec![], false),
        ],
        &json!([
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true, "thoughtSignature": "T"},
                {"text": "hi"},
                {"text": "!", "thoughtSignature": "U"},
                {"functionCall": {"id": "one", "name": "read", "args": {"p": 1}}, "thoughtSignature": "S"},
                {"functionCall": {"name": "read", "args": {"p": 2}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "one", "name": "read", "response": {"output": "1"}}},
                {"functionResponse": {"name": "read", "response": {"output": "2"}}},
            ]},
        ]),
    );
}

#[test]
fn a_reply_that_was_changed_since_keeps_the_signatures_that_fit() {
    check(
        "m",
        &[assistant("longer", &[("a", p(1))], Some(kept()))],
        &json!([{"role": "model", "parts": [
            {"text": "longer"},
            {"text": "hm", "thought": true, "thoughtSignature": "T"},
            {"functionCall": {"id": "one", "name": "read", "args": {"p": 1}}, "thoughtSignature": "S"},
        ]}]),
    );
    check("m", &[assistant("", &[], Some(kept()))], &json!([]));
}

#[test]
fn nothing_of_one_origin_goes_to_another() {
    let message = assistant("hi!", &[("a", p(1)), ("b", p(2))], Some(kept()));
    let call = |p: u64| json!({"functionCall": {"name": "read", "args": {"p": p}}});
    let mut parts = vec![json!({"text": "hi!"}), call(1), call(2)];
    let reply = |parts: &[Value]| json!([{"role": "model", "parts": parts}]);
    check("gemini-2.5-pro", std::slice::from_ref(&message), &reply(&parts));
    parts[1]["thoughtSignature"] = "skip_thought_signature_validator".into();
    check("gemini-3-pro-preview", &[message], &reply(&parts));
}
