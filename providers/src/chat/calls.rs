//! Tool calls out of their pieces. A piece belongs to a call by its id, else by its index, else by its order; services
//! leave out or repeat each of the three.

use std::collections::BTreeMap;

use agent_core::provider::Call;
use serde_json::Value;

use super::chunk::{CallPiece, is_object};
use crate::call::{Arguments, BadCall, Ids, name};

/// The calls of one reply so far, in the order of their first pieces.
#[derive(Default)]
pub(crate) struct Calls(Vec<OpenCall>);

#[derive(Default)]
struct OpenCall {
    id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: String,
    extra_content: Option<Value>,
}

/// The finished calls, and by call what must go back with it unchanged.
pub(crate) struct Finished {
    pub calls: Vec<Call>,
    pub extras: BTreeMap<String, Value>,
}

impl Calls {
    /// Whether nothing was called.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a piece to its call, or begins a new one with it.
    pub(crate) fn add(&mut self, piece: CallPiece) {
        let position = self.position(&piece).unwrap_or_else(|| {
            self.0.push(OpenCall::default());
            self.0.len() - 1
        });
        self.0[position].extend(piece);
    }

    fn position(&self, piece: &CallPiece) -> Option<usize> {
        let id = piece.id.as_deref().filter(|id| !id.is_empty());
        let same_id = |call: &OpenCall| id.is_none_or(|id| call.id.as_deref().is_none_or(|given| given == id));
        let same_index = |call: &OpenCall| {
            piece
                .index
                .is_none_or(|index| call.index.is_none_or(|given| given == index))
        };
        match self.0.iter().rposition(|call| same_id(call) && same_index(call)) {
            Some(found) => (!self.0[found].is_followed_by(piece)).then_some(found),
            // An id of its own makes no call of a piece that has no name; some servers make up one for each piece.
            None if piece.name().is_empty() => self.0.iter().rposition(same_index),
            None => None,
        }
    }

    /// Ends them. With `cut` the service stopped within the reply, so that the last call may have lost its end.
    pub(crate) fn finish(self, cut: bool) -> Result<Finished, BadCall> {
        let last = self.0.len().saturating_sub(1);
        let mut finished = Finished {
            calls: Vec::new(),
            extras: BTreeMap::new(),
        };
        let (mut ids, mut arguments) = (Ids::default(), Arguments::default());
        for (position, call) in self.0.into_iter().enumerate() {
            let name = name(&call.name)?;
            let id = ids.next(call.id);
            if let Some(extra) = call.extra_content {
                finished.extras.insert(id.clone(), extra);
            }
            let input = arguments.next(&call.arguments, cut && position == last)?;
            finished.calls.push(Call { id, name, input });
        }
        Ok(finished)
    }
}

impl OpenCall {
    fn extend(&mut self, piece: CallPiece) {
        self.arguments.push_str(&piece.arguments());
        if self.name.is_empty() {
            self.name = piece.name().to_owned();
        }
        self.id = self.id.take().or(piece.id.filter(|id| !id.is_empty()));
        self.index = self.index.or(piece.index);
        self.extra_content = piece.extra_content.or(self.extra_content.take());
    }

    /// Whether a piece that seems to belong here begins a call of its own: it says a name once more, and either
    /// another one or with arguments that no longer fit in.
    fn is_followed_by(&self, piece: &CallPiece) -> bool {
        if piece.name().is_empty() || self.name.is_empty() {
            return false;
        }
        piece.name() != self.name || (!piece.arguments().is_empty() && self.is_whole())
    }

    fn is_whole(&self) -> bool {
        // The look at the last byte saves parsing the text again with each piece of it.
        self.arguments.trim_end().ends_with('}') && is_object(&self.arguments)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::event::CallInput;
    use serde_json::json;

    use super::*;

    /// Pieces are `[id, index, name, arguments]`; expected calls are `name arguments`, with the id where it was given.
    fn check(pieces: &[Value], cut: bool, expect: &[(&str, &str, CallInput)]) {
        let mut calls = Calls::default();
        for piece in pieces {
            let function = json!({"name": piece[2], "arguments": piece[3]});
            let piece = json!({"id": piece[0], "index": piece[1], "function": function});
            calls.add(serde_json::from_value(piece).unwrap());
        }
        let calls = calls.finish(cut).unwrap().calls;
        assert_eq!(calls.len(), expect.len(), "{calls:?}");
        for (call, (id, name, input)) in calls.iter().zip(expect) {
            assert!(
                call.id == *id || *id == "new" && call.id.starts_with("call_"),
                "{call:?}"
            );
            assert_eq!((call.name.as_str(), &call.input), (*name, input));
        }
    }

    fn p(number: u64) -> CallInput {
        CallInput::Json(json!({"p": number}))
    }

    #[test]
    fn calls_without_id_and_index_are_told_apart_by_their_order() {
        check(
            &[
                json!([null, null, "read", "{\"p\":"]),
                json!([null, null, null, "1}"]),
                json!([null, null, "read", "{\"p\":2}"]),
                json!([null, null, "list", ""]),
                json!([null, null, "look", "null"]),
            ],
            false,
            &[
                ("new", "read", p(1)),
                ("new", "read", p(2)),
                ("new", "list", CallInput::Json(json!({}))),
                ("new", "look", CallInput::Json(json!({}))),
            ],
        );
    }

    #[test]
    fn whole_calls_at_one_index_without_ids_stay_apart() {
        check(
            &[
                json!([null, 0, "read", "{\"p\":1}"]),
                json!([null, 0, "read", "{\"p\":2}"]),
            ],
            false,
            &[("new", "read", p(1)), ("new", "read", p(2))],
        );
    }

    #[test]
    fn another_id_is_another_call_whatever_its_index() {
        check(
            &[
                json!(["a", 0, "read", ""]),
                json!(["b", 0, "read", "{\"p\":"]),
                json!(["b", 0, null, "2}"]),
                json!(["a", 0, null, "{\"p\":1}"]),
            ],
            false,
            &[("a", "read", p(1)), ("b", "read", p(2))],
        );
    }

    #[test]
    fn a_new_id_without_a_name_begins_no_call() {
        check(
            &[
                json!(["a", 0, "read", "{\"p\""]),
                json!(["x", 0, "", ":1"]),
                json!(["y", 0, null, "}"]),
            ],
            false,
            &[("a", "read", p(1))],
        );
    }

    #[test]
    fn an_id_may_come_late_or_be_empty() {
        check(
            &[
                json!(["", 0, "read", ""]),
                json!(["a", 0, null, "{\"p\":1}"]),
                json!(["", 0, "", ""]),
            ],
            false,
            &[("a", "read", p(1))],
        );
    }

    #[test]
    fn a_cut_call_is_never_completed_by_guessing() {
        let cut = |text: &str| CallInput::Malformed(text.into());
        check(&[json!(["a", 0, "read", ""])], true, &[("a", "read", cut(""))]);
        check(&[json!(["a", 0, "read", "{\"p"])], false, &[("a", "read", cut("{\"p"))]);
    }

    #[test]
    fn a_call_without_a_name_is_an_error() {
        let mut calls = Calls::default();
        calls.add(CallPiece::default());
        assert_eq!(calls.finish(false).map(|_| ()), Err(BadCall::Nameless));
    }
}
