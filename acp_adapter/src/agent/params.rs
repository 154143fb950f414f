//! Parameters as the schema's types. A refusal names the field and what was expected, and nothing that was sent.

use agent_client_protocol_schema::v1::Error;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::fault;

/// The longest id or path that is taken, in bytes.
pub(crate) const LONGEST_NAME: usize = 4096;
/// Ids that an answer may repeat, and so may not be of any length: an answer to the largest line must have room.
const REPEATED: [&str; 4] = ["sessionId", "modeId", "modelId", "value"];

/// Reads the parameters of a method. Missing ones count as none given.
pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    let params = object(params)?;
    let is_long = |name: &str| {
        params
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|id| id.len() > LONGEST_NAME)
    };
    if let Some(name) = REPEATED.into_iter().find(|name| is_long(name)) {
        return Err(fault::invalid_field(name, "is too long"));
    }
    serde_path_to_error::deserialize(Value::Object(params)).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner().to_string();
        refusal(&path, &inner)
    })
}

/// The parameters as an object.
pub(crate) fn object(params: Value) -> Result<Map<String, Value>, Error> {
    match params {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(fault::invalid_field("params", "expected an object"))
        }
    }
}

/// Takes from a parser's message only what it says about the type: the rest of it quotes the input.
fn refusal(path: &str, message: &str) -> Error {
    if let Some(rest) = message.strip_prefix("missing field `") {
        let name = rest.split('`').next().unwrap_or_default();
        let field = if path == "." {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        return fault::invalid_field(&field, "is missing");
    }
    let field = if path == "." { "params" } else { path };
    let typed = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown variant ",
    ];
    let expected = typed
        .iter()
        .any(|prefix| message.starts_with(prefix))
        .then(|| message.rsplit_once(", expected "))
        .flatten();
    match expected {
        Some((_, kind)) => fault::invalid_field(field, &format!("expected {kind}")),
        None => fault::invalid_field(field, "is not of a shape that this method takes"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use agent_client_protocol_schema::v1::{NewSessionRequest, PromptRequest};
    use serde_json::json;

    #[track_caller]
    fn check<T: DeserializeOwned + std::fmt::Debug>(params: Value, message: &str, field: &str) {
        let error = serde_json::to_value(read::<T>(params).unwrap_err()).unwrap();
        let expect = json!({ "code": -32602, "message": message, "data": { "field": field } });
        assert_eq!(error, expect);
    }

    #[test]
    fn the_field_is_named_and_the_content_is_not() {
        check::<NewSessionRequest>(Value::Null, "`cwd`: is missing", "cwd");
        check::<NewSessionRequest>(json!("SECRET"), "`params`: expected an object", "params");
        check::<NewSessionRequest>(json!({ "cwd": 5 }), "`cwd`: expected path string", "cwd");
        check::<NewSessionRequest>(
            json!({ "cwd": "/", "mcpServers": [{ "name": "SECRET, expected SECRET" }] }),
            "`mcpServers[0]`: is not of a shape that this method takes",
            "mcpServers[0]",
        );
        check::<PromptRequest>(json!({ "sessionId": "s" }), "`prompt`: is missing", "prompt");
        check::<PromptRequest>(
            json!({ "sessionId": "s", "prompt": "SECRET, expected SECRET" }),
            "`prompt`: expected a sequence",
            "prompt",
        );
        check::<PromptRequest>(
            json!({ "sessionId": "s", "prompt": [{ "type": "SECRET" }] }),
            "`prompt[0].type`: expected one of `text`, `image`, `audio`, `resource_link`, `resource`",
            "prompt[0].type",
        );
        check::<PromptRequest>(
            json!({ "sessionId": "s", "prompt": [{ "type": "text" }] }),
            "`prompt[0].text`: is missing",
            "prompt[0].text",
        );
    }
}
