//! What of a reply must go back to its service unchanged: reasoning, before the items that followed it, and what each
//! message was for. Everyone else keeps it as an opaque [`Native`]; this module alone knows what is inside.

use agent_core::provider::{Native, Origin};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::native::{opened, sealed};

/// The items of a reply in their order.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Kept(Vec<Entry>);

/// One item.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// Byte for byte.
    Reasoning(Box<RawValue>),
    /// So much of the reply's text.
    Message {
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        bytes: usize,
    },
    /// One of the reply's calls.
    Call { id: Option<String>, call_id: String },
}

impl Kept {
    /// What was kept of a reply, if it came from here.
    pub(super) fn of(native: Option<&Native>, origin: &Origin) -> Vec<Entry> {
        opened::<Self>(native, origin).0
    }

    /// The opaque form; none if neither reasoning nor a phase is to be kept.
    pub(super) fn into_native(self, origin: &Origin) -> Option<Native> {
        let matters = |entry: &Entry| match entry {
            Entry::Reasoning(_) => true,
            Entry::Message { phase, .. } => phase.is_some(),
            Entry::Call { .. } => false,
        };
        if !self.0.iter().any(matters) {
            return None;
        }
        Some(sealed(&self, origin))
    }

    /// Adds the next item.
    pub(super) fn add(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    /// Adds the next item, if there is one.
    pub(super) fn extend(&mut self, entry: Option<Entry>) {
        self.0.extend(entry);
    }
}
