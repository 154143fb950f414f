//! The pieces of a streamed reply to a whole one.

use std::ops::ControlFlow;

use agent_core::provider::{Call, Delta, Finish, Origin, Reply, Usage};
use serde_json::value::RawValue;

use super::chunk::{Candidate, Chunk, Feedback, FunctionCall, Part, Tokens};
use super::kept::Kept;
use crate::call::{Arguments, Ids, check_count, name};
use crate::classify::{Said, is_error};
use crate::dialect::{Draft, Sink, send};
use crate::ending::{Ending, ending};
use crate::native::{Allowance, FLAT};
use crate::trouble::{Stop, Trouble};

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    calls: Vec<Call>,
    ids: Ids,
    arguments: Arguments,
    kept: Kept,
    /// What may still be kept.
    allowance: Allowance,
    usage: Usage,
    ending: Option<Ending>,
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

    fn has_reason(&self) -> bool {
        self.ending.is_some()
    }

    fn end(self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let ending = self.ending.ok_or(Trouble::EndedEarly)?;
        let ending = ending.with_calls(!self.calls.is_empty());
        Ok(Reply {
            calls: self.calls,
            finish: ending.finish,
            usage: self.usage,
            native: self.kept.into_native(origin),
            remark: ending.remark,
        })
    }
}

impl Fold {
    fn add_chunks(&mut self, chunks: Vec<Chunk>, sink: &mut Sink<'_>) -> Result<(), Stop> {
        chunks.into_iter().try_for_each(|chunk| self.add_chunk(chunk, sink))
    }

    fn add_chunk(&mut self, chunk: Chunk, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(error) = chunk.error.filter(is_error) {
            return Err(Trouble::Said(Said::in_json(&error)).into());
        }
        // A count that makes no sense is not worth a reply.
        if let Some(Ok(tokens)) = chunk.usage_metadata.map(serde_json::from_value::<Tokens>) {
            self.usage = tokens.into();
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.blocks()) {
            self.ending = Some(Finish::ContentFilter.into());
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
            self.ending = ending(&reason)?.or(self.ending.take());
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
            // Thoughts without one do not go back.
            let sealed = signature
                .as_ref()
                .map_or(0, |signature| FLAT + signature.len() + text.len());
            if self.may_keep(sealed) {
                self.kept.think(&text, signature);
            }
            send(Delta::Thought(text), sink)
        } else {
            // A signed piece stays apart, and so does what follows it.
            let sealed = signature.as_ref().map_or(0, |signature| 2 * FLAT + signature.len());
            if self.may_keep(sealed) {
                self.kept.say(&text, signature);
            }
            send(Delta::Text(text), sink)
        }
    }

    /// Adds a call, which always comes whole.
    fn add_call(&mut self, call: FunctionCall, signature: Option<String>) -> Result<(), Trouble> {
        let name = name(call.name.as_deref().unwrap_or_default())?;
        let given = call.id.filter(|id| !id.is_empty());
        let id = self.ids.next(given.clone());
        let input = self
            .arguments
            .next(call.args.as_deref().map_or("", RawValue::get), false)?;
        let lengths = [&given, &signature].map(|text| text.as_ref().map_or(0, String::len));
        if self.may_keep(FLAT + lengths.iter().sum::<usize>()) {
            self.kept.call(id.clone(), given, signature);
        }
        self.calls.push(Call { id, name, input });
        check_count(self.calls.len())
    }

    /// Whether so many bytes more may be kept; if not, nothing is.
    fn may_keep(&mut self, bytes: usize) -> bool {
        let is_covered = self.allowance.covers(bytes);
        if !is_covered {
            self.kept = Kept::default();
        }
        is_covered
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
