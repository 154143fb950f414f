//! A session's line outward: number, store, send, in one order.
//!
//! Its lock is held while an event is stored, since that is what makes the order of rows and the order of what is sent
//! the same. Nobody waits for the surface under it: whoever streams waits for room before. A surface's own thread
//! never takes it.

mod replaying;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::cancel::Cancel;
use crate::event::{ContextUse, Envelope, Event, OldFile, SessionChange, Severity};
use crate::id::{MessageId, SessionId, ToolCallId, TurnId};
use crate::outward::{Answer, CallError, CallId, Outlet, Outward, Parcel, SessionView};
use crate::store::{Durability, Kept, OpenMessage, Store};

/// The line of one session. Clones share it.
#[derive(Clone)]
pub(crate) struct Line(Arc<Inner>);

struct Inner {
    session: SessionId,
    store: Store,
    outlet: Outlet,
    state: Mutex<State>,
    /// Held by the one replay that is on its way.
    replaying: Mutex<()>,
}

struct State {
    /// The number of the newest row, open messages included.
    last_seq: u64,
    /// Messages that are being spoken, by the number their row will have.
    speeches: Vec<Open>,
    /// Turns that have begun and not ended.
    turns: Vec<TurnId>,
    /// What happens while a replay is on its way; sent behind it.
    held: Option<Vec<Parcel>>,
    /// The user has been told that events wait to be stored.
    told_unsaved: bool,
    /// The user has been told in this turn that events are lost.
    told_lost: bool,
    /// This process is the session's writer. While it is not, what happens here is sent and neither numbered nor
    /// stored: the rows are another process's.
    is_writer: bool,
    /// Changes of the session that happened meanwhile; stored when it becomes the writer.
    unstored: Vec<SessionChange>,
}

struct Open {
    seq: u64,
    turn: Option<TurnId>,
    id: MessageId,
    voice: Voice,
    message: OpenMessage,
}

impl State {
    fn follow(&mut self, turn: Option<TurnId>, event: &Event) {
        if matches!(event, Event::UserMessage { .. }) {
            self.turns.extend(turn);
        } else if event.ends_turn() {
            self.turns.retain(|running| Some(*running) != turn);
            self.told_lost = false;
        }
    }
}

/// What a chunk of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    Text,
    Thought,
}

impl Voice {
    fn event(self, id: MessageId, text: String) -> Event {
        match self {
            Self::Text => Event::AgentText { id, text },
            Self::Thought => Event::AgentThought { id, text },
        }
    }
}

impl Line {
    /// The line of a session whose newest row is `last_seq`.
    pub(crate) fn new(session: SessionId, store: Store, outlet: Outlet, last_seq: u64) -> Self {
        let state = State {
            last_seq,
            speeches: Vec::new(),
            turns: Vec::new(),
            held: None,
            told_unsaved: false,
            told_lost: false,
            is_writer: false,
            unstored: Vec::new(),
        };
        Self(Arc::new(Inner {
            session,
            store,
            outlet,
            state: Mutex::new(state),
            replaying: Mutex::new(()),
        }))
    }

    /// From now on this process writes the session's rows: first of all what has changed while it did not. In one step,
    /// so that no change is stored before an older one.
    pub(crate) fn take_over(&self, turn: TurnId) {
        let mut state = self.0.state.lock();
        state.is_writer = true;
        for change in std::mem::take(&mut state.unstored) {
            self.emit_under(&mut state, Some(turn), Event::SessionChanged { change });
        }
    }

    /// Another process writes the session's rows.
    pub(crate) fn step_back(&self) {
        self.0.state.lock().is_writer = false;
    }

    /// Goes on from the row `last_seq`: another process has written up to it, and does not know of these changes.
    pub(crate) fn go_on_from(&self, last_seq: u64, changes: impl Iterator<Item = SessionChange>) {
        let mut state = self.0.state.lock();
        state.last_seq = last_seq;
        state.unstored = changes.collect();
    }

    /// Numbers an event, stores it, sends it.
    pub(crate) fn emit(&self, turn: Option<TurnId>, event: Event) -> Envelope {
        self.emit_under(&mut self.0.state.lock(), turn, event)
    }

    /// The same for files that are about to change, with what they hold. That is safe if it comes back as stored.
    pub(crate) fn emit_kept(
        &self,
        turn: TurnId,
        call: Option<ToolCallId>,
        files: Vec<OldFile>,
        limit: u64,
    ) -> (Envelope, Kept) {
        let bytes = files.iter().filter_map(|file| file.bytes.clone()).collect();
        let files = files.into_iter().map(|file| file.file).collect();
        self.emit_beside(turn, Event::FilesKept { call, files }, bytes, limit)
    }

    /// The same for an event of a session that is to keep no more than so many bytes from then on.
    pub(crate) fn emit_bounded(&self, turn: TurnId, event: Event, limit: u64) {
        self.emit_beside(turn, event, Vec::new(), limit);
    }

    fn emit_beside(&self, turn: TurnId, event: Event, bytes: Vec<Arc<[u8]>>, limit: u64) -> (Envelope, Kept) {
        let mut state = self.0.state.lock();
        if state.is_writer {
            state.last_seq += 1;
        }
        let envelope = self.envelope(Some(turn), state.last_seq, event);
        let kept = match state.is_writer {
            true => self.0.store.keep(&self.0.session, envelope.clone(), bytes, limit),
            false => Kept::Lost("Not saved: another process writes this session.".to_owned()),
        };
        if state.is_writer {
            self.tell(&mut state, Some(turn), kept.clone());
        }
        self.send(&mut state, Outward::Live(envelope.clone()));
        (envelope, kept)
    }

    fn emit_under(&self, state: &mut State, turn: Option<TurnId>, event: Event) -> Envelope {
        let durability = if event.ends_turn() {
            Durability::Disk
        } else {
            Durability::Process
        };
        if let Event::SessionChanged { change } = &event
            && !state.is_writer
        {
            state.unstored.push(change.clone());
        }
        let live_only = event.is_live_only() || !state.is_writer;
        if !live_only {
            state.last_seq += 1;
        }
        let envelope = self.envelope(turn, state.last_seq, event);
        if !live_only {
            self.keep(state, turn, envelope.clone(), durability);
        }
        state.follow(turn, &envelope.event);
        self.send(state, Outward::Live(envelope.clone()));
        envelope
    }

    /// Begins a message. Only a turn speaks, and only in a session that this process writes.
    pub(crate) fn speak(&self, turn: Option<TurnId>, id: MessageId, voice: Voice) -> Speech {
        Speech {
            line: self.clone(),
            turn,
            id,
            voice,
            seq: None,
        }
    }

    /// Numbers a message, with its first word.
    fn open(&self, state: &mut State, speech: &Speech) -> u64 {
        state.last_seq += 1;
        let seq = state.last_seq;
        let silence = speech.voice.event(speech.id.clone(), String::new());
        let message = self.0.store.open_message(&self.0.session, speech.turn, seq, silence);
        state.speeches.push(Open {
            seq,
            turn: speech.turn,
            id: speech.id.clone(),
            voice: speech.voice,
            message,
        });
        seq
    }

    /// Waits until the surface has room, or until a cancel. For whoever produces much; before it takes the line.
    pub(crate) fn wait_for_room(&self, cancel: &Cancel) {
        self.0.outlet.wait_for_room(cancel);
    }

    /// The number of the newest row.
    pub(crate) fn last_seq(&self) -> u64 {
        self.0.state.lock().last_seq
    }

    /// Shows an option's new value, in its place among the session's events.
    pub(crate) fn show(&self, change: SessionChange, view: SessionView) {
        self.send(&mut self.0.state.lock(), Outward::OptionChanged { change, view });
    }

    /// Shows how full the context is, in its place among the session's events.
    pub(crate) fn show_context(&self, context: ContextUse) {
        let session = self.0.session.clone();
        self.send(&mut self.0.state.lock(), Outward::ContextChanged { session, context });
    }

    /// Sends an answer in its place among the session's events.
    pub(crate) fn answer(&self, call: CallId, result: Result<Answer, CallError>) {
        self.send(&mut self.0.state.lock(), Outward::Answer { call, result });
    }

    fn envelope(&self, turn: Option<TurnId>, seq: u64, event: Event) -> Envelope {
        Envelope {
            session: self.0.session.clone(),
            turn,
            seq,
            event,
        }
    }

    fn send(&self, state: &mut State, outward: Outward) {
        let parcel = self.0.outlet.pack(outward);
        match &mut state.held {
            Some(held) => {
                self.0.outlet.hold(&parcel);
                held.push(parcel);
            }
            None => self.0.outlet.deliver(parcel),
        }
    }

    fn keep(&self, state: &mut State, turn: Option<TurnId>, envelope: Envelope, durability: Durability) {
        let kept = self.0.store.append(&self.0.session, vec![envelope], durability);
        self.tell(state, turn, kept);
    }

    /// Tells the user what was not stored, once.
    fn tell(&self, state: &mut State, turn: Option<TurnId>, kept: Kept) {
        let (severity, title, reason) = match kept {
            Kept::Stored => {
                state.told_unsaved = state.told_unsaved && self.0.store.is_behind(&self.0.session);
                return;
            }
            Kept::Waiting(_) if state.told_unsaved => return,
            Kept::Waiting(reason) => {
                state.told_unsaved = true;
                (Severity::Warning, "this session is not saved at the moment", reason)
            }
            Kept::Lost(_) if state.told_lost => return,
            Kept::Lost(reason) => {
                state.told_lost = true;
                (Severity::Error, "part of this session is lost", reason)
            }
        };
        let notice = Event::Notice {
            severity,
            title: title.into(),
            detail: Some(reason),
        };
        let notice = self.envelope(turn, state.last_seq, notice);
        self.send(state, Outward::Live(notice));
    }
}

/// A message that is being spoken. Its row is written when it ends, by [`Speech::end`] or by being dropped.
pub(crate) struct Speech {
    line: Line,
    turn: Option<TurnId>,
    id: MessageId,
    voice: Voice,
    /// Its number, from its first word on, so that the rows are in the order of what is seen.
    seq: Option<u64>,
}

impl Speech {
    /// What its chunks are.
    pub(crate) fn voice(&self) -> Voice {
        self.voice
    }

    /// Says the next piece, when the surface has room or at a cancel.
    pub(crate) fn say(&mut self, text: String, cancel: &Cancel) {
        let line = &self.line;
        line.wait_for_room(cancel);
        let mut state = line.0.state.lock();
        let seq = self.seq.unwrap_or_else(|| line.open(&mut state, self));
        self.seq = Some(seq);
        let Some(open) = state.speeches.iter_mut().find(|open| open.seq == seq) else {
            return;
        };
        open.message.push(&text);
        let envelope = line.envelope(open.turn, open.seq, open.voice.event(open.id.clone(), text));
        line.send(&mut state, Outward::Live(envelope));
    }

    /// Ends the message; its whole text comes back as it was stored.
    pub(crate) fn end(self) -> Option<Envelope> {
        self.close()
    }

    fn close(&self) -> Option<Envelope> {
        let mut state = self.line.0.state.lock();
        let index = state.speeches.iter().position(|open| Some(open.seq) == self.seq)?;
        let open = state.speeches.remove(index);
        let turn = open.turn;
        let envelope = open.message.finish();
        self.line.keep(&mut state, turn, envelope.clone(), Durability::Process);
        Some(envelope)
    }
}

impl Drop for Speech {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::outward::outlet;

    #[test]
    fn messages_are_numbered_by_their_first_words() {
        let (outlet, _inlet) = outlet();
        let line = Line::new("s".into(), Store::memory(), outlet, 0);
        let mut speeches = ["a", "b"].map(|id| line.speak(Some(TurnId(1)), id.into(), Voice::Text));
        for speech in speeches.iter_mut().rev() {
            speech.say("word".to_owned(), &Cancel::new());
        }
        let numbers = speeches.map(|speech| speech.end().unwrap().seq);
        assert_eq!(numbers, [2, 1]);
        let silent = line.speak(Some(TurnId(1)), "c".into(), Voice::Text);
        assert_eq!(silent.end(), None);
    }
}
