//! What calls of all dialects have in common: their ids, their arguments, and how many there may be.

use std::collections::HashSet;

use agent_core::event::CallInput;
use serde_json::{Map, Value};

use crate::trouble::Trouble;

/// The most calls that one reply may make.
const MOST: usize = 128;

/// The ids of one reply's calls.
#[derive(Default)]
pub(crate) struct Ids(HashSet<String>);

impl Ids {
    /// The id of the next call: the one that its service gave, unless an earlier call has it, else one that no other
    /// call of the session has.
    pub(crate) fn next(&mut self, given: Option<String>) -> String {
        let free = given.filter(|id| !id.is_empty() && !self.0.contains(id));
        let id = free.unwrap_or_else(|| format!("call_{}_{:016x}", self.0.len(), fastrand::u64(..)));
        self.0.insert(id.clone());
        id
    }
}

/// Arguments out of their text. With `cut` it may have lost its end, so that nothing is not the same as none.
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

/// Arguments, or a piece of them, as text: services that know no better send an object.
pub(crate) fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => value.to_string(),
    }
}

/// Refuses more calls than anybody should run.
pub(crate) fn check_count(calls: usize) -> Result<(), Trouble> {
    if calls > MOST {
        return Err(Trouble::Broke(format!("made more than {MOST} calls in one reply")));
    }
    Ok(())
}

/// A call that nobody can run.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("sent a call without a tool's name")]
pub(crate) struct Nameless;

impl From<Nameless> for Trouble {
    fn from(error: Nameless) -> Self {
        Self::Broke(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_given_once() {
        let mut ids = Ids::default();
        let given: Vec<String> = [Some("a"), Some("a"), Some(""), None]
            .map(|id| ids.next(id.map(str::to_owned)))
            .into();
        assert_eq!(given[0], "a");
        for (position, id) in given.iter().enumerate().skip(1) {
            assert!(id.starts_with(&format!("call_{position}_")), "{id}");
        }
    }
}
