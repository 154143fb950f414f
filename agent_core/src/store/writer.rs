//! The one thread that writes. It owns the write connection, takes the queue from the front, and tries again what
//! can't be written now.

mod apply;
mod pieces;
mod rest;
mod trouble;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::append::Append;
use super::database::Closed;
use super::holding::Holding;
use super::index::Indexing;
use super::lease::Process;
use super::location::Location;
use super::log::Log;
use super::message::Pending;
use super::queue::{Entry, Fault, Outcome, Queue, Work};
use super::{Durability, index, not_open, room, schema};
use apply::{apply, cannot_index};

/// The longest that text of an open message is in memory only.
const PIECE_AGE: Duration = Duration::from_millis(250);

/// Without work for so long, the log is moved into the database.
const IDLE: Duration = Duration::from_secs(1);

/// How long the end of the store waits for what could not be written yet, unless it is another program's turn to write.
pub(super) const LAST_TRY: Duration = Duration::from_secs(1);

/// What wakes the writer. Sent by callers; at most one by each that waits, and two by each open message.
pub(super) enum Wake {
    /// Something is in the queue.
    Queue,
    /// A message has its first text that is not stored.
    Begun(Arc<Pending>),
    /// A message has enough text to store it now.
    Full(Arc<Pending>),
    /// The file can't be written, and is only looked at.
    Still,
    /// Somebody who only read has met damage; why it is some, in SQLite's words.
    Damaged(String),
    /// The store ends; another program that writes is waited for this long. The other side hears the end by that of its
    /// channel.
    Close(Sender<()>, Duration),
}

/// The thread's state.
pub(super) struct Writer {
    /// Locked by nobody else, except by readers of a store in memory.
    connection: Arc<Mutex<Connection>>,
    queue: Arc<Queue>,
    /// Ends with the last sender: the store and its open messages.
    wakes: Receiver<Wake>,
    /// None for a store in memory.
    path: Option<PathBuf>,
    /// Until the database is opened there is nothing behind the connection.
    closed: Closed,
    log: Option<Log>,
    /// This process, with its leases.
    holding: Holding,
    /// Text of open messages, with the time by which it must be stored.
    due: Vec<(Instant, Arc<Pending>)>,
    /// When the first of the queue is tried again, and the pause that led to it.
    retry: Option<(Instant, Duration)>,
    /// How safe commits are now.
    durability: Durability,
    /// Whether what is stored goes into the index too.
    indexing: Indexing,
    /// The index was made anew for what is written now.
    is_mended: bool,
    /// Something was written since the last checkpoint.
    dirty: bool,
    /// The disk had no room for the last write.
    is_full: bool,
    /// Another program was writing at the last try.
    is_busy: bool,
    /// The database is damaged or its log is gone: nothing is written any more.
    damaged: bool,
}

impl Writer {
    /// Makes the state of a thread that is about to [`run`](Self::run).
    pub(super) fn new(
        connection: Arc<Mutex<Connection>>,
        queue: Arc<Queue>,
        wakes: Receiver<Wake>,
        path: Option<&Path>,
        closed: Closed,
    ) -> Self {
        Self {
            connection,
            queue,
            wakes,
            path: path.map(Path::to_owned),
            log: path.filter(|_| closed.0.lock().is_none()).map(Log::beside),
            closed,
            holding: Holding::new(Process::current()),
            due: Vec::new(),
            retry: None,
            durability: Durability::Process,
            indexing: Indexing::On,
            is_mended: false,
            dirty: false,
            is_full: false,
            is_busy: false,
            damaged: false,
        }
    }

    /// Works until the store ends.
    pub(super) fn run(mut self) {
        loop {
            match self.next_wake() {
                Ok(Wake::Queue) => {}
                Err(RecvTimeoutError::Timeout) if self.is_idle() => self.checkpoint(),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Wake::Begun(pending)) => self.due.push((Instant::now() + PIECE_AGE, pending)),
                Ok(Wake::Full(pending)) => self.due.push((Instant::now(), pending)),
                Ok(Wake::Still) => self.only_look(),
                Ok(Wake::Damaged(fault)) => self.give_up_damaged(&fault),
                // The sender drops when this returns, and so tells that all is done.
                Ok(Wake::Close(_closed, patience)) => return self.finish(patience),
                Err(RecvTimeoutError::Disconnected) => return self.finish(LAST_TRY),
            }
            self.work();
        }
    }

    fn next_wake(&self) -> Result<Wake, RecvTimeoutError> {
        let retry = self.retry.map(|(at, _)| at);
        let idle = self.is_idle().then(|| Instant::now() + IDLE);
        let beat = self.holding.next();
        let due = self.due.iter().map(|(at, _)| *at);
        match due.chain(retry).chain(idle).chain(beat).min() {
            Some(at) => self.wakes.recv_deadline(at),
            None => self.wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn work(&mut self) {
        let now = Instant::now();
        // What was tried in vain was taken back.
        if self.queue.is_empty() {
            self.retry = None;
        }
        if self.retry.is_none_or(|(at, _)| at <= now) {
            self.drain();
        }
        self.store_pieces(now);
        if self.holding.next().is_some_and(|at| at <= now) {
            self.beat(now);
        }
    }

    /// Whether the database is open; tries to open one that is not. Rows wait meanwhile.
    fn is_open(&mut self) -> bool {
        if self.closed.0.lock().is_none() {
            return true;
        }
        let path = self.path.as_deref().expect("a store in memory is open");
        let folder = path.parent().expect("a database is in a folder");
        match Location::prepare(folder).and_then(|location| schema::open(&location)) {
            Ok(connection) => {
                tracing::info!(path = %path.display(), "the session database is open at last");
                self.log = Some(Log::beside(path));
                *self.connection.lock() = connection;
                *self.closed.0.lock() = None;
                true
            }
            Err(error) => {
                let trouble = not_open(&error);
                *self.closed.0.lock() = Some(trouble.of_rows());
                self.queue.set_trouble(trouble);
                self.retry_later();
                false
            }
        }
    }

    /// Nothing is left to do but to tidy up.
    fn is_idle(&self) -> bool {
        self.dirty && !self.damaged && self.due.is_empty() && self.retry.is_none()
    }

    /// Writes the queue from the front until it is empty or something can't be written now.
    fn drain(&mut self) {
        while let Some(entry) = self.queue.begin_first()
            && self.may_write()
            && self.is_open()
        {
            // Most of what a log holds is pages that the database has already: moved there, it gives its room back. That
            // needs a little room itself, so it is tried first of all with what has come free.
            if mem::take(&mut self.is_full) {
                self.move_log("TRUNCATE");
                self.keep_log_small();
            }
            match self.write(&entry) {
                Ok(()) => self.queue.finish_first(Outcome::Written),
                Err(Fault::Held(held)) => self.queue.finish_first(Outcome::Held(held)),
                Err(Fault::Refused(reason)) => self.refuse_first(reason),
                Err(Fault::Index(error)) => match self.mend_index(&error) {
                    Ok(()) => continue,
                    Err(error) => {
                        self.wait(&error);
                        break;
                    }
                },
                Err(Fault::Sql(error)) if can_heal(&error) => {
                    self.wait(&error);
                    break;
                }
                Err(Fault::Sql(error)) => {
                    self.refuse_first(format!("Not saved: {} refuses it ({error}).", self.place()))
                }
            }
            self.retry = None;
            self.is_mended = false;
        }
        self.queue.let_first_be();
    }

    fn refuse_first(&self, reason: String) {
        tracing::error!(reason, "refused to store");
        self.queue.finish_first(Outcome::Refused(reason));
    }

    fn write(&mut self, entry: &Entry) -> Result<(), Fault> {
        let durability = match &entry.work {
            Work::Append(append) => append.durability,
            Work::Claim(_) | Work::Release(..) | Work::Reopen(_) | Work::Archive(..) => Durability::Process,
            Work::Recover(_)
            | Work::Grant(_)
            | Work::Fork(_)
            | Work::Delete(_)
            | Work::Prune(_)
            | Work::Rename(..)
            | Work::Import(_)
            | Work::Reindex
            | Work::Vacuum => Durability::Disk,
        };
        self.set_durability(durability)?;
        if matches!(entry.work, Work::Vacuum) {
            return room::give(&self.connection.lock());
        }
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        apply(&transaction, &entry.work, &self.holding.process, self.indexing)?;
        // The index writes what it was given only now.
        transaction.commit().map_err(|error| match index::is_damage(&error) {
            true if matches!(entry.work, Work::Reindex) => cannot_index(error),
            true => Fault::Index(error),
            false => Fault::Sql(error),
        })?;
        drop(connection);
        self.dirty = true;
        self.log.iter_mut().for_each(Log::remember);
        self.note_lease(&entry.work);
        Ok(())
    }

    /// Makes the index anew. What waits is stored in any case: if it fails, without being found. An error is one that
    /// another try may overcome.
    fn mend_index(&mut self, error: &rusqlite::Error) -> rusqlite::Result<()> {
        tracing::warn!(%error, "the index of the history is damaged and is made anew");
        let mended = match self.is_mended {
            true => Err(index::still_damaged()),
            false => self.rebuild_index(),
        };
        self.is_mended = true;
        match mended {
            Ok(()) => Ok(()),
            Err(error) if can_heal(&error) && !index::is_damage(&error) => Err(error),
            Err(error) => {
                tracing::error!(%error, "what is stored from now on is not found by a search");
                self.indexing = Indexing::Off;
                Ok(())
            }
        }
    }

    fn rebuild_index(&mut self) -> rusqlite::Result<()> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        index::rebuild(&transaction)?;
        transaction.commit()?;
        drop(connection);
        self.dirty = true;
        Ok(())
    }

    fn note_lease(&mut self, work: &Work) {
        match work {
            Work::Append(Append { session, .. }) | Work::Claim(session) => self.holding.add(session, Instant::now()),
            Work::Release(session, _) | Work::Delete(session) => self.holding.remove(session),
            Work::Reopen(_)
            | Work::Recover(_)
            | Work::Grant(_)
            | Work::Fork(_)
            | Work::Prune(_)
            | Work::Rename(..)
            | Work::Archive(..)
            | Work::Import(_)
            | Work::Reindex
            | Work::Vacuum => {}
        }
    }

    /// Lets the leases beat. That alone is no reason for a checkpoint: nothing is dirty after it.
    fn beat(&mut self, now: Instant) {
        if !self.may_write() {
            return self.holding.clear();
        }
        let ready = self.set_durability(Durability::Process);
        let beaten = ready.and_then(|()| self.holding.beat(&mut self.connection.lock(), now));
        if let Err(error) = beaten {
            tracing::debug!(%error, "the leases can't beat now");
        }
    }

    /// SQLite takes the change only outside a transaction.
    fn set_durability(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability == durability {
            return Ok(());
        }
        let name = match durability {
            Durability::Process => "NORMAL",
            Durability::Disk => "FULL",
        };
        self.connection.lock().pragma_update(None, "synchronous", name)?;
        self.durability = durability;
        Ok(())
    }
}

/// Whether another try may succeed. What can't heal must leave the queue, or nothing behind it is ever written.
fn can_heal(error: &rusqlite::Error) -> bool {
    let Some(code) = error.sqlite_error_code() else {
        return false;
    };
    !matches!(
        code,
        ErrorCode::ConstraintViolation
            | ErrorCode::TooBig
            | ErrorCode::TypeMismatch
            | ErrorCode::ParameterOutOfRange
            | ErrorCode::ApiMisuse
            | ErrorCode::Unknown
    )
}
