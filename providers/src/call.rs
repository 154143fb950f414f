//! What calls of all dialects have in common: their ids, their names, their arguments, and how many there may be.

use std::collections::HashSet;

use agent_core::event::CallInput;
use agent_core::values;
use serde_json::{Map, Value};

use crate::json::{MOST_VALUES, mended};
use crate::trouble::{Trouble, excerpt};

/// The most calls that one reply may make.
const MOST: usize = 128;
/// The longest arguments of a call, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;
/// The longest arguments of all calls of a reply together, in bytes.
const LONGEST_TOGETHER: usize = 16 * 1024 * 1024;
/// The longest id that a service may give, in bytes.
const LONGEST_ID: usize = 512;
/// The most characters of a tool's name: no tool has that many, and the model is told its beginning.
const LONGEST_NAME: usize = 256;

/// The ids of one reply's calls.
#[derive(Default)]
pub(crate) struct Ids(HashSet<String>);

impl Ids {
    /// The id of the next call: the one that its service gave, unless an earlier call has it or it is endless, else one
    /// that no other call of the session has.
    pub(crate) fn next(&mut self, given: Option<String>) -> String {
        let free = given.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID && !self.0.contains(id));
        let id = free.unwrap_or_else(|| format!("call_{}_{:016x}", self.0.len(), fastrand::u64(..)));
        self.0.insert(id.clone());
        id
    }
}

/// The arguments of one reply's calls, of which there may be so many.
pub(crate) struct Arguments {
    bytes: usize,
    values: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            bytes: LONGEST_TOGETHER,
            values: MOST_VALUES,
        }
    }
}

impl Arguments {
    /// Those of the next call, out of their text. With `cut` it may have lost its end, so that nothing is not the same as
    /// none.
    pub(crate) fn next(&mut self, text: &str, cut: bool) -> Result<CallInput, BadCall> {
        if text.len() > LONGEST {
            return Err(BadCall::TooLong);
        }
        self.bytes = self.bytes.checked_sub(text.len()).ok_or(BadCall::TooLongTogether)?;
        self.values = self
            .values
            .checked_sub(values::count(text.as_bytes()))
            .ok_or(BadCall::TooManyValues)?;
        if text.trim().is_empty() && !cut {
            return Ok(CallInput::Json(Value::Object(Map::new())));
        }
        Ok(match serde_json::from_str(&mended(text)) {
            Ok(Value::Null) => CallInput::Json(Value::Object(Map::new())),
            Ok(value) => CallInput::Json(value),
            Err(_) => CallInput::Malformed(text.to_owned()),
        })
    }
}

/// The name of a call's tool.
pub(crate) fn name(given: &str) -> Result<String, BadCall> {
    match given {
        "" => Err(BadCall::Nameless),
        given => Ok(excerpt(given, LONGEST_NAME)),
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
pub(crate) enum BadCall {
    /// It calls nothing.
    #[error("sent a call without a tool's name")]
    Nameless,
    /// Its arguments have no end.
    #[error("sent a call whose arguments are longer than {} MiB", LONGEST / 1024 / 1024)]
    TooLong,
    /// Those of all calls have none.
    #[error("sent calls whose arguments are longer than {} MiB together", LONGEST_TOGETHER / 1024 / 1024)]
    TooLongTogether,
    /// They hold more than anybody reads.
    #[error("sent calls whose arguments hold more than 30,000 values")]
    TooManyValues,
}

impl From<BadCall> for Trouble {
    fn from(error: BadCall) -> Self {
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
