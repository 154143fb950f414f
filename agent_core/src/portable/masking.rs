//! What leaves the store: without what looks like a key, where it is to be masked, and without what stays in the store.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Keys;
use crate::search::{is_secret, masked, masked_ends};

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
    if keys == Keys::Masked {
        mask_names(fields);
        mask_ends(fields);
    }
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
    if name.is_some_and(|name| is_secret(name, text)) {
        *text = MASK.to_owned();
    } else if let Cow::Owned(shown) = masked(text) {
        *text = shown;
    }
}

/// A name that a model has given can have the shape of a key too.
fn mask_names(fields: &mut Map<String, Value>) {
    if fields.keys().any(|name| *masked(name) != **name) {
        let named = std::mem::take(fields).into_iter();
        *fields = named.map(|(name, value)| (masked(&name).into_owned(), value)).collect();
    }
}

/// Both ends of what a command printed, of which a key may be in both.
fn mask_ends(fields: &mut Map<String, Value>) {
    let (Some(Value::String(head)), Some(Value::String(tail))) = (fields.get("head"), fields.get("tail")) else {
        return;
    };
    let is_whole = fields.get("left_out").and_then(Value::as_u64) == Some(0);
    let (head, tail) = masked_ends(head, tail, is_whole);
    fields["head"] = head.into();
    fields["tail"] = tail.into();
}

fn has_keys(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let is_named = value.as_str().is_some_and(|text| is_secret(name, text));
            is_named || *masked(name) != **name || has_keys(value)
        }),
        Value::Array(items) => items.iter().any(has_keys),
        Value::String(text) => *masked(text) != **text,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
