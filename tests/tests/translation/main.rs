//! From events to the protocol: a row for each event, live and replayed, and every message valid in the protocol's schema.

#![allow(clippy::unwrap_used, reason = "tests")]

mod asks;
mod events;
mod faults;
mod gates;
mod greeting;
mod lengths;
mod notices;
mod questions;
mod rows;
mod sessions;
mod terminal;

use acp_adapter::agent::Client;
use acp_adapter::agent::to_acp::{self, Effect};
use agent_core::event::{Envelope, Event};
use serde_json::{Value, json};
use talaria_tests::schema::valid;

#[track_caller]
fn live(event: Event) -> Vec<Value> {
    let effects = to_acp::live(envelope(event), &Client::default());
    effects.into_iter().map(shown).collect()
}

#[track_caller]
fn replay(event: Event) -> Vec<Value> {
    let effects = to_acp::replay(envelope(event), &Client::default());
    effects.into_iter().map(shown).collect()
}

fn envelope(event: Event) -> Envelope {
    Envelope {
        session: "s".into(),
        turn: None,
        seq: 9,
        event,
    }
}

/// An effect as a short value, valid in the schema.
#[track_caller]
fn shown(effect: Effect) -> Value {
    match effect {
        Effect::Update(update) => valid("SessionUpdate", update),
        Effect::Note(update) => json!({ "note": valid("SessionUpdate", update)["content"]["text"] }),
        Effect::Ask { approval, request } => {
            json!({ "ask": valid("RequestPermissionRequest", request), "approval": approval.as_str() })
        }
        Effect::Decided(approval) => json!({ "decided": approval.as_str() }),
        Effect::EndTurn(Ok(response)) => valid("PromptResponse", response),
        Effect::EndTurn(Err(error)) => valid("Error", error),
    }
}
