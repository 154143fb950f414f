//! A block of a reply as far as it has come.

use agent_core::provider::Call;
use serde_json::{Map, Value};

use crate::call::{Arguments, BadCall, Ids, name};

/// A block, by what must be known of it at the end.
pub(super) enum Block {
    /// Its text went to the sink.
    Text,
    /// A thought, which goes back as it is.
    Thought(Thought),
    /// A call.
    Call(OpenCall),
    /// A kind that nobody here knows.
    Unknown,
}

/// A thought or what stands for a hidden one, with all its fields.
pub(super) struct Thought {
    /// How many bytes of text came before it.
    pub after_text: usize,
    pub fields: Map<String, Value>,
}

/// A call without its end.
pub(super) struct OpenCall {
    id: Option<String>,
    name: String,
    /// Arguments that came as a whole, before any piece.
    whole: Option<String>,
    arguments: String,
}

impl Thought {
    /// Adds to the text.
    pub(super) fn extend(&mut self, piece: &str) {
        match self.fields.entry("thinking").or_insert_with(|| String::new().into()) {
            Value::String(text) => text.push_str(piece),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }

    /// Puts the seal under it, without which the service would not take it back.
    pub(super) fn sign(&mut self, signature: String) {
        self.fields.insert("signature".into(), signature.into());
    }
}

impl OpenCall {
    /// Begins a call with its first block.
    pub(super) fn new(mut fields: Map<String, Value>) -> Self {
        let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        Self {
            id: text("id"),
            name: text("name").unwrap_or_default(),
            whole: fields
                .remove("input")
                .filter(|input| !input.as_object().is_none_or(Map::is_empty))
                .map(|input| input.to_string()),
            arguments: String::new(),
        }
    }

    /// Adds to the arguments' text.
    pub(super) fn extend(&mut self, piece: &str) {
        self.arguments.push_str(piece);
    }

    /// Ends it. One that was `cut` may have lost its end.
    pub(super) fn finish(self, ids: &mut Ids, arguments: &mut Arguments, cut: bool) -> Result<Call, BadCall> {
        let text = match self.whole {
            Some(whole) if self.arguments.is_empty() => whole,
            Some(_) | None => self.arguments,
        };
        Ok(Call {
            name: name(&self.name)?,
            id: ids.next(self.id),
            input: arguments.next(&text, cut)?,
        })
    }
}
