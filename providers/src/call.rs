//! What the calls of every dialect have in common: how many there may be, what their arguments' text means, and an id
//! where the service gave none.

use agent_core::event::CallInput;
use serde_json::{Map, Value};

use crate::trouble::Trouble;

/// The most calls that one reply may make.
pub(crate) const MOST: usize = 128;

/// A call that nobody can run.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("sent a call without a tool's name")]
pub(crate) struct Nameless;

impl From<Nameless> for Trouble {
    fn from(error: Nameless) -> Self {
        Self::Broke(error.to_string())
    }
}

/// A reply with more calls than anybody should run.
pub(crate) fn too_many() -> Trouble {
    Trouble::Broke(format!("made more than {MOST} calls in one reply"))
}

/// What the arguments' text means. Where it may have been `cut`, nothing is no empty object.
pub(crate) fn input(arguments: String, cut: bool) -> CallInput {
    if arguments.trim().is_empty() && !cut {
        return CallInput::Json(Value::Object(Map::new()));
    }
    match serde_json::from_str(&arguments) {
        Ok(Value::Null) => CallInput::Json(Value::Object(Map::new())),
        Ok(value) => CallInput::Json(value),
        Err(_) => CallInput::Malformed(arguments),
    }
}

/// An id that no other call of the session has.
pub(crate) fn new_id(position: usize) -> String {
    format!("call_{position}_{:016x}", fastrand::u64(..))
}
