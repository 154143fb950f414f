//! Hashes that tell servers and their tools from any others: what a standing permission is bound to.

use std::fmt::Write;
use std::path::Path;

use agent_core::server::Transport;
use rmcp::model::Tool;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What tells a server from any other: what is started and where, or what is asked. Not its name, which says nothing. The
/// folder counts, since the same words may start another program elsewhere; the values of headers do not, since they
/// are keys that change.
pub(super) fn of_server(transport: &Transport, cwd: &Path) -> String {
    let facts = match transport {
        Transport::Stdio { command, args, env, .. } => {
            json!(["stdio", cwd.to_string_lossy(), command.to_string_lossy(), args, env])
        }
        Transport::Http { url, headers } => {
            let names: Vec<String> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
            json!(["http", url, names])
        }
        Transport::Unserved { .. } => json!(["unserved"]),
    };
    of_text(&facts.to_string())
}

/// What a server says of a tool: all that a user or a model may have gone by.
pub(super) fn of_tool(tool: &Tool) -> String {
    let facts = serde_json::to_value((
        &tool.name,
        &tool.title,
        &tool.description,
        &tool.input_schema,
        &tool.annotations,
    ));
    of_text(&sorted(facts.unwrap_or_default()).to_string())
}

/// The SHA-256 of a text, in hexadecimal.
pub(super) fn of_text(text: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text) {
        write!(hex, "{byte:02x}").expect("writing to a string can't fail");
    }
    hex
}

/// The same value with its keys in order: a server may list them in another one each time.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn tool(description: &str, schema: &str) -> String {
        let text = format!(r#"{{"name": "t", "description": "{description}", "inputSchema": {schema}}}"#);
        of_tool(&serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_tool_is_another_one_when_it_says_something_else() {
        let same = tool("d", r#"{"type": "object", "properties": {}}"#);
        assert_eq!(same, tool("d", r#"{"properties": {}, "type": "object"}"#));
        assert_ne!(same, tool("D", r#"{"type": "object", "properties": {}}"#));
        assert_ne!(same, tool("d", r#"{"type": "object"}"#));
    }

    #[test]
    fn a_server_is_another_one_when_another_program_may_run() {
        let stdio = |arg: &str, cwd: &str| {
            let transport = Transport::Stdio {
                command: "node".into(),
                args: vec![arg.into()],
                env: [("A".to_owned(), arg.to_owned())].into(),
                cwd: None,
            };
            of_server(&transport, cwd.as_ref())
        };
        assert_eq!(stdio("a", "/w"), stdio("a", "/w"));
        assert_ne!(stdio("a", "/w"), stdio("b", "/w"));
        assert_ne!(stdio("a", "/w"), stdio("a", "/x"));
    }

    #[test]
    fn a_key_that_changes_makes_no_other_server() {
        let http = |key: &str, cwd: &str| {
            let transport = Transport::Http {
                url: "https://h".into(),
                headers: vec![("Authorization".into(), key.into())],
            };
            of_server(&transport, cwd.as_ref())
        };
        assert_eq!(http("a", "/w"), http("b", "/x"));
    }
}
