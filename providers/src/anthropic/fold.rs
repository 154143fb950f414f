//! The events of a streamed reply to a whole one.

use std::collections::HashMap;
use std::ops::ControlFlow;

use agent_core::provider::{Call, Delta, Origin, Reply};
use serde_json::{Map, Value};

use super::block::{Block, OpenCall, Thought};
use super::event::{Event, Piece, Tokens, Whole};
use super::kept::{Kept, KeptThought};
use crate::call::{Arguments, Ids, check_count};
use crate::classify::{Said, is_error};
use crate::dialect::{Draft, Sink, send};
use crate::ending::ending;
use crate::native::{Allowance, fields_weight};
use crate::trouble::{Stop, Trouble};

/// The most blocks that one reply may have.
const MOST: usize = 1024;

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    blocks: Vec<Block>,
    /// Where in `blocks` the service's number leads; those without one follow each other.
    places: HashMap<Option<u64>, usize>,
    /// What may still be kept.
    allowance: Allowance,
    /// How many bytes of text have come.
    text: usize,
    calls: usize,
    tokens: Tokens,
    /// Why the service stopped.
    reason: Option<String>,
    /// The service has said that nothing follows.
    has_ended: bool,
}

impl Draft for Fold {
    fn add(&mut self, data: &str, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, Stop> {
        match event(data)? {
            Event::MessageStart { message } => self.count(message.usage),
            Event::ContentBlockStart { index, content_block } => {
                self.places.insert(index, self.blocks.len());
                self.begin(content_block, sink)?;
            }
            Event::ContentBlockDelta { index, delta } => self.extend(index, delta, sink)?,
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                self.reason = delta.stop_reason.or(self.reason.take());
            }
            Event::MessageStop => {
                self.has_ended = true;
                return Ok(ControlFlow::Break(()));
            }
            Event::Error { error } => return Err(Trouble::Said(Said::in_json(&error)).into()),
            Event::Other => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn add_whole(&mut self, body: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let Ok(Whole {
            content: Some(content),
            stop_reason,
            usage,
        }) = serde_json::from_str(body)
        else {
            return Err(Trouble::Said(Said::in_body(body)).into());
        };
        for block in content {
            self.begin(block, sink)?;
        }
        self.count(usage);
        self.reason = stop_reason;
        self.has_ended = true;
        Ok(())
    }

    /// It is not the end here: an event of its own is.
    fn has_reason(&self) -> bool {
        self.reason.is_some()
    }

    fn end(self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let reason = self.reason.filter(|_| self.has_ended).ok_or(Trouble::EndedEarly)?;
        let ending = ending(&reason)?.ok_or(Trouble::EndedEarly)?.with_calls(self.calls > 0);
        let (calls, kept) = parts(self.blocks, ending.is_cut())?;
        Ok(Reply {
            calls,
            finish: ending.finish,
            usage: self.tokens.into(),
            native: kept.into_native(origin),
            remark: ending.remark,
        })
    }
}

impl Fold {
    /// A count that makes no sense is not worth a reply.
    fn count(&mut self, usage: Option<Value>) {
        if let Some(Ok(tokens)) = usage.map(serde_json::from_value) {
            self.tokens.update(tokens);
        }
    }

    /// Begins a block with what it holds already: most begin empty, all of a whole reply do not.
    fn begin(&mut self, fields: Map<String, Value>, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let block = match text("type").as_str() {
            "text" => {
                self.say(text("text"), sink)?;
                Block::Text
            }
            "thinking" | "redacted_thinking" => {
                send(Delta::Thought(text("thinking")), sink)?;
                self.thought(fields)
            }
            "tool_use" => {
                self.calls += 1;
                Block::Call(OpenCall::new(fields))
            }
            _ => Block::Unknown,
        };
        self.blocks.push(block);
        if self.blocks.len() > MOST {
            return Err(Trouble::Broke(format!("sent more than {MOST} blocks in one reply")).into());
        }
        Ok(check_count(self.calls)?)
    }

    fn thought(&mut self, fields: Map<String, Value>) -> Block {
        if !self.may_keep(fields_weight(&fields)) {
            return Block::Unknown;
        }
        Block::Thought(Thought {
            after_text: self.text,
            fields,
        })
    }

    /// Whether so many bytes more may be kept; if not, nothing is.
    fn may_keep(&mut self, bytes: usize) -> bool {
        let is_covered = self.allowance.covers(bytes);
        if !is_covered {
            let thoughts = self
                .blocks
                .iter_mut()
                .filter(|block| matches!(block, Block::Thought(_)));
            thoughts.for_each(|block| *block = Block::Unknown);
        }
        is_covered
    }

    /// Adds a piece to its block; one that doesn't fit there says nothing. Text needs no block to be read.
    fn extend(&mut self, index: Option<u64>, piece: Piece, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Piece::ThinkingDelta { thinking: kept } | Piece::SignatureDelta { signature: kept } = &piece {
            self.may_keep(kept.len());
        }
        let place = self.places.get(&index);
        match (place.map(|place| &mut self.blocks[*place]), piece) {
            (Some(Block::Text) | None, Piece::TextDelta { text }) => self.say(text, sink),
            (Some(Block::Unknown) | None, Piece::ThinkingDelta { thinking }) => send(Delta::Thought(thinking), sink),
            (Some(Block::Thought(thought)), Piece::ThinkingDelta { thinking }) => {
                thought.extend(&thinking);
                send(Delta::Thought(thinking), sink)
            }
            (Some(Block::Thought(thought)), Piece::SignatureDelta { signature }) => {
                thought.sign(signature);
                Ok(())
            }
            (Some(Block::Call(call)), Piece::InputJsonDelta { partial_json }) => {
                call.extend(&partial_json);
                Ok(())
            }
            (Some(Block::Text | Block::Thought(_) | Block::Call(_) | Block::Unknown) | None, _) => Ok(()),
        }
    }

    fn say(&mut self, text: String, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.text += text.len();
        send(Delta::Text(text), sink)
    }
}

/// Reads an event. Gateways send errors in a form of their own.
fn event(data: &str) -> Result<Event, Trouble> {
    if data.trim() == "[DONE]" {
        return Ok(Event::Other);
    }
    serde_json::from_str(data).map_err(|error| match serde_json::from_str::<Value>(data) {
        Ok(body) if is_error(&body["error"]) || says_error(&body) => Trouble::Said(Said::in_json(&body)),
        Ok(_) | Err(_) => Trouble::Broke(format!("sent an event that is none of Anthropic Messages ({error})")),
    })
}

/// Whether an event is an error by itself, in the words of servers that speak other dialects too.
fn says_error(event: &Value) -> bool {
    event["object"] == "error" || event["message"].is_string() || event["detail"].is_string()
}

/// The calls of a reply, and what of it goes back unchanged. With `cut` its last block may have lost its end.
fn parts(blocks: Vec<Block>, cut: bool) -> Result<(Vec<Call>, Kept), Trouble> {
    let last = blocks.len().saturating_sub(1);
    let (mut calls, mut kept) = (Vec::new(), Kept::default());
    let (mut ids, mut arguments) = (Ids::default(), Arguments::default());
    for (position, block) in blocks.into_iter().enumerate() {
        match block {
            Block::Call(call) => {
                calls.push(call.finish(&mut ids, &mut arguments, cut && position == last)?);
            }
            Block::Thought(Thought { after_text, fields }) => kept.push(KeptThought {
                after_text,
                after_calls: calls.len(),
                block: fields,
            }),
            Block::Text | Block::Unknown => {}
        }
    }
    Ok((calls, kept))
}
