//! What of a reply must go back to its service unchanged: signatures, each with its part, and ids of calls. Everyone
//! else keeps it as an opaque [`Native`]; this module alone knows what is inside.

use agent_core::provider::{Native, Origin};
use serde::{Deserialize, Serialize};

use crate::native::{opened, sealed};

/// The parts of a reply in their order.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Kept(Vec<Entry>);

/// One part.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// A thought that is signed; others do not go back.
    Thought { text: String, signature: String },
    /// So much of the reply's text.
    Text {
        bytes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// One of the reply's calls.
    Call {
        /// Its id here.
        call: String,
        /// The one that the service gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl Kept {
    /// What was kept of a reply, if it came from here.
    pub(super) fn of(native: Option<&Native>, origin: &Origin) -> Vec<Entry> {
        opened::<Self>(native, origin).0
    }

    /// The opaque form; none if neither a signature nor an id is to be kept.
    pub(super) fn into_native(self, origin: &Origin) -> Option<Native> {
        let matters = |entry: &Entry| match entry {
            Entry::Thought { .. } => true,
            Entry::Text { signature, .. } => signature.is_some(),
            Entry::Call { id, signature, .. } => id.is_some() || signature.is_some(),
        };
        if !self.0.iter().any(matters) {
            return None;
        }
        Some(sealed(&self, origin))
    }

    /// Adds a thought, if it is signed.
    pub(super) fn think(&mut self, text: &str, signature: Option<String>) {
        self.0.extend(signature.map(|signature| Entry::Thought {
            text: text.to_owned(),
            signature,
        }));
    }

    /// Adds a piece of the text. A signature is of one part, so a signed piece stays apart, also one that is empty.
    pub(super) fn say(&mut self, text: &str, signature: Option<String>) {
        match (self.0.last_mut(), signature) {
            (Some(Entry::Text { bytes, signature: None }), None) => *bytes += text.len(),
            (_, None) if text.is_empty() => {}
            (_, signature) => self.0.push(Entry::Text {
                bytes: text.len(),
                signature,
            }),
        }
    }

    /// Adds a call.
    pub(super) fn call(&mut self, call: String, id: Option<String>, signature: Option<String>) {
        self.0.push(Entry::Call { call, id, signature });
    }
}
