//! The store: every session's events in one SQLite file that all processes of the user share.
//!
//! Writes are queued to one thread and answered when they are committed, or after a second with the reason why they
//! still wait; reads see what waits as if it were stored. Nothing here knows what a turn is.

mod absent;
mod append;
mod backup;
mod blob;
mod changes;
mod claim;
mod conditions;
mod database;
mod ending;
mod error;
mod excerpt;
mod fork;
mod grant;
mod health;
mod holders;
mod holding;
mod import;
mod index;
mod kept;
mod lease;
mod lineage;
mod list;
mod location;
mod log;
mod lone_log;
mod matches;
mod mending;
mod message;
mod moves;
mod opening;
mod part;
mod passage;
mod prune;
mod queue;
mod reader;
mod record;
mod repair;
mod room;
mod schema;
mod search;
mod session;
mod still;
mod titles;
mod trouble;
mod value;
mod writer;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rusqlite::Connection;

use crate::event::{Envelope, Event};
use crate::id::{SessionId, TurnId};
use crate::outward::SessionPage;

pub use ending::{EndReason, Ended};
pub use error::{ChangeError, Held, ListError, SearchError, StoreError};
pub use fork::{Fork, ForkSet};
pub use health::{Health, Pages};
pub use import::Import;
pub use lineage::{ImportError, Renamed};
pub use list::Archived;
pub use message::OpenMessage;
pub use part::SHOWN;
pub use prune::{Candidate, Prune};
pub use record::{Dated, Durability, Kept, Parent, SessionRecord};
pub use repair::{Lost, Repair, RepairError, Salvaged, Tidied, repair};
pub use room::Room;

use append::Append;
use database::Database;
pub use grant::StandingGrant;
use kept::Keeping;
use list::{BadCursor, Filter};
use moves::Move;
use opening::Opening;
use queue::{Outcome, Work};
use trouble::Trouble;

/// The store. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Opening>);

impl Store {
    fn database(&self) -> &Database {
        &self.0.database
    }

    /// That there is nothing more; an error where nobody can know.
    fn nothing_more(&self) -> Result<(), StoreError> {
        match self.0.unread.clone() {
            Some(reason) => Err(StoreError::Unread { reason }),
            None => Ok(()),
        }
    }

    /// What the user should know about where things are saved.
    pub fn warning(&self) -> Option<String> {
        let warnings: Vec<String> = [self.absent(), self.0.warning.clone()].into_iter().flatten().collect();
        (!warnings.is_empty()).then(|| warnings.join(" "))
    }

    /// What the user should know of a history that was there before, and that this store begins anew.
    pub fn absent(&self) -> Option<String> {
        self.0.absent.clone()
    }

    /// Remembers a new session. Its row is written with its first events; one that never has any leaves nothing.
    pub fn create(&self, record: SessionRecord) {
        self.database().queue.create(record);
    }

    /// Stores events together, and waits for it, but not for long. What can't be stored now waits in memory, in
    /// order, and reads see it; what can never be stored is lost. Events that are live only are left out.
    pub fn append(&self, session: &SessionId, mut envelopes: Vec<Envelope>, durability: Durability) -> Kept {
        envelopes.retain(|envelope| !envelope.event.is_live_only());
        if envelopes.is_empty() {
            return Kept::Stored;
        }
        let kept = self.write_rows(session, envelopes, durability, None);
        self.database().queue.take_loss(session).map_or(kept, Kept::Lost)
    }

    /// Stores an event with bytes that it names by their hashes, which is safe from a power cut when this returns. A
    /// session keeps so many bytes in all; what was kept first goes first.
    pub fn keep(&self, session: &SessionId, envelope: Envelope, bytes: Vec<Arc<[u8]>>, limit: u64) -> Kept {
        let keeping = Keeping::new(bytes, limit);
        let kept = self.write_rows(session, vec![envelope], Durability::Disk, Some(keeping));
        self.database().queue.take_loss(session).map_or(kept, Kept::Lost)
    }

    fn write_rows(
        &self,
        session: &SessionId,
        envelopes: Vec<Envelope>,
        durability: Durability,
        keeping: Option<Keeping>,
    ) -> Kept {
        let created = self.database().queue.created(session);
        let own = self.database().queue.are_own(&envelopes);
        match Append::new(session.clone(), envelopes, durability, created, &own) {
            Ok(append) => match self.database().write(Work::Append(append.beside(keeping))) {
                Ok(Outcome::Written) => Kept::Stored,
                Ok(Outcome::Held(held)) => Kept::Lost(held.not_saved()),
                Ok(Outcome::Refused(reason)) => Kept::Lost(reason),
                Err(reason) => Kept::Waiting(reason),
            },
            Err(error) => Kept::Lost(format!(
                "Not saved: an event of session {session} has no JSON form ({error})."
            )),
        }
    }

    /// Whether rows of a session wait to be stored.
    pub fn is_behind(&self, session: &SessionId) -> bool {
        !self.database().queue.appends(Some(session)).is_empty()
    }

    /// Begins a message that will be the row `seq`; `event` is its text or thought, empty.
    pub fn open_message(&self, session: &SessionId, turn: Option<TurnId>, seq: u64, event: Event) -> OpenMessage {
        let envelope = Envelope {
            session: session.clone(),
            turn,
            seq,
            event,
        };
        OpenMessage::new(envelope, self.database().wake.clone())
    }

    /// A session's record, with what waits to be stored.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        // What waits is looked at before the database: a row that is stored in between is seen twice and not missed.
        let waiting = self.database().queue.appends(Some(id));
        let created = self.database().queue.created(id);
        let stored = match created {
            Some(_) => None,
            None => self
                .database()
                .read(format!("session {id}"), |connection| session::read(connection, id))?,
        };
        let first = waiting.iter().find_map(|entry| entry.append()?.created.clone());
        let Some(mut record) = stored.or_else(|| created.or(first).map(|record| SessionRecord::clone(&record))) else {
            return self.nothing_more().map(|()| None);
        };
        let stored_upto = record.last_seq;
        for append in waiting.iter().filter_map(|entry| entry.append()) {
            for envelope in append.envelopes.iter().filter(|envelope| envelope.seq > stored_upto) {
                session::fold(&mut record, envelope, append.at_ms);
            }
        }
        Ok(Some(record))
    }

    /// The sessions whose ids begin or end with `part`, or whose ends do as a list shows them, the newest first, at most
    /// ten. The beginning of an id is the time it was made at, so that sessions of one day have it in common; its end is
    /// random.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn find(&self, part: &str) -> Result<Vec<SessionId>, StoreError> {
        let waiting = self.database().waiting_sessions();
        let mut found = self
            .database()
            .read(format!("the sessions named `{part}`"), |connection| {
                part::find(connection, part)
            })?;
        let is_named = |id: &SessionId| part::names(part, id.as_str(), part::SHOWN);
        found.extend(waiting.into_iter().filter(is_named));
        found.sort_by(|a, b| b.cmp(a));
        found.dedup();
        found.truncate(reader::FOUND);
        if found.is_empty() {
            self.nothing_more()?;
        }
        Ok(found)
    }

    /// A session's events after the row `after_seq`, in order, at most `limit`. A row that can't be read is passed
    /// over.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn events(&self, id: &SessionId, after_seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        let waiting = self.database().queue.appends(Some(id));
        let mut events = self.read_rows(id, format!("the events of session {id}"), |connection| {
            reader::events(connection, id, after_seq, limit)
        })?;
        let appends = waiting.iter().filter_map(|entry| entry.append());
        let envelopes = appends.flat_map(|append| &append.envelopes);
        events.extend(envelopes.filter(|envelope| envelope.seq > after_seq).cloned());
        // Stable: of a row that was stored meanwhile, the stored one is kept.
        events.sort_by_key(|envelope| envelope.seq);
        events.dedup_by_key(|envelope| envelope.seq);
        events.truncate(limit);
        Ok(events)
    }

    /// The ranges of rows that are out of a session's history: from behind what a
    /// [`Event::HistoryMoved`] keeps to that event itself.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn hidden(&self, id: &SessionId) -> Result<Vec<RangeInclusive<u64>>, StoreError> {
        let waiting = self.database().queue.appends(Some(id));
        let mut moves = self.read_rows(id, format!("the history of session {id}"), |connection| {
            moves::read(connection, id)
        })?;
        let appends = waiting.iter().filter_map(|entry| entry.append());
        moves.extend(appends.flat_map(|append| &append.envelopes).filter_map(Move::of));
        moves.sort_by_key(|moved| moved.row);
        moves.dedup();
        Ok(moves::hidden(&moves))
    }

    /// Reads what is stored of a session, to be asked after looking at what waits. One without a row has nothing
    /// stored, so it can be used even where the database can't be read.
    fn read_rows<T>(
        &self,
        id: &SessionId,
        what: String,
        query: impl FnOnce(&Connection) -> rusqlite::Result<Vec<T>>,
    ) -> Result<Vec<T>, StoreError> {
        match self.database().queue.created(id) {
            Some(_) => Ok(Vec::new()),
            None => self.database().read(what, query),
        }
    }

    /// A page of the sessions that have messages and are not archived, newest activity first; with `cwd` only those of
    /// that folder, compared by real path. A cursor goes on where a page of the same list ended.
    ///
    /// # Errors
    /// When the cursor belongs to no page of this list, or the database can't be read.
    pub fn list(&self, cwd: Option<&Path>, cursor: Option<&str>, limit: usize) -> Result<SessionPage, ListError> {
        self.list_with(cwd, cursor, limit, Archived::LeftOut)
    }

    /// The same, with those that are archived or without.
    ///
    /// # Errors
    /// As there.
    pub fn list_with(
        &self,
        cwd: Option<&Path>,
        cursor: Option<&str>,
        limit: usize,
        archived: Archived,
    ) -> Result<SessionPage, ListError> {
        self.nothing_more()?;
        let cwd = cwd.map(location::real);
        let filter = Filter::new(cwd.as_deref(), cursor, archived).map_err(|BadCursor| ListError::BadCursor)?;
        let mut waiting = Vec::new();
        for id in self.database().waiting_sessions() {
            waiting.extend(self.session(&id)?);
        }
        let mut sessions = self.database().read("the list of sessions".into(), |connection| {
            filter.stored(connection, &waiting, limit.saturating_add(1))
        })?;
        sessions.extend(filter.waiting(waiting));
        Ok(filter.page(sessions, limit))
    }

    /// How the database is; the check of its pages ends after `limit`. It only reads, and nobody who writes waits.
    ///
    /// # Errors
    /// When the database can't be read at all.
    pub fn health(&self, limit: Duration) -> Result<Health, StoreError> {
        self.database()
            .read("how it is".to_owned(), |connection| health::read(connection, limit))
    }

    /// The sessions of which something waits to be written; after [`Self::close`] it never is.
    pub fn unsaved(&self) -> Vec<SessionId> {
        LazyLock::get(&self.0).map_or_else(Vec::new, |opened| opened.database.waiting_sessions())
    }

    /// Why something can't be written now, the beginning of a sentence; after [`Self::close`] why it never was.
    pub fn trouble(&self) -> Option<String> {
        let trouble = LazyLock::get(&self.0)?.database.queue.trouble()?;
        Some(trouble.of_change())
    }

    /// Another program that writes is waited for this long at the end, and not only for a moment: for a process that has
    /// nothing else to do then.
    pub fn wait_at_the_end(&self, limit: Duration) {
        if let Some(opened) = LazyLock::get(&self.0) {
            *opened.database.patience.lock() = limit;
        }
    }

    /// Writes what waits, for a bounded time, lets this process's sessions go, and ends the writer. What is appended
    /// later is lost.
    pub fn close(&self) {
        // One that was never used is not opened for this.
        if let Some(opened) = LazyLock::get(&self.0) {
            opened.database.close();
        }
    }
}

/// What rows wait for where the database is to be opened first.
fn not_open(error: &StoreError) -> Trouble {
    Trouble::NotOpen { why: error.to_string() }
}
