//! What of a reply must go back to its service unchanged: reasoning with its signatures. Everyone else keeps it as an
//! opaque [`Native`]; this module alone knows what is inside.

use std::collections::BTreeMap;

use agent_core::provider::{Native, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::native::{opened, sealed};

use super::chunk::Piece;

/// Fields of an assistant's message and of its calls, beside those that every service has.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Fields of the message.
    #[serde(default)]
    pub message: Map<String, Value>,
    /// `extra_content` of its calls, by the call's id.
    #[serde(default)]
    pub calls: BTreeMap<String, Value>,
}

impl Kept {
    /// What was kept of a reply, if it came from here.
    pub(crate) fn of(native: Option<&Native>, origin: &Origin) -> Self {
        opened(native, origin)
    }

    /// The opaque form; none if there is nothing to keep.
    pub(crate) fn into_native(self, origin: &Origin) -> Option<Native> {
        if self == Self::default() {
            return None;
        }
        Some(sealed(&self, origin))
    }

    /// Adds what a piece of a reply has to keep.
    pub(crate) fn add(&mut self, piece: &Piece) {
        self.append("reasoning_content", piece.reasoning_content.as_deref());
        self.append("reasoning", piece.reasoning.as_deref());
        for detail in piece.reasoning_details.iter().flatten() {
            self.add_detail(detail);
        }
    }

    fn append(&mut self, field: &str, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        match self.message.entry(field).or_insert_with(|| String::new().into()) {
            Value::String(whole) => whole.push_str(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }

    fn add_detail(&mut self, detail: &Value) {
        let details = self
            .message
            .entry("reasoning_details")
            .or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(details) = details else { return };
        match details.last_mut().filter(|last| continues(last, detail)) {
            Some(last) => join(last, detail),
            None => details.push(detail.clone()),
        }
    }
}

/// Whether a reasoning item is the next piece of the one before. Encrypted items are always whole.
fn continues(last: &Value, next: &Value) -> bool {
    let kind = next["type"].as_str().unwrap_or_default();
    matches!(kind, "reasoning.text" | "reasoning.summary") && last["type"] == kind && last["index"] == next["index"]
}

/// Adds a piece to its item: texts grow, other fields are filled in where they were missing.
fn join(last: &mut Value, next: &Value) {
    for (field, value) in next.as_object().into_iter().flatten() {
        let old = &mut last[field];
        match (&mut *old, value) {
            (Value::String(text), Value::String(more)) if matches!(field.as_str(), "text" | "summary") => {
                text.push_str(more);
            }
            (old, value) if old.is_null() => *old = value.clone(),
            (_, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn origin(model: &str) -> Origin {
        Origin {
            api: "openai-chat".into(),
            base_url: "http://127.0.0.1/v1".into(),
            model: model.into(),
        }
    }

    fn keep(pieces: Value) -> Kept {
        let mut kept = Kept::default();
        for piece in serde_json::from_value::<Vec<Piece>>(pieces).unwrap() {
            kept.add(&piece);
        }
        kept
    }

    #[test]
    fn pieces_of_an_item_are_joined_and_its_late_signature_is_filled_in() {
        let kept = keep(json!([
            {"reasoning_details": [{"type": "reasoning.text", "text": "a", "signature": null, "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.text", "signature": "SIG", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "index": 0}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "F", "index": 0}]},
        ]));
        let expect = json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "ab", "signature": "SIG", "index": 0},
            {"type": "reasoning.encrypted", "data": "E", "index": 0},
            {"type": "reasoning.encrypted", "data": "F", "index": 0},
        ]});
        assert_eq!(Value::Object(kept.message), expect);
    }

    #[test]
    fn what_was_kept_goes_back_to_its_origin_only() {
        let native = keep(json!([{"reasoning_content": "R"}])).into_native(&origin("m"));
        let back = |model: &str| Kept::of(native.as_ref(), &origin(model)).message;
        assert_eq!(Value::Object(back("m")), json!({"reasoning_content": "R"}));
        assert_eq!(Value::Object(back("other")), json!({}));
    }

    #[test]
    fn nothing_to_keep_is_nothing() {
        assert_eq!(keep(json!([{"content": "hi"}])).into_native(&origin("m")), None);
    }
}
