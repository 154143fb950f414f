//! The pieces of a streamed reply to a whole one.

use std::ops::ControlFlow;

use agent_core::provider::{Delta, Finish, Origin, Reply, Usage};

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Piece, Tokens};
use super::kept::Kept;
use crate::call::check_count;
use crate::classify::Said;
use crate::dialect::{Draft, Sink, send};
use crate::ending::ending;
use crate::native::Allowance;
use crate::trouble::{Stop, Trouble};

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    calls: Calls,
    kept: Kept,
    usage: Usage,
    /// What may still be kept.
    allowance: Allowance,
    /// Which of the answers it is, if the service says.
    index: Option<u64>,
    /// Something has been said or called.
    has_begun: bool,
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

    fn has_reason(&self) -> bool {
        self.finish.is_some()
    }

    fn end(mut self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let reason = self.finish.ok_or(Trouble::EndedEarly)?;
        let ending = ending(&reason)?.ok_or(Trouble::EndedEarly)?;
        let ending = match ending.finish {
            Finish::Stop | Finish::ToolCalls if self.refused => Finish::Refusal.into(),
            Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::ContentFilter | Finish::Refusal => {
                ending.with_calls(!self.calls.is_empty())
            }
        };
        let finished = self.calls.finish(ending.is_cut())?;
        if !self.allowance.is_spent() {
            self.kept.calls = finished.extras;
        }
        Ok(Reply {
            calls: finished.calls,
            finish: ending.finish,
            usage: self.usage,
            native: self.kept.into_native(origin),
            remark: ending.remark,
        })
    }
}

impl Fold {
    fn add_chunk(&mut self, chunk: Chunk, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(said) = chunk.failure() {
            return Err(Trouble::Said(said).into());
        }
        // A count that makes no sense is not worth a reply.
        if let Some(Ok(tokens)) = chunk.usage.map(serde_json::from_value::<Tokens>) {
            self.usage = tokens.into();
        }
        match self.own(chunk.choices.unwrap_or_default()) {
            Some(choice) => self.add_choice(choice, sink),
            None => Ok(()),
        }
    }

    /// The piece of the one answer that was asked for: some services give several all the same.
    fn own(&mut self, mut choices: Vec<Choice>) -> Option<Choice> {
        let own = self.index.unwrap_or(0);
        let fits = |choice: &Choice| choice.index.is_none_or(|index| index == own);
        let position = choices.iter().position(fits);
        let position =
            position.or_else(|| (self.index.is_none() && !self.has_begun && !choices.is_empty()).then_some(0));
        let choice = choices.swap_remove(position?);
        self.index = self.index.or(choice.index);
        Some(choice)
    }

    fn add_choice(&mut self, choice: Choice, sink: &mut Sink<'_>) -> Result<(), Stop> {
        // Some services say all of it once more at the end.
        let whole = choice.message.filter(|_| !self.has_begun);
        if let Some(piece) = choice.delta.or(whole) {
            self.add_piece(piece, sink)?;
        }
        self.finish = choice
            .finish_reason
            .filter(|reason| !reason.is_empty())
            .or(self.finish.take());
        Ok(())
    }

    fn add_piece(&mut self, piece: Piece, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if self.allowance.covers(piece.kept_weight()) {
            self.kept.add(&piece);
        } else {
            self.kept = Kept::default();
        }
        let refusal = piece.refusal.clone().unwrap_or_default();
        self.refused |= !refusal.is_empty();
        let deltas = [
            Delta::Thought(piece.thought()),
            Delta::Text(piece.text()),
            Delta::Text(refusal),
        ];
        for delta in deltas {
            let (Delta::Thought(text) | Delta::Text(text)) = &delta;
            self.has_begun |= !text.is_empty();
            send(delta, sink)?;
        }
        for mut call in piece.tool_calls.into_iter().flatten() {
            call.extra_content = call.extra_content.filter(|_| !self.allowance.is_spent());
            self.has_begun = true;
            self.calls.add(call);
        }
        Ok(check_count(self.calls.len())?)
    }
}
