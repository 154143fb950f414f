//! What a dialect keeps of a reply, to its opaque form and back, and how much that may be. What is inside, only the
//! dialect knows.

use agent_core::provider::{Native, Origin};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What was kept of a reply, if it came from here.
pub(crate) fn opened<T: DeserializeOwned + Default>(native: Option<&Native>, origin: &Origin) -> T {
    native
        .filter(|native| native.origin == *origin)
        .and_then(|native| serde_json::from_str(&native.item).ok())
        .unwrap_or_default()
}

/// The opaque form.
pub(crate) fn sealed<T: Serialize>(kept: &T, origin: &Origin) -> Native {
    Native {
        origin: origin.clone(),
        item: serde_json::to_string(kept).expect("texts, numbers, JSON and maps with text keys are JSON"),
    }
}

/// The most that is kept of one reply, in bytes: far more than a model thinks.
const MOST: usize = 4 * 1024 * 1024;

/// What may still be kept of a reply. One that goes back in part may be refused, and with it the whole conversation, so
/// beyond the limit nothing of it is kept at all; the reply goes back as one of another service does.
pub(crate) struct Allowance {
    /// None once it was not enough.
    left: Option<usize>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: Some(MOST) }
    }
}

impl Allowance {
    /// Whether so many bytes more may be kept.
    pub(crate) fn covers(&mut self, bytes: usize) -> bool {
        let Some(left) = self.left else { return false };
        self.left = left.checked_sub(bytes);
        if self.left.is_none() {
            tracing::warn!(
                most_bytes = MOST,
                "a reply holds too much that would go back unchanged, and goes back without"
            );
        }
        self.left.is_some()
    }

    /// Whether it was not enough.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.is_none()
    }
}

/// Roughly the bytes that something takes while it is kept.
pub(crate) const FLAT: usize = 128;

/// The same for a value and all that it holds.
pub(crate) fn weight(value: &Value) -> usize {
    FLAT + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields_weight(fields),
    }
}

/// The same for the fields of an object.
pub(crate) fn fields_weight(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| name.len() + weight(value)).sum()
}
