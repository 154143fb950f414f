//! The pieces of a streamed reply to a whole one.

use std::ops::ControlFlow;

use agent_core::event::CallInput;
use agent_core::provider::{Call, Delta, Finish, Origin, Reply, Usage};
use serde_json::{Map, Value};

use super::chunk::{Candidate, Chunk, Feedback, FunctionCall, Part, Tokens};
use super::kept::Kept;
use crate::call::{Ids, Nameless, check_count};
use crate::classify::Said;
use crate::dialect::{Draft, Sink, send};
use crate::trouble::{Stop, Trouble};

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    calls: Vec<Call>,
    ids: Ids,
    kept: Kept,
    usage: Usage,
    finish: Option<Finish>,
}

impl Draft for Fold {
    fn add(&mut self, data: &str, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, Stop> {
        if data.trim() == "[DONE]" {
            return Ok(ControlFlow::Break(()));
        }
        let chunks =
            chunks(data).map_err(|error| Trouble::Broke(format!("sent an event that is no Gemini chunk ({error})")))?;
        self.add_chunks(chunks, sink)?;
        Ok(ControlFlow::Continue(()))
    }

    fn add_whole(&mut self, body: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
        match chunks(body) {
            Ok(chunks) if chunks.iter().any(Chunk::answers) => self.add_chunks(chunks, sink),
            Ok(_) | Err(_) => Err(Trouble::Said(Said::in_body(body)).into()),
        }
    }

    fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn end(self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let finish = match self.finish.ok_or(Trouble::EndedEarly)? {
            Finish::Stop if !self.calls.is_empty() => Finish::ToolCalls,
            other @ (Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::ContentFilter | Finish::Refusal) => {
                other
            }
        };
        Ok(Reply {
            calls: self.calls,
            finish,
            usage: self.usage,
            native: self.kept.into_native(origin),
        })
    }
}

impl Fold {
    fn add_chunks(&mut self, chunks: Vec<Chunk>, sink: &mut Sink<'_>) -> Result<(), Stop> {
        chunks.into_iter().try_for_each(|chunk| self.add_chunk(chunk, sink))
    }

    fn add_chunk(&mut self, chunk: Chunk, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(error) = chunk.error {
            return Err(Trouble::Said(Said::in_json(&error)).into());
        }
        // A count that makes no sense is not worth a reply.
        if let Some(Ok(tokens)) = chunk.usage_metadata.map(serde_json::from_value::<Tokens>) {
            self.usage = tokens.into();
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.blocks()) {
            self.finish = Some(Finish::ContentFilter);
        }
        match chunk.candidates.unwrap_or_default().into_iter().next() {
            Some(candidate) => self.add_candidate(candidate, sink),
            None => Ok(()),
        }
    }

    fn add_candidate(&mut self, candidate: Candidate, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.unwrap_or_default() {
            self.add_part(part, sink)?;
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish = finish(&reason)?.or(self.finish);
        }
        Ok(())
    }

    fn add_part(&mut self, part: Part, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return Ok(self.add_call(call, signature)?);
        }
        let text = part.text.unwrap_or_default();
        if part.thought == Some(true) {
            self.kept.think(&text, signature);
            send(Delta::Thought(text), sink)
        } else {
            self.kept.say(&text, signature);
            send(Delta::Text(text), sink)
        }
    }

    /// Adds a call, which always comes whole.
    fn add_call(&mut self, call: FunctionCall, signature: Option<String>) -> Result<(), Trouble> {
        let name = call.name.filter(|name| !name.is_empty()).ok_or(Nameless)?;
        let given = call.id.filter(|id| !id.is_empty());
        let id = self.ids.next(given.clone());
        self.kept.call(id.clone(), given, signature);
        let arguments = call.args.filter(|args| !args.is_null());
        let input = CallInput::Json(arguments.unwrap_or_else(|| Value::Object(Map::new())));
        self.calls.push(Call { id, name, input });
        check_count(self.calls.len())
    }
}

impl Chunk {
    /// Whether it is a reply, or a part of one.
    fn answers(&self) -> bool {
        self.candidates.is_some() || self.prompt_feedback.is_some()
    }
}

impl Feedback {
    fn blocks(&self) -> bool {
        let reason = self.block_reason.as_deref().unwrap_or_default();
        !matches!(reason, "" | "BLOCK_REASON_UNSPECIFIED")
    }
}

/// One chunk, or all of them in a list, as they come from a service that was not asked for events.
fn chunks(data: &str) -> Result<Vec<Chunk>, serde_json::Error> {
    if data.trim_start().starts_with('[') {
        return serde_json::from_str(data);
    }
    Ok(vec![serde_json::from_str(data)?])
}

/// What a finish reason means; none if it is no end.
fn finish(reason: &str) -> Result<Option<Finish>, Trouble> {
    match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => Ok(None),
        "STOP" => Ok(Some(Finish::Stop)),
        "MAX_TOKENS" => Ok(Some(Finish::Length)),
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_RECITATION"
        | "IMAGE_PROHIBITED_CONTENT" => Ok(Some(Finish::ContentFilter)),
        // A call that the service itself could not read, among others: asked again, the model often does better.
        other => {
            let words = Value::String(format!("it stopped with the reason {other}"));
            Err(Trouble::Said(Said::in_json(&words)))
        }
    }
}
