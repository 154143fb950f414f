//! What a server says of a tool's arguments, as a model may be told.

use agent_core::visible;
use rmcp::model::Tool;
use serde_json::{Value, json};

/// What is written for people and models, and changes no call.
const WORDS: [&str; 3] = ["description", "title", "$comment"];

/// The schema with nothing in its words that people would not see. An error says why it is no use: a service would refuse
/// each request of the session that has it, or something is hidden where it can't be shown without changing the call.
pub(super) fn of(tool: &Tool) -> Result<Value, &'static str> {
    let mut schema = tool.input_schema.as_ref().clone();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    if schema["type"] != "object" || !schema["properties"].is_object() {
        return Err("Its arguments are said to be no object.");
    }
    let is_list = |required: &Value| {
        required
            .as_array()
            .is_some_and(|names| names.iter().all(Value::is_string))
    };
    if !schema.get("required").is_none_or(is_list) {
        return Err("What it says to be required is no list of names.");
    }
    let mut schema = Value::Object(schema);
    if hides(&mut schema) {
        return Err("A name or a value of its arguments hides characters.");
    }
    Ok(schema)
}

/// Shows what the words hide; whether anything else does. The depth is bounded by that of a message.
fn hides(value: &mut Value) -> bool {
    match value {
        Value::Object(map) => map.iter_mut().any(|(name, value)| match value {
            Value::String(words) if WORDS.contains(&name.as_str()) => {
                *words = visible::text(words).into_owned();
                false
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                name.contains(hidden) || hides(value)
            }
        }),
        Value::Array(values) => values.iter_mut().any(hides),
        Value::String(text) => text.contains(hidden),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn hidden(c: char) -> bool {
    visible::hides(c) && !matches!(c, '\n' | '\r' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(schema: Value) -> Result<Value, &'static str> {
        let Value::Object(schema) = schema else {
            panic!("a schema is an object")
        };
        of(&Tool::new("t", "", schema))
    }

    #[test]
    fn a_schema_says_that_it_is_an_object() {
        assert_eq!(told(json!({})), Ok(json!({"type": "object", "properties": {}})));
        for odd in [
            json!({"type": "string"}),
            json!({"properties": [1, 2]}),
            json!({"required": "x"}),
            json!({"required": [1]}),
        ] {
            assert!(told(odd.clone()).is_err(), "{odd}");
        }
    }

    #[test]
    fn nothing_is_hidden_in_it_from_people_and_told_to_models() {
        let named = json!({"properties": {"a": {"type": "string", "description": "b\u{202e}c"}}});
        let shown = told(named).map(|schema| schema["properties"]["a"]["description"].clone());
        assert_eq!(shown, Ok(json!("b\\u{202e}c")));
        for hidden in [
            json!({"properties": {"a\u{200b}": {}}}),
            json!({"properties": {"a": {"enum": ["b\u{e0041}"]}}}),
            json!({"properties": {"a": {"default": "\u{1b}[8m"}}}),
        ] {
            assert!(told(hidden.clone()).is_err(), "{hidden}");
        }
        let plain = json!({"properties": {"ä": {"enum": ["é", "日本"], "default": "a\n\tb\r\n"}}});
        assert!(told(plain).is_ok());
    }
}
