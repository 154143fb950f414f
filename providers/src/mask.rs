//! The key taken out of what its own service says, in case that echoes it: also where it comes in pieces. Errors are
//! masked by [`crate::Service`] itself.

use std::ops::ControlFlow;

use agent_core::event::CallInput;
use agent_core::provider::{Delta, Reply};
use serde_json::Value;

use crate::dialect::Sink;
use crate::forms::{find, in_json};

/// What stands in the key's place.
const MASK: &str = "***";

/// So many characters of a key's beginning a text may well end with by accident. They are not held back when the other
/// voice begins to speak, so that what is shown stays in its order.
const ACCIDENT: usize = 8;

/// A stream without any of the secrets.
pub(crate) struct Masks(Vec<Mask>);

impl Masks {
    /// Masks nothing where there are none. What a model says may be JSON, in which a secret may be written otherwise.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self(secrets.into_iter().flat_map(in_json).map(Mask::new).collect())
    }

    /// Passes a piece on.
    pub(crate) fn push(&mut self, delta: Delta, sink: &mut Sink<'_>) -> ControlFlow<()> {
        push_through(&mut self.0, delta, sink)
    }

    /// Passes on what was held back: nothing more will come.
    pub(crate) fn end(&mut self, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let mut masks = self.0.as_mut_slice();
        while let Some((first, rest)) = masks.split_first_mut() {
            first.end(&mut |delta| push_through(rest, delta, sink))?;
            masks = rest;
        }
        ControlFlow::Continue(())
    }

    /// The end of a reply without the secrets: calls and what goes back unchanged have come as a whole.
    pub(crate) fn reply(&self, reply: Reply) -> Reply {
        self.0.iter().fold(reply, |reply, mask| mask.reply(reply))
    }
}

fn push_through(masks: &mut [Mask], delta: Delta, sink: &mut Sink<'_>) -> ControlFlow<()> {
    match masks.split_first_mut() {
        Some((first, rest)) => first.push(delta, &mut |delta| push_through(rest, delta, sink)),
        None => sink(delta),
    }
}

/// A stream without one key. A piece goes on at once, but for an end that may be the beginning of the key.
struct Mask {
    key: String,
    thought: Held,
    text: Held,
    /// Whoever listened has had enough.
    is_closed: bool,
}

/// The end of what a voice has said, that its next piece may make a key of: a beginning of the key, or nothing.
#[derive(Default)]
struct Held {
    /// How many bytes of it have been passed on already.
    shown: usize,
    /// The others.
    text: String,
}

impl Mask {
    fn new(key: String) -> Self {
        Self {
            key,
            thought: Held::default(),
            text: Held::default(),
            is_closed: false,
        }
    }

    /// Passes a piece on.
    fn push(&mut self, delta: Delta, sink: &mut Sink<'_>) -> ControlFlow<()> {
        match delta {
            Delta::Thought(piece) => {
                let before = self.text.leave();
                let ready = self.thought.take(&piece, &self.key);
                self.send(Delta::Text(before), sink)?;
                self.send(Delta::Thought(ready), sink)
            }
            Delta::Text(piece) => {
                let before = self.thought.leave();
                let ready = self.text.take(&piece, &self.key);
                self.send(Delta::Thought(before), sink)?;
                self.send(Delta::Text(ready), sink)
            }
        }
    }

    /// Passes on what was held back: nothing more will come.
    fn end(&mut self, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let (thought, text) = (std::mem::take(&mut self.thought), std::mem::take(&mut self.text));
        self.send(Delta::Thought(thought.text), sink)?;
        self.send(Delta::Text(text.text), sink)
    }

    /// The end of a reply without the key: calls and what goes back unchanged have come as a whole.
    fn reply(&self, mut reply: Reply) -> Reply {
        let key = &self.key;
        for call in &mut reply.calls {
            clean(&mut call.id, key);
            clean(&mut call.name, key);
            match &mut call.input {
                CallInput::Malformed(text) => clean(text, key),
                CallInput::Json(input) => clean_json(input, key),
            }
        }
        if let Some(native) = &mut reply.native {
            native.item = without(&native.item, &[key]);
        }
        if let Some(remark) = &mut reply.remark {
            *remark = without(remark, &[key]);
        }
        reply
    }

    fn send(&mut self, delta: Delta, sink: &mut Sink<'_>) -> ControlFlow<()> {
        if self.is_closed {
            return ControlFlow::Break(());
        }
        let (Delta::Thought(text) | Delta::Text(text)) = &delta;
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        let flow = sink(delta);
        self.is_closed = flow.is_break();
        flow
    }
}

impl Held {
    /// What can be passed on now that `piece` has come. What was put in a key's place is never looked at again.
    fn take(&mut self, piece: &str, key: &str) -> String {
        let all = [&key[..self.shown], &self.text, piece].concat();
        let (mut ready, mut from) = (String::new(), self.shown);
        let mut keys_end = 0;
        for (at, _) in all.match_indices(key) {
            ready.push_str(all.get(from..at).unwrap_or_default());
            ready.push_str(MASK);
            keys_end = at + key.len();
            from = keys_end;
        }
        let end = all.len() - begun(&all[keys_end..], key);
        ready.push_str(all.get(from..end).unwrap_or_default());
        self.shown = self.shown.saturating_sub(end);
        all[end + self.shown..].clone_into(&mut self.text);
        ready
    }

    /// What can be passed on now that the other voice speaks.
    fn leave(&mut self) -> String {
        if self.shown + self.text.len() >= ACCIDENT {
            return String::new();
        }
        self.shown += self.text.len();
        std::mem::take(&mut self.text)
    }
}

/// The text with the mask in place of each of the secrets in whatever form, all in one pass.
pub(crate) fn without(text: &str, secrets: &[&str]) -> String {
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    let next = |rest: &str| {
        let found = secrets.iter().filter(|secret| !secret.is_empty());
        let found = found.filter_map(|secret| find(rest, secret));
        found.min_by_key(|(at, length)| (*at, usize::MAX - length))
    };
    while let Some((at, length)) = next(rest) {
        clean.push_str(&rest[..at]);
        clean.push_str(MASK);
        rest = &rest[at + length..];
    }
    clean.push_str(rest);
    clean
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
        check_with("sk-sk-key", pieces, expect);
    }

    fn check_with(key: &str, pieces: &[&str], expect: &[&str]) {
        let mut mask = Mask::new(key.into());
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
    fn a_key_that_is_cut_by_the_other_voice_is_masked() {
        check(&["a sk-sk-ke", "(t", "y b"], &["a ", "(t)", "*** b"]);
        check(&["(sk-sk-ke", "t", "(y"], &["t", "(***)"]);
        check(&["sk-sk-ke", "(t"], &["(t)", "sk-sk-ke"]);
        // A beginning that may stand there by accident has been shown in its place by then; the rest is not.
        check(&["a sk", "(t", "-sk-key b"], &["a ", "sk", "(t)", "*** b"]);
        check(&["a sk", "(t", "y b"], &["a ", "sk", "(t)", "y b"]);
        check(&["sk-sk-", "(t", "sk-key"], &["sk-sk-", "(t)", "***"]);
        check(
            &["s", "(t", "k", "(t", "-sk-ke", "(t", "y"],
            &["s", "(t)", "k", "(t)", "(t)", "***"],
        );
    }

    #[test]
    fn several_secrets_are_masked_also_where_they_touch() {
        let mut masks = Masks::new(["sk-sk-key", "token-of-the-team"]);
        let mut said = String::new();
        let mut sink = |delta| {
            let (Delta::Text(text) | Delta::Thought(text)) = delta;
            said.push_str(&text);
            ControlFlow::Continue(())
        };
        for piece in ["a sk-sk-", "keytoken-of", "-the-team b to"] {
            assert!(masks.push(Delta::Text(piece.into()), &mut sink).is_continue());
        }
        assert!(masks.end(&mut sink).is_continue());
        assert_eq!(said, "a ****** b to");
    }

    #[test]
    fn a_mask_is_never_taken_for_the_key() {
        let key = "***x";
        check_with(key, &["***x", "x"], &["***", "x"]);
        check_with(key, &["***x***", "x"], &["***", "***"]);
        assert_eq!(without("***xx", &[key]), "***x");
        assert_eq!(without("a\"b a\\\"b", &["a\"b", "a\\\"b"]), "*** ***");
        assert_eq!(without("abc ab", &["ab", "abc"]), "*** ***");
    }

    #[test]
    fn nothing_is_said_to_who_has_had_enough() {
        let mut mask = Mask::new("sk-sk-key".into());
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
