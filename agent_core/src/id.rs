//! Names of things: one type each, so that a tool call's id can never stand where an approval's is meant.
//!
//! All of them are opaque text to a surface; only the core makes new ones.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes an id that no other process makes; ids made later sort later.
            pub fn new() -> Self {
                Self(Uuid::now_v7().simple().to_string().into())
            }

            /// The id as text, as it is stored and sent.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// A conversation, over all the processes that ever open it.
    SessionId
}
text_id! {
    /// A message. The thought and the text of one reply share it; the next reply has another.
    MessageId
}
text_id! {
    /// A tool call, unique over all sessions. Not the id that a model gave it: see [`crate::event::ToolCall::given_id`].
    ToolCallId
}
text_id! {
    /// A question put to the user about one tool call.
    ApprovalId
}

text_id! {
    /// A terminal of the surface, which names it.
    TerminalId
}

/// Something that a tool has asked of the surface. Unique within a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AskId(pub u64);

/// A turn's number within its session: greater than those of all turns before it. It counts from 1, and goes on from
/// the clock's Unix ms when this process comes back to a session that another one may have gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);
