//! What of an event can be found: who said it, and its text.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::content::plain_text;
use crate::event::{Envelope, Event, SessionChange, ToolOutput};
use crate::id::{SessionId, TurnId};
use crate::search::{FROM_HISTORY, Role};

/// The most of a tool's output that is found.
const OUTPUT: usize = 4 * 1024;

/// The most of a message that is found.
const MESSAGE: usize = 1024 * 1024;

/// The kinds of events that have something to find, as a list in SQL.
pub(super) const KINDS: &str = "'user_message', 'user_steered', 'agent_text', 'tool_started', 'tool_finished', 'session_changed', \
     'turn_finished', 'turn_failed'";

/// The tool whose calls repeat what is found.
const SEARCHES: &str = "session_search";

/// What of an event can be found; nothing of what has no text, and nothing of what only repeats the history.
pub(super) fn of(event: &Event) -> Option<(Role, Cow<'_, str>)> {
    let (role, text) = match event {
        Event::UserMessage {
            content,
            command: false,
            ..
        }
        | Event::UserSteered { content, .. } => (Role::User, Cow::Owned(plain_text(content))),
        Event::AgentText { text, .. } => (Role::Agent, Cow::Borrowed(text.as_str())),
        Event::ToolStarted { call } if call.name != SEARCHES => (Role::Tool, Cow::Borrowed(call.title.as_str())),
        Event::ToolFinished { outcome, .. } if !repeats_history(&outcome.output) => {
            (Role::Tool, Cow::Borrowed(beginning(&outcome.output.text, OUTPUT)))
        }
        Event::SessionChanged {
            change: SessionChange::Title(title),
        } => (Role::Title, Cow::Borrowed(title.as_str())),
        Event::UserMessage { command: true, .. }
        | Event::AgentThought { .. }
        | Event::ToolStarted { .. }
        | Event::ToolPlanned { .. }
        | Event::ToolProgress { .. }
        | Event::ToolFinished { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::PlanUpdated { .. }
        | Event::StepFinished { .. }
        | Event::Notice { .. }
        | Event::Compacted { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => return None,
    };
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(beginning(text, MESSAGE)),
        Cow::Owned(text) if text.len() > MESSAGE => Cow::Owned(beginning(&text, MESSAGE).to_owned()),
        Cow::Owned(text) => Cow::Owned(text),
    };
    (!text.is_empty()).then_some((role, text))
}

fn repeats_history(output: &ToolOutput) -> bool {
    output.raw.as_ref().is_some_and(|raw| raw[FROM_HISTORY] == true)
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Which turns the core answers itself. What it says there, such as what a search has found, is not found.
#[derive(Default)]
pub(super) struct OwnTurns(HashSet<(SessionId, TurnId)>);

impl OwnTurns {
    /// Takes the next event of a session in, and says whether it belongs to such a turn and is none of its session's
    /// changes.
    pub(super) fn take(&mut self, envelope: &Envelope) -> bool {
        let Some(turn) = envelope.turn else { return false };
        let key = (envelope.session.clone(), turn);
        if matches!(envelope.event, Event::SessionChanged { .. }) {
            return false;
        }
        if matches!(envelope.event, Event::UserMessage { command: true, .. }) {
            self.0.insert(key);
            return true;
        }
        if envelope.event.ends_turn() {
            return self.0.remove(&key);
        }
        self.0.contains(&key)
    }
}
