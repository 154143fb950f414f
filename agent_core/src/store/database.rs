//! An open database: what waits to be written, the thread that writes it, and the connections that read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};

use super::error::StoreError;
use super::index;
use super::queue::{Entry, Outcome, Place, Queue, Work};
use super::reader::Readers;
use super::still::Still;
use super::titles::Given;
use super::trouble::Trouble;
use super::writer::{LAST_TRY, Wake, Writer};
use crate::id::SessionId;

/// How long a caller waits for a commit before it goes on without.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a change that somebody asked for waits until another program has written.
const CHANGE_PATIENCE: Duration = Duration::from_secs(5);

/// How long a change may take that is being made.
const LONGEST_CHANGE: Duration = Duration::from_secs(600);

const CLOSED: &str = "Not saved: the store is closed.";
const NO_ROOM: &str = "Not saved: 64 MiB wait to be saved already, and there is no room for more.";

/// How long the end of the store may take beyond its last tries.
const ENDING: Duration = Duration::from_secs(1);

/// Why the database could not be opened yet; shared with the writer, who tries. Nothing for one that is open.
#[derive(Clone, Default)]
pub(super) struct Closed(pub(super) Arc<Mutex<Option<String>>>);

impl Closed {
    fn check(&self) -> Result<(), StoreError> {
        match self.0.lock().clone() {
            Some(reason) => Err(StoreError::Unread { reason }),
            None => Ok(()),
        }
    }
}

/// An open database, or one that will be opened when that is possible.
pub(super) struct Database {
    /// What was not written yet.
    pub(super) queue: Arc<Queue>,
    /// To the writer; unbounded, since each caller waits for its answer.
    pub(super) wake: Sender<Wake>,
    /// The titles of this process's sessions.
    pub(super) given: Given,
    /// None for a store in memory.
    path: Option<PathBuf>,
    closed: Closed,
    readers: Readers,
    /// How long another program that writes is waited for at the end.
    pub(super) patience: Mutex<Duration>,
    /// Taken by whoever ends the store.
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Database {
    /// Begins to work on a file.
    pub(super) fn of_file(connection: Connection, path: PathBuf) -> Self {
        let connection = Arc::new(Mutex::new(connection));
        let readers = Readers::of_file(&path, &connection);
        Self::start(connection, readers, Some(path), Closed::default())
    }

    /// Waits until the database in a folder can be opened; `reason` says why it can't be now.
    pub(super) fn unopened(folder: &Path, reason: String) -> Self {
        let path = folder.join("state.db");
        let nothing = Connection::open_in_memory().expect("the library has opened one in every test");
        let nothing = Arc::new(Mutex::new(nothing));
        let readers = Readers::of_file(&path, &nothing);
        let closed = Closed(Arc::new(Mutex::new(Some(reason))));
        Self::start(nothing, readers, Some(path), closed)
    }

    /// Looks at a file that can't be written.
    pub(super) fn still(still: Still, path: PathBuf) -> Self {
        let nothing = Connection::open_in_memory().expect("the library has opened one in every test");
        let nothing = Arc::new(Mutex::new(nothing));
        let readers = Readers::of_still(still, &path, &nothing);
        let database = Self::start(nothing, readers, Some(path), Closed::default());
        // The writer has just been started, and lives until the store is closed.
        let _ended = database.wake.send(Wake::Still);
        database
    }

    /// Begins to work in memory.
    pub(super) fn in_memory(connection: Connection) -> Self {
        let connection = Arc::new(Mutex::new(connection));
        Self::start(connection.clone(), Readers::Memory(connection), None, Closed::default())
    }

    fn start(connection: Arc<Mutex<Connection>>, readers: Readers, path: Option<PathBuf>, closed: Closed) -> Self {
        let queue = Arc::new(Queue::default());
        let (wake, wakes) = unbounded();
        let writer = Writer::new(connection, queue.clone(), wakes, path.as_deref(), closed.clone());
        let thread = thread::Builder::new().name("store".into()).spawn(move || writer.run());
        Self {
            queue,
            wake,
            given: Given::default(),
            path,
            closed,
            readers,
            patience: Mutex::new(LAST_TRY),
            writer: Mutex::new(Some(thread.expect("a process that starts can start a thread"))),
        }
    }

    /// Queues work and waits for its outcome; an error is the reason why it still waits.
    pub(super) fn write(&self, work: Work) -> Result<Outcome, String> {
        let (outcome, outcomes) = bounded(1);
        let place = self.queue.push(work, outcome);
        let open = self.wake.send(Wake::Queue).is_ok();
        match place {
            _ if !open => Ok(Outcome::Refused(CLOSED.into())),
            Place::Next(_) => outcomes
                .recv_timeout(PATIENCE)
                .map_err(|_| self.queue.trouble_or(Trouble::Slow).of_rows()),
            Place::Stuck(_, trouble) => Err(trouble.of_rows()),
            Place::NoRoom => Ok(Outcome::Refused(NO_ROOM.into())),
        }
    }

    /// Has something done that somebody asked for and is told of: now, or not at all. What can't be written is taken back,
    /// so that it does not come about later; an error says why. It may take long where it can be done.
    pub(super) fn change(&self, work: Work) -> Result<Outcome, String> {
        let (outcome, outcomes) = bounded(1);
        let place = self.queue.push(work, outcome);
        let open = self.wake.send(Wake::Queue).is_ok();
        match place {
            _ if !open => Ok(Outcome::Refused(CLOSED.into())),
            Place::Next(entry) | Place::Stuck(entry, _) => self.wait_for_change(&entry, &outcomes),
            Place::NoRoom => Ok(Outcome::Refused(NO_ROOM.into())),
        }
    }

    fn wait_for_change(&self, entry: &Arc<Entry>, outcomes: &Receiver<Outcome>) -> Result<Outcome, String> {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_CHANGE {
            if let Ok(outcome) = outcomes.recv_timeout(PATIENCE) {
                return Ok(outcome);
            }
            let is_short = self.queue.trouble().is_none_or(|trouble| trouble.is_short());
            if is_short && begun.elapsed() < CHANGE_PATIENCE {
                continue;
            }
            if let Some(trouble) = self.queue.take_back(entry) {
                // What is behind it need not wait for the next try of this.
                let _ended = self.wake.send(Wake::Queue);
                return Err(trouble.of_change());
            }
        }
        Err("it takes unusually long, and whether it was done shows later".to_owned())
    }

    /// Queues work whose outcome changes nothing for the caller.
    pub(super) fn write_or_warn(&self, work: Work) {
        match self.write(work) {
            Ok(Outcome::Written) => {}
            Ok(Outcome::Held(held)) => tracing::warn!(%held, "not stored"),
            Ok(Outcome::Refused(reason)) | Err(reason) => tracing::warn!(reason, "not stored"),
        }
    }

    /// Runs a query; `what` says what it looks for.
    pub(super) fn read<T>(
        &self,
        what: String,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.closed.check()?;
        let read = self.readers.read(query).map_err(|source| match is_damage(&source) {
            true => self.damaged(source),
            false => self.cannot_read(what, source),
        });
        self.check_still()?;
        read
    }

    /// What was read while somebody wrote may be anything.
    fn check_still(&self) -> Result<(), StoreError> {
        match &self.path {
            Some(path) if !self.readers.are_still(path) => Err(StoreError::Changed { path: path.clone() }),
            Some(_) | None => Ok(()),
        }
    }

    /// Runs a query that may take long, beside all others.
    pub(super) fn search<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.closed.check()?;
        let found = self.readers.search(query);
        self.check_still()?;
        found.map_err(|source| self.cannot_read("what was said".into(), source))
    }

    /// What is damaged is not written to either.
    fn damaged(&self, source: rusqlite::Error) -> StoreError {
        let _ended = self.wake.send(Wake::Damaged(source.to_string()));
        StoreError::Damaged {
            path: self.path.clone().unwrap_or_else(|| "memory".into()),
            source,
        }
    }

    fn cannot_read(&self, what: String, source: rusqlite::Error) -> StoreError {
        StoreError::Read {
            what,
            path: self.path.clone().unwrap_or_else(|| "memory".into()),
            source,
        }
    }

    /// Its file; none in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The sessions with rows that wait, the one with the newest last.
    pub(super) fn waiting_sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<SessionId> = Vec::new();
        for append in self.queue.appends(None).iter().filter_map(|entry| entry.append()) {
            sessions.retain(|id| *id != append.session);
            sessions.push(append.session.clone());
        }
        sessions
    }

    /// Writes what waits, for a bounded time, and ends the writer.
    pub(super) fn close(&self) {
        let Some(thread) = self.writer.lock().take() else {
            return;
        };
        // First, so that the writer's connection is the last one: only that can move the log into the database for
        // good, and remove it.
        self.readers.close();
        let (closed, ended) = bounded(0);
        // The writer lives until it gets this, or has panicked; then the channel has ended too.
        let patience = *self.patience.lock();
        let _ = self.wake.send(Wake::Close(closed, patience));
        if ended.recv_timeout(patience + ENDING) == Err(RecvTimeoutError::Timeout) {
            tracing::error!("the store's writer did not end in time");
            return;
        }
        if thread.join().is_err() {
            tracing::error!("the store's writer has panicked");
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether a query has failed by the database itself, and not by the index of what was said alone.
fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) && !index::is_damage(error)
}
