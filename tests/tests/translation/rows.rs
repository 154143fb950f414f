//! A row for each event: what it leads to now, and in a replay.

mod calls;
mod messages;
mod outcomes;
mod sessions;
mod turns;

use std::collections::BTreeSet;

use agent_core::event::Event;
use serde_json::{Value, json};

use crate::{live, replay};

/// What an event leads to now, and in a replay.
pub(crate) struct Row {
    pub(crate) event: Event,
    live: Vec<Value>,
    replay: Vec<Value>,
}

#[test]
fn each_event_leads_to_these_messages() {
    for row in rows() {
        assert_eq!(live(row.event.clone()), row.live, "live: {:?}", row.event);
        assert_eq!(replay(row.event.clone()), row.replay, "replay: {:?}", row.event);
    }
}

#[test]
fn every_event_has_a_row() {
    let covered: BTreeSet<usize> = rows().iter().map(|row| number(&row.event)).collect();
    assert_eq!(covered, (0..19).collect());
}

pub(crate) fn rows() -> Vec<Row> {
    let rows = [
        messages::rows(),
        calls::rows(),
        outcomes::rows(),
        sessions::rows(),
        turns::rows(),
    ];
    rows.into_iter().flatten().collect()
}

/// The event's number. A new event has none, which this match tells at compile time.
fn number(event: &Event) -> usize {
    match event {
        Event::UserMessage { .. } => 0,
        Event::AgentText { .. } => 1,
        Event::AgentThought { .. } => 2,
        Event::ToolStarted { .. } => 3,
        Event::ToolPlanned { .. } => 4,
        Event::ToolProgress { .. } => 5,
        Event::ToolFinished { .. } => 6,
        Event::ApprovalRequested { .. } => 7,
        Event::ApprovalDecided { .. } => 8,
        Event::PlanUpdated { .. } => 9,
        Event::StepFinished { .. } => 10,
        Event::Notice { .. } => 11,
        Event::Compacted { .. } => 16,
        Event::HistoryMoved { .. } => 12,
        Event::SessionChanged { .. } => 13,
        Event::TurnFinished { .. } => 14,
        Event::TurnFailed { .. } => 15,
        Event::UserSteered { .. } => 17,
        Event::FilesKept { .. } => 18,
    }
}

fn same(event: Event, both: Vec<Value>) -> Row {
    Row {
        event,
        live: both.clone(),
        replay: both,
    }
}

fn only_live(event: Event, live: Vec<Value>) -> Row {
    Row {
        event,
        live,
        replay: Vec::new(),
    }
}

fn chunk(kind: &str, id: &str, content: Value) -> Value {
    json!({ "sessionUpdate": kind, "messageId": id, "content": content })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Text as a tool's content.
fn content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}
