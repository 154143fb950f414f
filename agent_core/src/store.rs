//! The store: every session's events in one SQLite file that all processes of the user share.
//!
//! Writes are queued to one thread and answered when they are committed, or after a second with the reason why they
//! still wait; reads see what waits as if it were stored. Nothing here knows what a turn is.

mod append;
mod blob;
mod error;
mod grant;
mod lease;
mod list;
mod location;
mod message;
mod queue;
mod reader;
mod schema;
mod session;
mod value;
mod writer;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Sender, bounded, unbounded};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::approval::{Grant, Mode};
use crate::event::{ContextUse, Envelope, Event};
use crate::id::{SessionId, TurnId};
use crate::outward::SessionPage;
use crate::provider::{ModelRef, Origin, Usage};

pub use error::{Held, ListError, StoreError};
pub use message::OpenMessage;

use append::Append;
use grant::CommandGrant;
use list::{BadCursor, Filter};
use location::Location;
use queue::{Outcome, Place, Queue, Work};
use reader::{Pool, Readers};
use writer::{Wake, Writer};

/// How long a caller waits for a commit before it goes on without.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the end of the store may take.
const ENDING: Duration = Duration::from_secs(2);

/// The store. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    /// None for a store in memory.
    path: Option<PathBuf>,
    queue: Arc<Queue>,
    readers: Readers,
    /// To the writer; unbounded, since each caller waits for its answer.
    wake: Sender<Wake>,
    /// Taken by whoever ends the store.
    writer: Mutex<Option<JoinHandle<()>>>,
    warning: Option<String>,
}

/// What is kept of a session beside its events.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    /// The session.
    pub id: SessionId,
    /// Where it was begun: `acp` or `run`.
    pub source: String,
    /// Its folder.
    pub cwd: PathBuf,
    /// Its further folders.
    pub extra_roots: Vec<PathBuf>,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its model.
    pub model: ModelRef,
    /// Where its model's replies came from when it began.
    pub origin: Origin,
    /// Its mode.
    pub mode: Mode,
    /// Its system prompt, fixed when it began.
    pub system: String,
    /// When it was begun, in Unix ms.
    pub created_ms: i64,
    /// Its last activity, in Unix ms.
    pub updated_ms: i64,
    /// Messages of user and model.
    pub messages: u64,
    /// Tokens of all its steps.
    pub usage: Usage,
    /// How full the model's context was after its last step.
    pub context: Option<ContextUse>,
    /// The number of its last row; 0 before the first.
    pub last_seq: u64,
    /// The number of its last turn; 0 before the first.
    pub last_turn: u64,
}

/// How safe a commit must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Survives the death of the process.
    Process,
    /// Survives a power cut: waits for the disk. For what answers a prompt.
    Disk,
}

/// What became of an append.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// It is committed.
    Stored,
    /// It can't be committed now and waits in memory, in order; the reason is a sentence for the user.
    Waiting(String),
}

impl Store {
    /// Opens the store in a folder, and makes both if they are not there. Only this user can read them.
    ///
    /// # Errors
    /// When folder or database can't be used; nothing in them has been changed then but missing files and modes.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let location = Location::prepare(folder)?;
        let connection = Arc::new(Mutex::new(schema::open(&location)?));
        let warning = location.network.then(|| {
            format!(
                "{} is on a network file system: saving is slower there, and a second machine must not use it at the \
                 same time.",
                folder.display()
            )
        });
        let readers = Readers::File(Pool::new(location.database.clone()));
        Ok(Self::start(connection, readers, Some(location.database), warning))
    }

    /// Makes a store that lives in memory, for tests.
    pub fn memory() -> Self {
        Self::in_memory(None)
    }

    /// Makes a store that lives in memory because there can be no other; `reason` says why.
    pub fn memory_because(reason: String) -> Self {
        Self::in_memory(Some(format!("Nothing is saved: {reason}")))
    }

    fn in_memory(warning: Option<String>) -> Self {
        let connection = schema::open_memory().expect("the library has run the same steps in every test");
        let connection = Arc::new(Mutex::new(connection));
        let readers = Readers::Memory(connection.clone());
        Self::start(connection, readers, None, warning)
    }

    fn start(
        connection: Arc<Mutex<Connection>>,
        readers: Readers,
        path: Option<PathBuf>,
        warning: Option<String>,
    ) -> Self {
        let queue = Arc::new(Queue::default());
        let (wake, wakes) = unbounded();
        let writer = Writer::new(connection, queue.clone(), wakes, path.clone());
        let thread = thread::Builder::new().name("store".into()).spawn(move || writer.run());
        Self(Arc::new(Inner {
            path,
            queue,
            readers,
            wake,
            writer: Mutex::new(Some(thread.expect("a process that starts can start a thread"))),
            warning,
        }))
    }

    /// What the user should know about where things are saved.
    pub fn warning(&self) -> Option<String> {
        self.0.warning.clone()
    }

    /// Remembers a new session. Its row is written with its first events; one that never has any leaves nothing.
    pub fn create(&self, record: SessionRecord) {
        self.0.queue.create(record);
    }

    /// Stores events together, and waits for it, but not for long. What can't be stored now waits in memory, in
    /// order, and reads see it. Events that are live only are left out.
    pub fn append(&self, session: &SessionId, mut envelopes: Vec<Envelope>, durability: Durability) -> Kept {
        envelopes.retain(|envelope| !envelope.event.is_live_only());
        if envelopes.is_empty() {
            return Kept::Stored;
        }
        let created = self.0.queue.created(session);
        match Append::new(session.clone(), envelopes, durability, created) {
            Ok(append) => match self.0.write(Work::Append(append)) {
                Ok(Outcome::Written) => Kept::Stored,
                Ok(Outcome::Held(held)) => Kept::Waiting(held.to_string()),
                Ok(Outcome::Refused(reason)) | Err(reason) => Kept::Waiting(reason),
            },
            Err(error) => Kept::Waiting(format!(
                "Not saved: an event of session {session} has no JSON form ({error})."
            )),
        }
    }

    /// Begins a message that will be the row `seq`; `event` is its text or thought, empty.
    pub fn open_message(&self, session: &SessionId, turn: Option<TurnId>, seq: u64, event: Event) -> OpenMessage {
        let envelope = Envelope {
            session: session.clone(),
            turn,
            seq,
            event,
        };
        OpenMessage::new(envelope, self.0.wake.clone())
    }

    /// A session's record, with what waits to be stored.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        // What waits is looked at before the database: a row that is stored in between is seen twice and not missed.
        let waiting = self.0.queue.appends(Some(id));
        let created = self.0.queue.created(id);
        let stored = self
            .0
            .read(format!("session {id}"), |connection| session::read(connection, id))?;
        let first = waiting.iter().find_map(|entry| entry.append()?.created.clone());
        let Some(mut record) = stored.or_else(|| created.or(first).map(|record| SessionRecord::clone(&record))) else {
            return Ok(None);
        };
        let stored_upto = record.last_seq;
        for append in waiting.iter().filter_map(|entry| entry.append()) {
            for envelope in append.envelopes.iter().filter(|envelope| envelope.seq > stored_upto) {
                session::fold(&mut record, envelope, append.at_ms);
            }
        }
        Ok(Some(record))
    }

    /// The sessions whose ids begin with `prefix`, at most ten.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn find(&self, prefix: &str) -> Result<Vec<SessionId>, StoreError> {
        let waiting = self.0.waiting_sessions();
        let mut found = self
            .0
            .read(format!("the sessions that begin with `{prefix}`"), |connection| {
                reader::find(connection, prefix)
            })?;
        found.extend(waiting.into_iter().filter(|id| id.as_str().starts_with(prefix)));
        found.sort();
        found.dedup();
        found.truncate(reader::FOUND);
        Ok(found)
    }

    /// A session's events after the row `after_seq`, in order, at most `limit`. A row that can't be read is passed
    /// over.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn events(&self, id: &SessionId, after_seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        let waiting = self.0.queue.appends(Some(id));
        let mut events = self.0.read(format!("the events of session {id}"), |connection| {
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
        let waiting = self.0.queue.appends(Some(id));
        let mut ranges = self.0.read(format!("the history of session {id}"), |connection| {
            reader::hidden(connection, id)
        })?;
        let appends = waiting.iter().filter_map(|entry| entry.append());
        ranges.extend(
            appends
                .flat_map(|append| &append.envelopes)
                .filter_map(reader::hidden_by),
        );
        ranges.sort_by_key(|range| *range.end());
        ranges.dedup();
        Ok(ranges)
    }

    /// A page of the sessions that have messages, newest activity first; with `cwd` only those of that folder,
    /// compared by real path. A cursor goes on where a page of the same list ended.
    ///
    /// # Errors
    /// When the cursor belongs to no page of this list, or the database can't be read.
    pub fn list(&self, cwd: Option<&Path>, cursor: Option<&str>, limit: usize) -> Result<SessionPage, ListError> {
        let cwd = cwd.map(location::real);
        let filter = Filter::new(cwd.as_deref(), cursor).map_err(|BadCursor| ListError::BadCursor)?;
        let mut waiting = Vec::new();
        for id in self.0.waiting_sessions() {
            waiting.extend(self.session(&id)?);
        }
        let mut sessions = self.0.read("the list of sessions".into(), |connection| {
            filter.stored(connection, &waiting, limit.saturating_add(1))
        })?;
        sessions.extend(filter.waiting(waiting));
        Ok(filter.page(sessions, limit))
    }

    /// Makes this process the one that writes to a session.
    ///
    /// # Errors
    /// When another process that lives does.
    pub fn claim(&self, id: &SessionId) -> Result<(), Held> {
        match self.0.write(Work::Claim(id.clone())) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(held),
            Ok(Outcome::Refused(reason)) | Err(reason) => {
                // Nothing can be written now, neither by us; the claim waits in the queue like all else.
                tracing::warn!(session = %id, reason, "the claim of a session waits");
                Ok(())
            }
        }
    }

    /// Lets a session go: another process may claim it. One that was never prompted is forgotten.
    pub fn release(&self, id: &SessionId) {
        self.0.queue.forget(id);
        self.0.write_or_warn(Work::Release(id.clone()));
    }

    /// Makes rows of the messages that a process which died left unfinished, with exactly the text that was stored.
    /// For the session's writer, after [`Store::claim`].
    ///
    /// # Errors
    /// When that can't be written.
    pub fn recover(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.0.write(Work::Recover(id.clone())) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(StoreError::NotWritten(held.to_string())),
            Ok(Outcome::Refused(reason)) | Err(reason) => Err(StoreError::NotWritten(reason)),
        }
    }

    /// Stores a standing permission, if it is one that outlives its session.
    pub fn grant(&self, grant: &Grant) {
        match grant {
            Grant::Command { command, root } => self.0.write_or_warn(Work::Grant(CommandGrant {
                command: command.clone(),
                root: root.clone(),
            })),
            Grant::EditsThisSession => {}
        }
    }

    /// The standing permissions of sessions with this root, a real path.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn grants(&self, root: &Path) -> Result<Vec<Grant>, StoreError> {
        self.0
            .read(format!("the permissions of {}", root.display()), |connection| {
                grant::read(connection, root)
            })
    }

    /// Writes what waits, for a bounded time, and ends the writer. What is appended later stays in memory.
    pub fn close(&self) {
        self.0.close();
    }
}

impl Inner {
    /// Queues work and waits for its outcome; an error is the reason why it still waits.
    fn write(&self, work: Work) -> Result<Outcome, String> {
        const CLOSED: &str = "Not saved: the store is closed.";
        const SLOW: &str = "Not saved yet: writing takes unusually long. It will be saved as soon as it can be.";
        const NO_ROOM: &str = "Not saved, and lost when the agent ends: too much waits to be saved already.";
        let (outcome, outcomes) = bounded(1);
        let place = self.queue.push(work, outcome);
        let open = self.wake.send(Wake::Queue).is_ok();
        match place {
            Place::Next if open => outcomes.recv_timeout(PATIENCE).map_err(|_| self.queue.trouble_or(SLOW)),
            Place::Next => Err(CLOSED.into()),
            Place::Stuck(reason) => Err(reason),
            Place::NoRoom => Err(NO_ROOM.into()),
        }
    }

    fn write_or_warn(&self, work: Work) {
        match self.write(work) {
            Ok(Outcome::Written) => {}
            Ok(Outcome::Held(held)) => tracing::warn!(%held, "not stored"),
            Ok(Outcome::Refused(reason)) | Err(reason) => tracing::warn!(reason, "not stored"),
        }
    }

    fn read<T>(&self, what: String, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.read(query).map_err(|source| StoreError::Read {
            what,
            path: self.path.clone().unwrap_or_else(|| "memory".into()),
            source,
        })
    }

    /// The sessions with rows that wait, the one with the newest last.
    fn waiting_sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<SessionId> = Vec::new();
        for append in self.queue.appends(None).iter().filter_map(|entry| entry.append()) {
            sessions.retain(|id| *id != append.session);
            sessions.push(append.session.clone());
        }
        sessions
    }

    fn close(&self) {
        let Some(thread) = self.writer.lock().take() else {
            return;
        };
        let (closed, ended) = bounded(0);
        // The writer lives until it gets this, or has panicked; then the channel has ended too.
        let _ = self.wake.send(Wake::Close(closed));
        if ended.recv_timeout(ENDING) == Err(crossbeam_channel::RecvTimeoutError::Timeout) {
            tracing::error!("the store's writer did not end in time");
            return;
        }
        if thread.join().is_err() {
            tracing::error!("the store's writer has panicked");
        }
        self.readers.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

/// Now, in Unix ms; for showing only.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
