//! The contents of a conversation as Gemini wants them: user and model take turns, and what tools answer comes from the
//! user, in a content of its own.

use std::collections::HashMap;

use agent_core::provider::{self, Message, ModelInfo, Native, Request};
use serde::{Serialize, Serializer};

use super::super::bare;
use super::super::kept::{Entry, Kept};
use super::part::{Answer, Call, Outcome, Part, What, args, user};
use super::thinking::has_levels;
use crate::content::or_note;
use crate::layout;
use crate::names::tool_name;
use crate::pictures::Pictures;

/// Stands for the signature of a call that another model made: from the third generation on a model refuses the
/// conversation without one, and this is the service's own word for having none.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// What one says before another does.
#[derive(Serialize)]
pub(super) struct Outgoing<'a> {
    #[serde(rename = "role", serialize_with = "role")]
    from: Side,
    parts: Vec<Part<'a>>,
}

/// Who says it.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    User,
    Model,
    /// For the service they are the user, but it refuses a content that has more than their answers.
    Tools,
}

fn role<S: Serializer>(from: &Side, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match from {
        Side::User | Side::Tools => "user",
        Side::Model => "model",
    })
}

/// A conversation so far.
struct Writer<'a> {
    contents: Vec<Outgoing<'a>>,
    model: &'a ModelInfo,
    /// Ids that the service gave, by ours.
    ids: HashMap<String, String>,
}

/// Writes a conversation.
pub(super) fn outgoing<'a>(request: &Request<'a>, model: &'a ModelInfo) -> Vec<Outgoing<'a>> {
    let mut writer = Writer {
        contents: Vec::new(),
        model,
        ids: HashMap::new(),
    };
    let mut pictures = Pictures::default();
    for message in request.messages {
        if let Some(shown) = pictures.before(Some(message)) {
            writer.push(Side::User, user(&shown, model.images));
        }
        pictures.add(message);
        writer.add(message);
    }
    if let Some(shown) = pictures.before(None) {
        writer.push(Side::User, user(&shown, model.images));
    }
    writer.contents
}

impl<'a> Writer<'a> {
    fn add(&mut self, message: &'a Message) {
        match message {
            Message::User(content) => self.push(Side::User, user(content, self.model.images)),
            Message::Assistant {
                text, calls, native, ..
            } => {
                let parts = self.reply(text, calls, native.as_ref());
                self.push(Side::Model, parts);
            }
            Message::ToolResult {
                id, name, text, failed, ..
            } => {
                let text = or_note(text.clone(), "(no output)");
                let answer = Answer {
                    id: self.ids.get(id).cloned(),
                    name: tool_name(name),
                    response: if *failed {
                        Outcome::Error(text)
                    } else {
                        Outcome::Output(text)
                    },
                };
                self.push(Side::Tools, vec![What::FunctionResponse(answer).into()]);
            }
        }
    }

    /// Adds to what the same one has said, or begins anew.
    fn push(&mut self, from: Side, parts: Vec<Part<'a>>) {
        match self.contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.from == from => last.parts.extend(parts),
            Some(_) | None => self.contents.push(Outgoing { from, parts }),
        }
    }

    /// The parts of a reply: in their order, where that is known.
    fn reply(&mut self, text: &'a str, calls: &'a [provider::Call], native: Option<&Native>) -> Vec<Part<'a>> {
        if text.trim().is_empty() && calls.is_empty() {
            return Vec::new();
        }
        self.ids.retain(|id, _| calls.iter().all(|call| call.id != *id));
        let kept = Kept::of(native, &self.model.origin);
        let lengths = kept.iter().filter_map(|entry| match entry {
            Entry::Text { bytes, .. } => Some(*bytes),
            Entry::Thought { .. } | Entry::Call { .. } => None,
        });
        // A text that is not the one that came is one part, and where it stood no longer matters.
        let texts = layout::cut(text, lengths);
        let moved = (texts.is_none() && !text.trim().is_empty()).then(|| Part::text(text));
        let mut texts = texts.unwrap_or_default().into_iter();
        let mut left: Vec<&provider::Call> = calls.iter().collect();
        let mut parts: Vec<Part<'a>> = moved.into_iter().collect();
        for entry in kept {
            parts.extend(self.part(entry, &mut texts, &mut left));
        }
        parts.extend(left.into_iter().map(|call| called(call, None)));
        if has_levels(bare(&self.model.origin.model)) {
            sign_first_call(&mut parts);
        }
        parts
    }

    /// One part as it came, with its text or its call. A call that the conversation no longer has, as it never ran, is
    /// left out.
    fn part(
        &mut self,
        entry: Entry,
        texts: &mut impl Iterator<Item = &'a str>,
        left: &mut Vec<&'a provider::Call>,
    ) -> Option<Part<'a>> {
        match entry {
            Entry::Thought { text, signature } => Some(Part {
                thought: true,
                ..Part::text(text).signed(Some(signature))
            }),
            Entry::Text { signature, .. } => {
                let text = texts.next()?;
                // Blanks are of use only where they carry a signature.
                (signature.is_some() || !text.trim().is_empty()).then(|| Part::text(text).signed(signature))
            }
            Entry::Call { call, id, signature } => {
                let position = left.iter().position(|left| left.id == call)?;
                self.ids.extend(id.clone().map(|id| (call, id)));
                Some(called(left.remove(position), id).signed(signature))
            }
        }
    }
}

fn called(call: &provider::Call, id: Option<String>) -> Part<'_> {
    let call = Call {
        id,
        name: tool_name(&call.name),
        args: args(&call.input),
    };
    What::FunctionCall(call).into()
}

/// Of calls made together only the first is signed.
fn sign_first_call(parts: &mut [Part<'_>]) {
    if parts.iter().any(|part| part.thought_signature.is_some()) {
        return;
    }
    let first = parts.iter_mut().find(|part| matches!(part.what, What::FunctionCall(_)));
    if let Some(first) = first {
        first.thought_signature = Some(UNSIGNED.to_owned());
    }
}
