//! The key taken out of what its own service says, in case that echoes it: also where it comes in pieces. Errors are
//! masked by [`crate::Service`] itself.

use std::ops::ControlFlow;

use agent_core::event::CallInput;
use agent_core::provider::{Delta, Reply};

use crate::fold::Sink;

/// What stands in the key's place.
pub(crate) const MASK: &str = "***";

/// A stream without the key. A piece goes on at once, but for an end that may be the beginning of the key.
pub(crate) struct Mask<'a> {
    key: Option<&'a str>,
    /// The end of what has come that the next piece may make a key of.
    held: String,
    thinks: bool,
}

impl<'a> Mask<'a> {
    /// Masks nothing where there is no key.
    pub(crate) fn new(key: Option<&'a str>) -> Self {
        Self {
            key,
            held: String::new(),
            thinks: false,
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
        let clean = |text: &mut String| {
            if text.contains(key) {
                *text = text.replace(key, MASK);
            }
        };
        for call in &mut reply.calls {
            clean(&mut call.id);
            clean(&mut call.name);
            match &mut call.input {
                CallInput::Malformed(text) => clean(text),
                CallInput::Json(input) => {
                    let mut text = input.to_string();
                    clean(&mut text);
                    // A key that is no part of a text, such as a number, leaves no JSON behind, and no call.
                    call.input = serde_json::from_str(&text).map_or(CallInput::Malformed(text), CallInput::Json);
                }
            }
        }
        if let Some(native) = &mut reply.native {
            clean(&mut native.item);
        }
        reply
    }

    fn send(&self, text: String, sink: &mut Sink<'_>) -> ControlFlow<()> {
        match (text.is_empty(), self.thinks) {
            (true, _) => ControlFlow::Continue(()),
            (false, true) => sink(Delta::Thought(text)),
            (false, false) => sink(Delta::Text(text)),
        }
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
    fn what_is_no_key_goes_on_at_once_and_whole() {
        check(&["risk", "-free", "é"], &["ri", "sk-free", "é"]);
        check(&["ends in sk-s"], &["ends in ", "sk-s"]);
        check(&["sk", "(k"], &["sk", "(k)"]);
        check(&["a", "b"], &["a", "b"]);
    }
}
