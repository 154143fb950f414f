//! Sessions that are in a store already, made without an agent.

use std::path::Path;

use agent_core::content::Content;
use agent_core::event::{ContextUse, Envelope, Event, StopReason};
use agent_core::id::{MessageId, SessionId, TurnId};
use agent_core::provider::{Finish, Usage};
use agent_core::store::{Durability, Kept, SessionRecord, Store};

/// Rows of a turn: the prompt, the reply, the end of the step and of the turn.
const ROWS: u64 = 4;

/// Stores a session of so many events in all, in turns of a prompt and a reply of one line each; its id.
pub fn session(store: &Store, cwd: &Path, events: u64) -> SessionId {
    let id = SessionId::new();
    store.create(record(&id, cwd));
    for turn in 1..=events.div_ceil(ROWS) {
        let first = (turn - 1) * ROWS + 1;
        let envelopes = (first..).zip(turn_of(turn)).map(|(seq, event)| Envelope {
            session: id.clone(),
            turn: Some(TurnId(turn)),
            seq,
            event,
        });
        let kept = store.append(&id, envelopes.collect(), Durability::Process);
        assert_eq!(kept, Kept::Stored);
    }
    id
}

fn turn_of(turn: u64) -> [Event; ROWS as usize] {
    [
        Event::UserMessage {
            id: MessageId::new(),
            content: vec![Content::text(format!(
                "What does function number {turn} of this module return?"
            ))],
            context: Vec::new(),
            command: false,
        },
        Event::AgentText {
            id: MessageId::new(),
            text: format!("Function number {turn} returns the sum of its two arguments, or nothing if they overflow."),
        },
        Event::StepFinished {
            step: 1,
            model: None,
            usage: Usage::default(),
            context: ContextUse::default(),
            finish: Finish::Stop,
            native: None,
        },
        Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        },
    ]
}

/// A prompt as it is stored.
pub fn user(text: &str) -> Event {
    Event::UserMessage {
        id: MessageId::from("m"),
        content: vec![Content::text(text)],
        context: Vec::new(),
        command: false,
    }
}

/// A whole reply, or a piece of one.
pub fn agent(text: &str) -> Event {
    Event::AgentText {
        id: MessageId::from("m"),
        text: text.into(),
    }
}

/// A session as it is before its first turn.
pub fn record(id: &SessionId, cwd: &Path) -> SessionRecord {
    SessionRecord {
        source: "acp".into(),
        title: Some("What do these functions return?".into()),
        system: "You help.".into(),
        ..SessionRecord::new(id.clone(), cwd.to_owned(), 1)
    }
}
