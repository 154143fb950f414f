//! When a note may be shown to a client that has no place for notices: inside a turn, and never inside a message.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::SessionUpdate;
use agent_core::event::Event;
use agent_core::id::{MessageId, SessionId};

/// The sessions in whose turn something is said, and the notes that wait. Empty at rest, but for notes between turns.
#[derive(Default)]
pub(crate) struct Notes {
    sessions: HashMap<SessionId, Voice>,
}

#[derive(Default)]
struct Voice {
    in_turn: bool,
    /// The message that is open.
    speaking: Option<MessageId>,
    held: Vec<SessionUpdate>,
}

impl Notes {
    /// Follows what happens; gives the notes that are to be shown before it.
    pub(crate) fn before(&mut self, session: &SessionId, event: &Event) -> Vec<SessionUpdate> {
        let voice = self.sessions.entry(session.clone()).or_default();
        let free = match event {
            Event::UserMessage { .. } => {
                voice.in_turn = true;
                voice.say(None)
            }
            Event::AgentText { id, .. } | Event::AgentThought { id, .. } => voice.say(Some(id)),
            // A notice may come in the middle of a message, and so may a change of the session.
            Event::Notice { .. } | Event::SessionChanged { .. } => false,
            Event::ToolStarted { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolProgress { .. }
            | Event::ToolFinished { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::HistoryMoved { .. }
            | Event::TurnFinished { .. }
            | Event::TurnFailed { .. } => voice.say(None),
        };
        let notes = if free && voice.in_turn {
            std::mem::take(&mut voice.held)
        } else {
            Vec::new()
        };
        voice.in_turn &= !event.ends_turn();
        if !voice.in_turn && voice.held.is_empty() {
            self.sessions.remove(session);
        }
        notes
    }

    /// Gives a note back if it may be shown now, else keeps it.
    pub(crate) fn place(&mut self, session: &SessionId, note: SessionUpdate) -> Option<SessionUpdate> {
        let voice = self.sessions.entry(session.clone()).or_default();
        if voice.in_turn && voice.speaking.is_none() {
            return Some(note);
        }
        voice.held.push(note);
        None
    }

    /// Forgets a session that is closed.
    pub(crate) fn forget(&mut self, session: &SessionId) {
        self.sessions.remove(session);
    }
}

impl Voice {
    /// Notes which message is open now; says whether that ended another one, or none was open.
    fn say(&mut self, message: Option<&MessageId>) -> bool {
        let other = self.speaking.as_ref() != message || message.is_none();
        self.speaking = message.cloned();
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::ContentChunk;
    use agent_core::event::StopReason;
    use agent_core::provider::Usage;

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
        assert_eq!(notes.before(&"other".into(), &begin()), []);
        assert_eq!(notes.before(&session, &begin()), [note("a")]);
        assert_eq!(notes.place(&session, note("b")), Some(note("b")));
    }

    #[test]
    fn inside_a_message_a_note_waits_for_its_end() {
        let (mut notes, session) = (Notes::default(), "s".into());
        notes.before(&session, &begin());
        notes.before(&session, &text("m"));
        assert_eq!(notes.place(&session, note("a")), None);
        assert_eq!(notes.before(&session, &text("m")), []);
        assert_eq!(notes.before(&session, &text("n")), [note("a")]);
        assert_eq!(notes.place(&session, note("b")), None);
        assert_eq!(notes.before(&session, &end()), [note("b")]);
    }

    #[test]
    fn nothing_is_kept_at_rest() {
        let (mut notes, session) = (Notes::default(), "s".into());
        notes.before(&session, &begin());
        notes.before(&session, &text("m"));
        notes.before(&session, &end());
        assert!(notes.sessions.is_empty());
        assert_eq!(notes.place(&session, note("a")), None);
        notes.forget(&session);
        assert!(notes.sessions.is_empty());
    }
}
