//! What leaves the store: without what looks like a key, where it is to be masked, and without what stays in the store.

use serde_json::{Map, Value};

use super::Keys;
use crate::search::masked;

/// What stands for a key.
const MASK: &str = "***";

/// Makes a value fit to leave the store.
pub(super) fn put_in(value: &mut Value, keys: Keys) {
    match value {
        Value::Object(fields) => put_in_fields(fields, keys),
        Value::Array(items) => items.iter_mut().for_each(|item| put_in(item, keys)),
        Value::String(text) => mask(text, None, keys),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn put_in_fields(fields: &mut Map<String, Value>, keys: Keys) {
    let is_picture = fields.get("type").is_some_and(|kind| kind == "image");
    // A part that a service has signed is whole or worth nothing.
    if keys == Keys::Masked
        && let Some(native) = fields.get("native")
        && has_keys(native)
    {
        fields.shift_remove("native");
    }
    for (name, value) in fields.iter_mut() {
        match value {
            // A picture that was missing in the store is an empty one elsewhere.
            Value::String(text) if is_picture && name == "data" => {
                if text.starts_with("sha256:") {
                    text.clear();
                }
            }
            Value::String(text) => mask(text, Some(name), keys),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => put_in(value, keys),
        }
    }
}

fn mask(text: &mut String, name: Option<&str>, keys: Keys) {
    if keys == Keys::Exact {
        return;
    }
    let shown = masked(text).into_owned();
    if shown != *text {
        *text = shown;
    } else if let Some(name) = name {
        let named = format!("{name}={text}");
        if *masked(&named) != named {
            *text = MASK.to_owned();
        }
    }
}

fn has_keys(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_keys),
        Value::Array(items) => items.iter().any(has_keys),
        Value::String(text) => *masked(text) != **text,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
