//! When a note may be shown to a client that has no place for notices: inside a turn, and never inside a message.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::SessionUpdate;
use agent_core::event::Event;
use agent_core::id::{MessageId, SessionId, TurnId};

/// Notes that wait in a session; of more, the last.
const MOST: usize = 20;

/// The turns in which something is said, and the notes that wait. Empty at rest, but for notes between turns.
#[derive(Default)]
pub(crate) struct Notes {
    sessions: HashMap<SessionId, Voices>,
}

/// A session's running turns: a command beside a turn is one of its own.
#[derive(Default)]
struct Voices {
    /// The message that is open in each turn.
    turns: HashMap<TurnId, Option<MessageId>>,
    held: Vec<SessionUpdate>,
}

impl Notes {
    /// Follows what happens; gives the notes that are to be shown before it.
    pub(crate) fn before(&mut self, session: &SessionId, turn: Option<TurnId>, event: &Event) -> Vec<SessionUpdate> {
        // What belongs to no turn neither opens nor ends a message.
        let Some(turn) = turn else { return Vec::new() };
        let voices = self.sessions.entry(session.clone()).or_default();
        match event {
            Event::UserMessage { .. } | Event::UserSteered { .. } => voices.say(turn, None),
            Event::AgentText { id, .. } | Event::AgentThought { id, .. } => {
                if voices.speaking(turn) != Some(id) {
                    voices.say(turn, None);
                }
            }
            // A notice may come in the middle of a message, and so may a change of the session.
            Event::Notice { .. } | Event::SessionChanged { .. } => {}
            Event::ToolStarted { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolProgress { .. }
            | Event::ToolFinished { .. }
            | Event::FilesKept { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::Compacted { .. }
            | Event::HistoryMoved { .. }
            | Event::TurnFinished { .. }
            | Event::TurnFailed { .. } => voices.say(turn, None),
        }
        let notes = if voices.are_free() {
            std::mem::take(&mut voices.held)
        } else {
            Vec::new()
        };
        if let Event::AgentText { id, .. } | Event::AgentThought { id, .. } = event {
            voices.say(turn, Some(id));
        }
        if event.ends_turn() {
            voices.turns.remove(&turn);
        }
        if voices.turns.is_empty() && voices.held.is_empty() {
            self.sessions.remove(session);
        }
        notes
    }

    /// Gives a note back if it may be shown now, else keeps it.
    pub(crate) fn place(&mut self, session: &SessionId, note: SessionUpdate) -> Option<SessionUpdate> {
        let voices = self.sessions.entry(session.clone()).or_default();
        if voices.are_free() {
            return Some(note);
        }
        if voices.held.len() == MOST {
            voices.held.remove(0);
        }
        voices.held.push(note);
        None
    }

    /// Forgets a session that is closed.
    pub(crate) fn forget(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }
}

impl Voices {
    /// Notes which message is open in a turn now; a turn is known from its first event on.
    fn say(&mut self, turn: TurnId, message: Option<&MessageId>) {
        self.turns.insert(turn, message.cloned());
    }

    fn speaking(&self, turn: TurnId) -> Option<&MessageId> {
        self.turns.get(&turn)?.as_ref()
    }

    /// Whether a turn runs, and none is in the middle of a message.
    fn are_free(&self) -> bool {
        !self.turns.is_empty() && self.turns.values().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::ContentChunk;
    use agent_core::event::StopReason;
    use agent_core::provider::Usage;

    const ONE: Option<TurnId> = Some(TurnId(1));
    const BESIDE: Option<TurnId> = Some(TurnId(2));

    fn note(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    fn text(id: &str) -> Event {
        Event::AgentText {
            id: id.into(),
            text: "t".into(),
        }
    }

    fn begin() -> Event {
        Event::UserMessage {
            id: "u".into(),
            content: Vec::new(),
            context: Vec::new(),
            command: false,
        }
    }

    fn end() -> Event {
        Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        }
    }

    #[test]
    fn between_turns_a_note_waits_for_the_next_turn() {
        let (mut notes, session) = (Notes::default(), "s".into());
        assert_eq!(notes.place(&session, note("a")), None);
        assert_eq!(notes.before(&"other".into(), ONE, &begin()), []);
        assert_eq!(notes.before(&session, ONE, &begin()), [note("a")]);
        assert_eq!(notes.place(&session, note("b")), Some(note("b")));
    }

    #[test]
    fn inside_a_message_a_note_waits_for_its_end() {
        let (mut notes, session) = (Notes::default(), "s".into());
        notes.before(&session, ONE, &begin());
        notes.before(&session, ONE, &text("m"));
        assert_eq!(notes.place(&session, note("a")), None);
        assert_eq!(notes.before(&session, ONE, &text("m")), []);
        assert_eq!(notes.before(&session, ONE, &text("n")), [note("a")]);
        assert_eq!(notes.place(&session, note("b")), None);
        assert_eq!(notes.before(&session, ONE, &end()), [note("b")]);
    }

    #[test]
    fn a_command_beside_a_turn_neither_ends_the_turn_nor_its_message() {
        let (mut notes, session) = (Notes::default(), "s".into());
        notes.before(&session, ONE, &begin());
        notes.before(&session, ONE, &text("m"));
        assert_eq!(notes.place(&session, note("a")), None);
        assert_eq!(notes.before(&session, BESIDE, &begin()), []);
        assert_eq!(notes.before(&session, BESIDE, &text("c")), []);
        assert_eq!(notes.before(&session, BESIDE, &end()), []);
        assert_eq!(notes.before(&session, ONE, &text("m")), []);
        assert_eq!(notes.before(&session, ONE, &end()), [note("a")]);
        assert!(notes.sessions.is_empty());
    }

    #[test]
    fn of_too_many_notes_the_last_are_kept() {
        let (mut notes, session) = (Notes::default(), "s".into());
        for number in 0..50 {
            notes.place(&session, note(&number.to_string()));
        }
        let kept = notes.before(&session, ONE, &begin());
        assert_eq!((kept.len(), kept.last()), (MOST, Some(&note("49"))));
    }

    #[test]
    fn nothing_is_kept_at_rest() {
        let (mut notes, session) = (Notes::default(), "s".into());
        notes.before(&session, ONE, &begin());
        notes.before(&session, ONE, &text("m"));
        notes.before(&session, ONE, &end());
        assert!(notes.sessions.is_empty());
        assert_eq!(notes.place(&session, note("a")), None);
        notes.forget(&session);
        assert!(notes.sessions.is_empty());
    }
}
