//! A call's arguments, from the JSON that a model wrote to a typed struct.

use agent_core::tool::ToolError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads the arguments of a tool. The error names the field and what was expected there.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, input: &Value) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(input).map_err(|error| {
        let field = error.path().to_string();
        let place = if field == "." {
            String::new()
        } else {
            format!(" at `{field}`")
        };
        ToolError::new(format!(
            "{tool}: wrong arguments{place}: {}; correct them and call again",
            error.inner()
        ))
    })
}

/// A whole number from 0, also one that was written as text (`"10"`) or with a point (`10.0`).
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let wrong = || serde::de::Error::custom(format!("expected a whole number from 0, found {value}"));
    number.map(Some).ok_or_else(wrong)
}

/// True or false, also written as text.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        other @ (Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Err(
            serde::de::Error::custom(format!("expected true or false, found {other}")),
        ),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked before the cast"
)]
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        path: String,
        #[serde(default, deserialize_with = "number")]
        limit: Option<u64>,
        #[serde(default, deserialize_with = "flag")]
        all: bool,
    }

    #[test]
    fn harmless_spellings_are_read() {
        let check = |input: Value, limit: Option<u64>, all: bool| {
            let path = "a".to_owned();
            assert_eq!(
                parse::<Arguments>("t", &input).unwrap(),
                Arguments { path, limit, all },
                "{input}"
            );
        };
        check(json!({"path": "a"}), None, false);
        check(json!({"path": "a", "limit": 3, "all": true}), Some(3), true);
        check(json!({"path": "a", "limit": "3", "all": "true"}), Some(3), true);
        check(json!({"path": "a", "limit": 3.0, "all": null}), Some(3), false);
        check(json!({"path": "a", "limit": null}), None, false);
    }

    #[test]
    fn an_error_names_the_field_and_what_was_expected() {
        let check = |input: Value, parts: &[&str]| {
            let message = parse::<Arguments>("t", &input).unwrap_err().message;
            assert!(parts.iter().all(|part| message.contains(part)), "{input}: {message}");
        };
        check(json!({}), &["missing field `path`"]);
        check(json!({"path": 3}), &["`path`", "expected a string"]);
        check(json!({"path": "a", "limit": -1}), &["`limit`", "whole number", "-1"]);
        check(
            json!({"path": "a", "limit": "x"}),
            &["`limit`", "whole number", "\"x\""],
        );
        check(json!({"file_path": "a"}), &["file_path", "expected one of `path`"]);
        check(json!([1]), &["wrong arguments"]);
        check(json!("text"), &["wrong arguments"]);
    }
}
