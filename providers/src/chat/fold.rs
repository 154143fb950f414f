//! The pieces of a streamed reply to a whole one.

use std::ops::ControlFlow;

use agent_core::provider::{Delta, Finish, Origin, Reply, Usage};
use serde_json::Value;

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Piece, Tokens};
use super::kept::Kept;
use crate::call::check_count;
use crate::classify::Said;
use crate::dialect::{Draft, Sink, send};
use crate::trouble::{Stop, Trouble};

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    calls: Calls,
    kept: Kept,
    usage: Usage,
    /// What the service said last about why it stopped.
    finish: Option<String>,
    /// It said so in a field of its own.
    refused: bool,
}

impl Draft for Fold {
    fn add(&mut self, data: &str, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, Stop> {
        if data.trim() == "[DONE]" {
            return Ok(ControlFlow::Break(()));
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|error| Trouble::Broke(format!("sent an event that is no Chat Completions chunk ({error})")))?;
        self.add_chunk(chunk, sink)?;
        Ok(ControlFlow::Continue(()))
    }

    fn add_whole(&mut self, body: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
        match serde_json::from_str::<Chunk>(body) {
            Ok(chunk) if chunk.choices.is_some() => self.add_chunk(chunk, sink),
            Ok(_) | Err(_) => Err(Trouble::Said(Said::in_body(body)).into()),
        }
    }

    fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn end(mut self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let reason = self.finish.ok_or(Trouble::EndedEarly)?;
        let finish = match finish(&reason)? {
            Finish::Stop | Finish::ToolCalls if self.refused => Finish::Refusal,
            Finish::Stop | Finish::ToolCalls if self.calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
            other @ (Finish::Length | Finish::ContentFilter | Finish::Refusal) => other,
        };
        let cut = matches!(finish, Finish::Length | Finish::ContentFilter | Finish::Refusal);
        let finished = self.calls.finish(cut)?;
        self.kept.calls = finished.extras;
        Ok(Reply {
            calls: finished.calls,
            finish,
            usage: self.usage,
            native: self.kept.into_native(origin),
        })
    }
}

impl Fold {
    fn add_chunk(&mut self, chunk: Chunk, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Trouble::Said(Said::in_json(&error)).into());
        }
        // A count that makes no sense is not worth a reply.
        if let Some(Ok(tokens)) = chunk.usage.map(serde_json::from_value::<Tokens>) {
            self.usage = tokens.into();
        }
        match chunk.choices.unwrap_or_default().into_iter().next() {
            Some(choice) => self.add_choice(choice, sink),
            None => Ok(()),
        }
    }

    fn add_choice(&mut self, choice: Choice, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(piece) = choice.delta.or(choice.message) {
            self.add_piece(piece, sink)?;
        }
        self.finish = choice
            .finish_reason
            .filter(|reason| !reason.is_empty())
            .or(self.finish.take());
        Ok(())
    }

    fn add_piece(&mut self, piece: Piece, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.kept.add(&piece);
        let refusal = piece.refusal.clone().unwrap_or_default();
        self.refused |= !refusal.is_empty();
        let deltas = [
            Delta::Thought(piece.thought()),
            Delta::Text(piece.text()),
            Delta::Text(refusal),
        ];
        for delta in deltas {
            send(delta, sink)?;
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.calls.add(call);
        }
        Ok(check_count(self.calls.len())?)
    }
}

/// What a service's finish reason means.
fn finish(reason: &str) -> Result<Finish, Trouble> {
    match reason {
        "tool_calls" | "function_call" => Ok(Finish::ToolCalls),
        "length" | "max_tokens" | "model_length" => Ok(Finish::Length),
        "content_filter" => Ok(Finish::ContentFilter),
        "refusal" => Ok(Finish::Refusal),
        "error" | "abort" | "insufficient_system_resource" => {
            let words = Value::String(format!("it stopped with the reason {reason}"));
            Err(Trouble::Said(Said::in_json(&words)))
        }
        // `stop`, and the words that servers invent for it (`eos`, `end_turn`, `stop_sequence`).
        _ => Ok(Finish::Stop),
    }
}
