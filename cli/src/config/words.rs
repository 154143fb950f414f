//! What the reader of TOML says of a wrong line, in our words.

use agent_core::nearest::nearest;

use super::OF_KEYS;

/// Turns serde's words into ours; `key` is where it stood. Words that are none of those below stay.
pub(super) fn explain(message: &str, key: &str) -> String {
    if let Some(fields) = message.strip_prefix("unknown field ") {
        return unknown_key(fields, key);
    }
    let what = variant(message).or_else(|| shape(message)).or_else(|| missing(message));
    let what = what.unwrap_or_else(|| message.to_owned());
    match key {
        "" | "." => what,
        key => format!("`{key}`: {what}"),
    }
}

/// "`a`, expected one of `b`, `c`".
fn unknown_key(fields: &str, key: &str) -> String {
    let mut quoted = quoted(fields);
    let unknown = quoted.next().unwrap_or_default();
    let table = key.strip_suffix(unknown).unwrap_or(key).trim_end_matches('.');
    let place = match table {
        "" | "?" => String::new(),
        table => format!(" in [{table}]"),
    };
    if ["api_key", "apikey", "api-key", "key", "token", "secret"].contains(&unknown.to_lowercase().as_str()) {
        return format!("unknown key `{unknown}`{place}: {OF_KEYS}");
    }
    let known: Vec<&str> = quoted.collect();
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("unknown key `{unknown}`{place}: did you mean `{near}`?"),
        None => format!("unknown key `{unknown}`{place}; known are {}", known.join(", ")),
    }
}

/// "unknown variant `a`, expected one of `b`, `c`".
fn variant(message: &str) -> Option<String> {
    let mut quoted = quoted(message.strip_prefix("unknown variant ")?);
    let wrong = quoted.next()?;
    Some(format!(
        "`{wrong}` is none of {}",
        quoted.collect::<Vec<_>>().join(", ")
    ))
}

/// "invalid type: integer `5`, expected a string".
fn shape(message: &str) -> Option<String> {
    let said = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = said.split_once(", expected ")?;
    let found = match found.split_once(' ') {
        Some(("integer", number)) => format!("the number {number}"),
        Some(("boolean", value)) => value.to_owned(),
        // It is not shown, as it may be a key.
        Some(("string", _)) => "a text".to_owned(),
        Some(("floating", number)) => number.replacen("point", "the number", 1),
        Some(_) | None => match found {
            "map" => "a table".to_owned(),
            "sequence" => "a list".to_owned(),
            other => other.to_owned(),
        },
    };
    let expected = match expected {
        "a string" => "a text in quotes",
        "u64" | "u32" => "a whole number from 0 up",
        "f64" => "a number",
        "a sequence" => "a list in brackets",
        "a boolean" => "true or false",
        "struct ModelConfig" => "a table, such as { id = \"qwen3\" }",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    Some(format!("is {found}, and should be {expected}"))
}

/// "missing field `a`".
fn missing(message: &str) -> Option<String> {
    let field = quoted(message.strip_prefix("missing field ")?).next()?;
    Some(format!("`{field}` is missing"))
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
