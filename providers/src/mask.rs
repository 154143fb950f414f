//! The key taken out of what its own service says, in case that echoes it: also where it comes in pieces. Errors are
//! masked by [`crate::Service`] itself.

use std::ops::ControlFlow;

use agent_core::event::CallInput;
use agent_core::provider::{Delta, Reply};
use serde_json::Value;

use crate::fold::Sink;

/// What stands in the key's place.
pub(crate) const MASK: &str = "***";

/// A stream without the key. A piece goes on at once, but for an end that may be the beginning of the key.
pub(crate) struct Mask<'a> {
    key: Option<&'a str>,
    /// The end of what has come that the next piece may make a key of.
    held: String,
    thinks: bool,
    /// Whoever listened has had enough.
    is_closed: bool,
}

impl<'a> Mask<'a> {
    /// Masks nothing where there is no key.
    pub(crate) fn new(key: Option<&'a str>) -> Self {
        Self {
            key,
            held: String::new(),
            thinks: false,
            is_closed: false,
        }
    }

    /// Passes a piece on.
    pub(crate) fn push(&mut self, delta: Delta, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let Some(key) = self.key else { return sink(delta) };
        let (thinks, piece) = match delta {
            Delta::Thought(piece) => (true, piece),
            Delta::Text(piece) => (false, piece),
        };
        if thinks != self.thinks {
            self.end(sink)?;
            self.thinks = thinks;
        }
        self.held.push_str(&piece);
        let mut ready = self.held.replace(key, MASK);
        self.held = ready.split_off(ready.len() - begun(&ready, key));
        self.send(ready, sink)
    }

    /// Passes on what was held back: nothing more will come.
    pub(crate) fn end(&mut self, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let rest = std::mem::take(&mut self.held);
        self.send(rest, sink)
    }

    /// The end of a reply without the key: calls and what goes back unchanged have come as a whole.
    pub(crate) fn reply(&self, mut reply: Reply) -> Reply {
        let Some(key) = self.key else { return reply };
        for call in &mut reply.calls {
            clean(&mut call.id, key);
            clean(&mut call.name, key);
            match &mut call.input {
                CallInput::Malformed(text) => clean(text, key),
                CallInput::Json(input) => clean_json(input, key),
            }
        }
        if let Some(native) = &mut reply.native {
            clean(&mut native.item, key);
            // It is JSON, in which a key with a quotation mark is written in another way.
            clean(&mut native.item, Value::from(key).to_string().trim_matches('"'));
        }
        reply
    }

    fn send(&mut self, text: String, sink: &mut Sink<'_>) -> ControlFlow<()> {
        if self.is_closed {
            return ControlFlow::Break(());
        }
        let flow = match (text.is_empty(), self.thinks) {
            (true, _) => ControlFlow::Continue(()),
            (false, true) => sink(Delta::Thought(text)),
            (false, false) => sink(Delta::Text(text)),
        };
        self.is_closed = flow.is_break();
        flow
    }
}

fn clean(text: &mut String, key: &str) {
    if text.contains(key) {
        *text = text.replace(key, MASK);
    }
}

fn clean_json(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => clean(text, key),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_json(item, key)),
        Value::Object(fields) => {
            for (mut name, mut field) in std::mem::take(fields) {
                clean(&mut name, key);
                clean_json(&mut field, key);
                fields.insert(name, field);
            }
        }
        Value::Number(number) if number.to_string().contains(key) => *value = MASK.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How many bytes at the text's end are a beginning of the key.
fn begun(text: &str, key: &str) -> usize {
    let longest = text.len().min(key.len() - 1);
    let fits = |length: &usize| text.as_bytes().ends_with(&key.as_bytes()[..*length]);
    // A beginning that ends within a character of the key ends within one of the text, which no piece does.
    (1..=longest).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pieces: &[&str], expect: &[&str]) {
        let mut mask = Mask::new(Some("sk-sk-key"));
        let mut said = Vec::new();
        let mut sink = |delta| {
            match delta {
                Delta::Text(text) => said.push(text),
                Delta::Thought(thought) => said.push(format!("({thought})")),
            }
            ControlFlow::Continue(())
        };
        for piece in pieces {
            let delta = match piece.strip_prefix('(') {
                Some(thought) => Delta::Thought(thought.into()),
                None => Delta::Text((*piece).into()),
            };
            assert!(mask.push(delta, &mut sink).is_continue());
        }
        assert!(mask.end(&mut sink).is_continue());
        assert_eq!(said, expect, "{pieces:?}");
    }

    #[test]
    fn the_key_is_masked_wherever_it_is_cut() {
        check(&["a sk-sk-key b"], &["a *** b"]);
        check(&["a sk-", "sk-", "key b"], &["a ", "*** b"]);
        check(&["s", "k", "-", "s", "k", "-", "k", "e", "y"], &["***"]);
        check(&["sk-sk-", "sk-key"], &["sk-***"]);
        check(&["(sk-sk-key"], &["(***)"]);
    }

    #[test]
    fn nothing_is_said_to_who_has_had_enough() {
        let mut mask = Mask::new(Some("sk-sk-key"));
        let mut times = 0;
        let mut sink = |_| {
            times += 1;
            ControlFlow::Break(())
        };
        assert!(mask.push(Delta::Text("a s".into()), &mut sink).is_break());
        assert!(mask.end(&mut sink).is_break());
        assert_eq!(times, 1);
    }

    #[test]
    fn a_key_in_a_call_is_masked_wherever_it_stands() {
        let check = |key: &str, mut input: Value, expect: Value| {
            clean_json(&mut input, key);
            assert_eq!(input, expect);
        };
        check(
            "a\"b",
            json!({"x": ["1 a\"b"], "a\"b": 2}),
            json!({"x": ["1 ***"], "***": 2}),
        );
        check("1234567890123456", json!([1234567890123456_u64]), json!(["***"]));
        check("k-k", json!({"b": 1, "a": "k"}), json!({"b": 1, "a": "k"}));
    }

    #[test]
    fn what_is_no_key_goes_on_at_once_and_whole() {
        check(&["risk", "-free", "é"], &["ri", "sk-free", "é"]);
        check(&["ends in sk-s"], &["ends in ", "sk-s"]);
        check(&["sk", "(k"], &["sk", "(k)"]);
        check(&["a", "b"], &["a", "b"]);
    }
}
