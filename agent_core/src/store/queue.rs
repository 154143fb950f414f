//! What waits to be written, in order. Reads look here too, so that nothing seems to be missing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossbeam_channel::{SendError, Sender};
use parking_lot::Mutex;

use super::append::Append;
use super::ending::EndReason;
use super::error::Held;
use super::fork::Fork;
use super::grant::GrantChange;
use super::import::Importing;
use super::passage::OwnTurns;
use super::prune::Candidate;
use super::trouble::Trouble;
use super::{SessionRecord, index};
use crate::event::Envelope;
use crate::id::SessionId;

/// The bytes that may wait.
const ROOM: usize = 64 * 1024 * 1024;

/// Something to be written, whole or not at all.
pub(super) enum Work {
    Append(Append),
    Claim(SessionId),
    /// With the reason, where the session ends.
    Release(SessionId, Option<EndReason>),
    Reopen(SessionId),
    Recover(SessionId),
    Grant(GrantChange),
    Fork(Fork),
    Delete(SessionId),
    Prune(Candidate),
    Rename(SessionId, String),
    Archive(SessionId, bool),
    Import(Box<Importing>),
    Reindex,
    Vacuum,
}

impl Work {
    fn size(&self) -> usize {
        const FLAT: usize = 256;
        match self {
            Self::Append(append) => append.size(),
            Self::Import(import) => import.size(),
            Self::Claim(_)
            | Self::Release(..)
            | Self::Reopen(_)
            | Self::Recover(_)
            | Self::Grant(_)
            | Self::Fork(_)
            | Self::Delete(_)
            | Self::Prune(_)
            | Self::Rename(..)
            | Self::Archive(..)
            | Self::Reindex
            | Self::Vacuum => FLAT,
        }
    }
}

/// Why something was not written.
pub(super) enum Fault {
    /// SQLite could not; a later try may do better.
    Sql(rusqlite::Error),
    /// The index of what was said is damaged; what was to be stored is not.
    Index(rusqlite::Error),
    /// Another process holds the session.
    Held(Held),
    /// It can never be written; a sentence says why.
    Refused(String),
}

impl Fault {
    /// For what was done to the index.
    pub(super) fn of_index(error: rusqlite::Error) -> Self {
        if index::is_own_fault(&error) {
            return Self::Index(error);
        }
        Self::Sql(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// What became of it.
pub(super) enum Outcome {
    Written,
    Held(Held),
    Refused(String),
}

/// Work with its way back to whoever waits for it.
pub(super) struct Entry {
    pub(super) work: Work,
    /// Holds one outcome; nobody may be waiting any more.
    pub(super) outcome: Sender<Outcome>,
    size: usize,
}

/// Shared by callers, who add, and the writer, who takes away.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// The turns of this process that the core answers itself.
    own: Mutex<OwnTurns>,
}

#[derive(Default)]
struct State {
    entries: VecDeque<Arc<Entry>>,
    size: usize,
    /// The first entry is being written at this moment.
    is_at_work: bool,
    /// Why the first entry can't be written now. While it is set nobody waits.
    trouble: Option<Trouble>,
    /// Sessions that have no row yet. One leaves with its first row, or with its release.
    created: HashMap<SessionId, Arc<SessionRecord>>,
    /// Why rows that had waited were refused when nobody waited for them any more; told with the session's next append.
    lost: HashMap<SessionId, String>,
    /// Why the index could not be made anew, the beginning of a sentence. What failed once would fail again.
    broken_index: Option<String>,
}

/// How an entry got into the queue.
pub(super) enum Place {
    /// The writer will come to it.
    Next(Arc<Entry>),
    /// It waits behind what can't be written now; the reason.
    Stuck(Arc<Entry>, Trouble),
    /// There is no room; it is not there.
    NoRoom,
}

impl Queue {
    pub(super) fn push(&self, work: Work, outcome: Sender<Outcome>) -> Place {
        let size = work.size();
        let mut state = self.state.lock();
        if state.size + size > ROOM && !state.entries.is_empty() {
            return Place::NoRoom;
        }
        // What was tried in vain and taken back says nothing of this.
        if state.entries.is_empty() {
            state.trouble.take_if(|trouble| !trouble.is_final());
        }
        let stuck = state.trouble.clone().filter(|_| !state.entries.is_empty());
        state.size += size;
        let entry = Arc::new(Entry { work, outcome, size });
        state.entries.push_back(entry.clone());
        match stuck {
            Some(trouble) => Place::Stuck(entry, trouble),
            None => Place::Next(entry),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().entries.is_empty()
    }

    /// The first entry, which nobody takes back before it is finished or let be.
    pub(super) fn begin_first(&self) -> Option<Arc<Entry>> {
        let mut state = self.state.lock();
        let first = state.entries.front().cloned();
        state.is_at_work = first.is_some();
        first
    }

    /// Leaves the first entry where it is, for another try.
    pub(super) fn let_first_be(&self) {
        self.state.lock().is_at_work = false;
    }

    /// Takes an entry away that is not being written; why it was not written yet, if that is known. Nothing if it is
    /// being written, or was.
    pub(super) fn take_back(&self, entry: &Arc<Entry>) -> Option<Trouble> {
        let mut state = self.state.lock();
        let place = state.entries.iter().position(|other| Arc::ptr_eq(other, entry))?;
        if place == 0 && state.is_at_work {
            return None;
        }
        let trouble = state.trouble.clone().unwrap_or(Trouble::Slow);
        state.entries.remove(place);
        state.size -= entry.size;
        Some(trouble)
    }

    /// Takes the first entry away and says what became of it.
    pub(super) fn finish_first(&self, outcome: Outcome) {
        let entry = {
            let mut state = self.state.lock();
            state.trouble = None;
            state.is_at_work = false;
            let entry = state.entries.pop_front().expect("only the writer takes entries away");
            state.size -= entry.size;
            match (&entry.work, &outcome) {
                (Work::Append(append), Outcome::Written) => {
                    state.created.remove(&append.session);
                }
                (Work::Reindex, Outcome::Refused(reason)) => state.broken_index = Some(reason.clone()),
                _ => {}
            }
            entry
        };
        // Whoever asked may have stopped waiting.
        if let Err(SendError(outcome)) = entry.outcome.send(outcome)
            && let Work::Append(append) = &entry.work
        {
            self.note_loss(&append.session, outcome);
        }
    }

    fn note_loss(&self, session: &SessionId, outcome: Outcome) {
        let reason = match outcome {
            Outcome::Written => return,
            Outcome::Held(held) => held.not_saved(),
            Outcome::Refused(reason) => reason,
        };
        self.state.lock().lost.insert(session.clone(), reason);
    }

    /// Why rows that had waited were refused, if that happened and was not told yet.
    pub(super) fn take_loss(&self, session: &SessionId) -> Option<String> {
        self.state.lock().lost.remove(session)
    }

    /// Says why the first entry can't be written, and whether that is news.
    pub(super) fn set_trouble(&self, trouble: Trouble) -> bool {
        let old = self.state.lock().trouble.replace(trouble.clone());
        old.is_none_or(|old| old != trouble)
    }

    /// The reason for the wait, or `guess` if nobody knows a better one yet.
    pub(super) fn trouble_or(&self, guess: Trouble) -> Trouble {
        let mut state = self.state.lock();
        if state.entries.is_empty() {
            return guess;
        }
        state.trouble.get_or_insert(guess).clone()
    }

    /// Why the first entry can't be written now, where somebody knows.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.state.lock().trouble.clone()
    }

    /// Why the index could not be made anew, once that was tried.
    pub(super) fn broken_index(&self) -> Option<String> {
        self.state.lock().broken_index.clone()
    }

    /// Whether the index is being made anew, or waits for that.
    pub(super) fn has_reindex(&self) -> bool {
        let state = self.state.lock();
        state.entries.iter().any(|entry| matches!(entry.work, Work::Reindex))
    }

    pub(super) fn create(&self, record: SessionRecord) {
        self.state.lock().created.insert(record.id.clone(), Arc::new(record));
    }

    pub(super) fn created(&self, session: &SessionId) -> Option<Arc<SessionRecord>> {
        self.state.lock().created.get(session).cloned()
    }

    /// Forgets a session that was never prompted. Its waiting rows, if there are any, carry the record themselves.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut state = self.state.lock();
        state.created.remove(session);
        state.lost.remove(session);
    }

    /// Of each event whether it belongs to a turn that the core answers itself.
    pub(super) fn are_own(&self, envelopes: &[Envelope]) -> Vec<bool> {
        let mut own = self.own.lock();
        envelopes.iter().map(|envelope| own.take(envelope)).collect()
    }

    /// All entries that append to one session, or to any.
    pub(super) fn appends(&self, session: Option<&SessionId>) -> Vec<Arc<Entry>> {
        let state = self.state.lock();
        let wanted = |entry: &&Arc<Entry>| {
            let append = entry.append();
            append.is_some_and(|append| session.is_none_or(|session| append.session == *session))
        };
        state.entries.iter().filter(wanted).cloned().collect()
    }
}

impl Entry {
    /// The append it is, if it is one.
    pub(super) fn append(&self) -> Option<&Append> {
        match &self.work {
            Work::Append(append) => Some(append),
            Work::Claim(_)
            | Work::Release(..)
            | Work::Reopen(_)
            | Work::Recover(_)
            | Work::Grant(_)
            | Work::Fork(_)
            | Work::Delete(_)
            | Work::Prune(_)
            | Work::Rename(..)
            | Work::Archive(..)
            | Work::Import(_)
            | Work::Reindex
            | Work::Vacuum => None,
        }
    }
}
