//! The events of a streamed reply to a whole one.

use std::ops::ControlFlow;

use agent_core::provider::{Delta, Finish, Origin, Reply, Usage};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::event::{EndEvent, Head, Item, ItemEvent, Kind, Piece, Response, Tokens};
use super::items::Items;
use crate::classify::Said;
use crate::dialect::{Draft, Sink, send};
use crate::ending::{Ending, ending, stopped};
use crate::trouble::{Stop, Trouble};

/// A reply so far.
#[derive(Default)]
pub(super) struct Fold {
    items: Items,
    usage: Usage,
    ending: Option<Ending>,
    refused: bool,
}

impl Draft for Fold {
    fn add(&mut self, data: &str, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, Stop> {
        if data.trim() == "[DONE]" {
            return Ok(ControlFlow::Break(()));
        }
        let head: Head = read(data)?;
        let kind = head.r#type.as_deref().unwrap_or_default();
        if head.is_error() {
            return Err(Trouble::Said(Said::in_body(data)).into());
        }
        match kind {
            "response.output_text.delta" | "response.output_text.done" => {
                self.say(Kind::Message, &read(data)?, sink)?;
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.say(Kind::Message, &read(data)?, sink)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.say(Kind::Reasoning, &read(data)?, sink)?;
            }
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                self.items.call(&read(data)?)?;
            }
            "response.output_item.added" => self.begin(&read(data)?)?,
            "response.output_item.done" => {
                let ItemEvent { output_index, item } = read(data)?;
                self.end_item(output_index, item, sink)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let EndEvent { response } = read(data)?;
                let said = kind.trim_start_matches("response.");
                // Some gateways leave it as it was at the beginning.
                let status = response.status.clone().filter(|status| !is_beginning(status));
                self.end_reply(&status.unwrap_or_else(|| said.to_owned()), response, sink)?;
                return Ok(ControlFlow::Break(()));
            }
            // Beginnings and ends of parts, and whatever else services may tell.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn add_whole(&mut self, body: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
        match serde_json::from_str::<Response>(body) {
            Ok(response) if response.output.is_some() => {
                let status = response.status.clone().unwrap_or_default();
                self.end_reply(&status, response, sink)
            }
            Ok(_) | Err(_) => Err(Trouble::Said(Said::in_body(body)).into()),
        }
    }

    fn has_reason(&self) -> bool {
        self.ending.is_some()
    }

    fn end(self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble> {
        let ending = match self.ending.ok_or(Trouble::EndedEarly)? {
            ending if ending.finish == Finish::Stop && self.refused => Finish::Refusal.into(),
            ending => ending.with_calls(self.items.has_calls()),
        };
        let finished = self.items.finish(ending.is_cut())?;
        Ok(Reply {
            calls: finished.calls,
            finish: ending.finish,
            usage: self.usage,
            native: finished.kept.into_native(origin),
            remark: ending.remark,
        })
    }
}

impl Fold {
    fn say(&mut self, kind: Kind, piece: &Piece, sink: &mut Sink<'_>) -> Result<(), Stop> {
        send(delta(kind, self.items.say(kind, piece)?), sink)
    }

    fn begin(&mut self, event: &ItemEvent) -> Result<(), Trouble> {
        match Item::of(&event.item) {
            Some(item) => self.items.begin(event.output_index, item),
            None => Ok(()),
        }
    }

    fn end_item(&mut self, index: Option<u64>, raw: Box<RawValue>, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let Some(item) = Item::of(&raw) else { return Ok(()) };
        let kind = item.kind;
        self.refused |= kind == Kind::Message && item.refuses();
        let rest = self.items.end(index, item, raw)?;
        send(delta(kind, rest), sink)
    }

    /// Takes the reply's end, and whatever of its items no event has told before.
    fn end_reply(&mut self, status: &str, response: Response, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let error = response.error.unwrap_or_default();
        if status == "failed" || !error.is_null() {
            return Err(Trouble::Said(Said::in_json(&json!({ "error": error }))).into());
        }
        for (index, item) in (0..).zip(response.output.into_iter().flatten()) {
            self.end_item(Some(index), item, sink)?;
        }
        // A count that makes no sense is not worth a reply.
        if let Some(Ok(tokens)) = response.usage.map(serde_json::from_value::<Tokens>) {
            self.usage = tokens.into();
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        self.ending = end(status, reason.as_deref())?;
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Trouble> {
    serde_json::from_str(data)
        .map_err(|error| Trouble::Broke(format!("sent an event that is none of OpenAI Responses ({error})")))
}

fn delta(kind: Kind, text: String) -> Delta {
    match kind {
        Kind::Reasoning => Delta::Thought(text),
        Kind::Message | Kind::FunctionCall => Delta::Text(text),
    }
}

fn is_beginning(status: &str) -> bool {
    matches!(status, "" | "in_progress" | "queued")
}

/// What a reply's status means; none if it is no end.
fn end(status: &str, reason: Option<&str>) -> Result<Option<Ending>, Trouble> {
    match (status, reason) {
        ("completed", _) => Ok(Some(Finish::Stop.into())),
        ("incomplete", None) => Ok(Some(Finish::Length.into())),
        ("incomplete", Some(reason)) => ending(reason),
        (status, _) if is_beginning(status) => Ok(None),
        (status, _) => Err(stopped(&format!("with the status {status}"))),
    }
}
