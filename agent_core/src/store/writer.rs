//! The one thread that writes. It owns the write connection, takes the queue from the front, and tries again what
//! can't be written now.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::lease::{self, Process};
use super::message::{self, Pending};
use super::queue::{Entry, Fault, Outcome, Queue, Work};
use super::{Durability, append, grant, now_ms};

/// The longest that text of an open message is in memory only.
const PIECE_AGE: Duration = Duration::from_millis(250);

/// Without work for so long, the log is moved into the database.
const IDLE: Duration = Duration::from_secs(1);

/// How long the end of the store waits for what could not be written yet.
const LAST_TRY: Duration = Duration::from_secs(1);

/// What wakes the writer. Sent by callers; at most one by each that waits, and two by each open message.
pub(super) enum Wake {
    /// Something is in the queue.
    Queue,
    /// A message has its first text that is not stored.
    Begun(Arc<Pending>),
    /// A message has enough text to store it now.
    Full(Arc<Pending>),
    /// The store ends. The other side hears it by the end of its channel.
    Close(Sender<()>),
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
    process: Process,
    /// Text of open messages, with the time by which it must be stored.
    due: Vec<(Instant, Arc<Pending>)>,
    /// When the first of the queue is tried again, and the pause that led to it.
    retry: Option<(Instant, Duration)>,
    /// How safe commits are now.
    durability: Durability,
    /// Something was written since the last checkpoint.
    dirty: bool,
    /// The database is damaged: nothing is written any more.
    damaged: bool,
}

impl Writer {
    /// Makes the state of a thread that is about to [`run`](Self::run).
    pub(super) fn new(
        connection: Arc<Mutex<Connection>>,
        queue: Arc<Queue>,
        wakes: Receiver<Wake>,
        path: Option<PathBuf>,
    ) -> Self {
        Self {
            connection,
            queue,
            wakes,
            path,
            process: Process::current(),
            due: Vec::new(),
            retry: None,
            durability: Durability::Process,
            dirty: false,
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
                // The sender drops when this returns, and so tells that all is done.
                Ok(Wake::Close(_closed)) => return self.finish(),
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
            }
            self.work();
        }
    }

    fn next_wake(&self) -> Result<Wake, RecvTimeoutError> {
        let retry = self.retry.map(|(at, _)| at);
        let idle = self.is_idle().then(|| Instant::now() + IDLE);
        match self.due.iter().map(|(at, _)| *at).chain(retry).chain(idle).min() {
            Some(at) => self.wakes.recv_deadline(at),
            None => self.wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn work(&mut self) {
        if self.damaged {
            return self.due.clear();
        }
        let now = Instant::now();
        if self.retry.is_none_or(|(at, _)| at <= now) {
            self.drain();
        }
        self.store_pieces(now);
    }

    /// Nothing is left to do but to tidy up.
    fn is_idle(&self) -> bool {
        self.dirty && !self.damaged && self.due.is_empty() && self.retry.is_none()
    }

    /// Writes the queue from the front until it is empty or something can't be written now.
    fn drain(&mut self) {
        while let Some(entry) = self.queue.first() {
            match self.write(&entry) {
                Ok(()) => self.queue.finish_first(Outcome::Written),
                Err(Fault::Held(held)) => self.queue.finish_first(Outcome::Held(held)),
                Err(Fault::Refused(reason)) => {
                    tracing::error!(reason, "refused to store");
                    self.queue.finish_first(Outcome::Refused(reason));
                }
                Err(Fault::Sql(error)) => return self.wait(&error),
            }
            self.retry = None;
        }
    }

    fn write(&mut self, entry: &Entry) -> Result<(), Fault> {
        let durability = match &entry.work {
            Work::Append(append) => append.durability,
            Work::Claim(_) | Work::Release(_) => Durability::Process,
            Work::Recover(_) | Work::Grant(_) => Durability::Disk,
        };
        self.set_durability(durability)?;
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now_ms = now_ms();
        match &entry.work {
            Work::Append(append) => {
                append::write(&transaction, append)?;
                lease::beat(&transaction, &append.session, &self.process, now_ms)?;
            }
            Work::Claim(session) => lease::claim(&transaction, session, &self.process, now_ms)?,
            Work::Release(session) => lease::release(&transaction, session, &self.process)?,
            Work::Recover(session) => message::recover(&transaction, session)?,
            Work::Grant(grant) => grant::write(&transaction, grant, now_ms)?,
        }
        transaction.commit()?;
        self.dirty = true;
        Ok(())
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

    fn wait(&mut self, error: &rusqlite::Error) {
        const FIRST: Duration = Duration::from_millis(50);
        const LAST: Duration = Duration::from_secs(1);
        let reason = self.reason(error);
        tracing::warn!(%error, reason, "can't store now");
        self.queue.set_trouble(&reason);
        if self.damaged {
            self.retry = None;
            return;
        }
        let pause = self.retry.map_or(FIRST, |(_, pause)| (pause * 2).min(LAST));
        // Several processes that wait for the same disk should not come back at the same moment.
        let jitter = pause.mul_f64(fastrand::f64() / 2.0);
        self.retry = Some((Instant::now() + pause + jitter, pause));
    }

    /// A sentence for the user; notes a damaged database.
    fn reason(&mut self, error: &rusqlite::Error) -> String {
        let path = self
            .path
            .as_ref()
            .map_or("memory".into(), |path| path.display().to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
                "Not saved yet: another program is writing to {path}. It will be saved as soon as that program is done."
            ),
            Some(ErrorCode::DiskFull) => {
                format!("Not saved yet: the disk that holds {path} is full. It will be saved as soon as there is room.")
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                self.damaged = true;
                format!(
                    "Not saved: the session database {path} is damaged ({error}). This session goes on in memory only. \
                     End all agents, then move the file and those beside it (-wal, -shm) away together."
                )
            }
            _ => format!("Not saved yet: can't write to {path} ({error}). It will be tried again."),
        }
    }

    /// Stores the text of open messages that is due. What can't be stored is tried again later.
    fn store_pieces(&mut self, now: Instant) {
        let (ready, later) = std::mem::take(&mut self.due)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.due = later;
        let ready: Vec<(Instant, Arc<Pending>)> = ready;
        for (_, pending) in ready {
            match self.store_piece(&pending) {
                Ok(()) => self.dirty = true,
                Err(error) => {
                    tracing::debug!(%error, "can't store a piece of a message now");
                    self.due.push((now + IDLE, pending));
                }
            }
        }
    }

    fn store_piece(&mut self, pending: &Pending) -> rusqlite::Result<()> {
        self.set_durability(Durability::Process)?;
        // A single statement is a transaction of its own and takes the write lock at its start.
        pending.store(&self.connection.lock())
    }

    fn checkpoint(&mut self) {
        self.dirty = false;
        if self.path.is_none() {
            return;
        }
        let result = self
            .connection
            .lock()
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = result {
            tracing::debug!(%error, "no checkpoint");
        }
    }

    /// Writes what still waits, for a bounded time.
    fn finish(mut self) {
        let end = Instant::now() + LAST_TRY;
        self.retry = None;
        while !self.damaged {
            self.drain();
            let Some((at, _)) = self.retry else { break };
            if at >= end {
                tracing::error!("the store ends with rows that could not be written");
                break;
            }
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
        }
        if !self.damaged {
            self.due.iter_mut().for_each(|(at, _)| *at = end);
            self.store_pieces(end);
            if self.dirty {
                self.checkpoint();
            }
        }
    }
}
