//! What of a reply must go back to its service unchanged: thoughts with their signatures, each at its place. Everyone
//! else keeps it as an opaque [`Native`]; this module alone knows what is inside.

use agent_core::provider::{Native, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::native::{opened, sealed};

/// The thoughts of a reply, in their order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub thoughts: Vec<KeptThought>,
}

/// A thought and where it stood: nearly always before everything.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptThought {
    /// How many bytes of text came before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_text: usize,
    /// How many calls came before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_calls: usize,
    /// The block as it came.
    pub block: Map<String, Value>,
}

impl Kept {
    /// What was kept of a reply, if it came from here.
    pub(super) fn of(native: Option<&Native>, origin: &Origin) -> Self {
        opened(native, origin)
    }

    /// Keeps a thought, if the service would take it back: one that was cut has no signature, and is refused.
    pub(super) fn push(&mut self, thought: KeptThought) {
        let has = |field: &str| {
            let text = thought.block.get(field).and_then(Value::as_str);
            text.is_some_and(|text| !text.is_empty())
        };
        if has("signature") || has("data") {
            self.thoughts.push(thought);
        }
    }

    /// The opaque form; none if there is nothing to keep.
    pub(super) fn into_native(self, origin: &Origin) -> Option<Native> {
        if self.thoughts.is_empty() {
            return None;
        }
        Some(sealed(&self, origin))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
