//! Reading: a few connections of its own for a file, the writer's for a store in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
use rusqlite::{Connection, Row, params};

use super::record::Dated;
use super::still::{Facts, Still};
use super::value::{column, count};
use super::{blob, schema};
use crate::event::Envelope;
use crate::id::{SessionId, TurnId};

/// Connections that read a file at the same time, and those that search it: a search may take long, and nobody else waits
/// for it.
const READERS: usize = 4;
const SEARCHERS: usize = 2;

/// The most ids that are named for a part of one.
pub(super) const FOUND: usize = 10;

/// Where reads go.
pub(super) enum Readers {
    /// To connections of their own.
    File { reads: Box<Pool>, searches: Box<Pool> },
    /// To the connection that also writes.
    Memory(Arc<Mutex<Connection>>),
    /// To one that reads a file to which nobody writes.
    Still(Box<Mutex<Connection>>, Facts),
}

/// Connections that only read.
pub(super) struct Pool {
    path: PathBuf,
    /// Those not in use; the last used is taken first.
    idle: Mutex<Vec<Connection>>,
    /// The file that was there at the first read.
    inode: OnceLock<Option<u64>>,
    /// The log has lost what SQLite believes to be in it: the database alone is read.
    is_cut: AtomicBool,
    /// The writer's connection: where the file is gone or another, it still has what was stored. It ends with the writer.
    last_resort: Weak<Mutex<Connection>>,
    /// Holds a token for each connection that may still come into use.
    tokens: (Sender<()>, Receiver<()>),
}

impl Readers {
    pub(super) fn of_file(path: &Path, writer: &Arc<Mutex<Connection>>) -> Self {
        Self::File {
            reads: Box::new(Pool::new(path, writer, READERS)),
            searches: Box::new(Pool::new(path, writer, SEARCHERS)),
        }
    }

    /// The same for a file that can't be written.
    pub(super) fn of_still(still: Still, path: &Path, writer: &Arc<Mutex<Connection>>) -> Self {
        match still {
            Still::Shared => Self::of_file(path, writer),
            Still::Alone(connection, facts) => Self::Still(Box::new(Mutex::new(connection)), facts),
        }
    }

    /// Whether nobody has begun to write to the file where that would go unnoticed.
    pub(super) fn are_still(&self, path: &Path) -> bool {
        match self {
            Self::Still(_, facts) => facts.hold(path),
            Self::File { .. } | Self::Memory(_) => true,
        }
    }

    /// Runs a query. It sees the database as one moment had it only within a single statement.
    pub(super) fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        match self {
            Self::File { reads, .. } => reads.read(query),
            Self::Memory(connection) => query(&connection.lock()),
            Self::Still(connection, _) => query(&connection.lock()),
        }
    }

    /// The same for what may take long.
    pub(super) fn search<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        match self {
            Self::File { searches, .. } => searches.read(query),
            Self::Memory(connection) => query(&connection.lock()),
            Self::Still(connection, _) => query(&connection.lock()),
        }
    }

    /// Closes the connections that are not in use.
    pub(super) fn close(&self) {
        match self {
            Self::File { reads, searches } => {
                reads.close();
                searches.close();
            }
            Self::Memory(_) | Self::Still(..) => {}
        }
    }
}

impl Pool {
    fn new(path: &Path, writer: &Arc<Mutex<Connection>>, connections: usize) -> Self {
        let tokens = bounded(connections);
        for _ in 0..connections {
            tokens.0.send(()).expect("a new channel with this much room takes it");
        }
        Self {
            path: path.to_owned(),
            idle: Mutex::default(),
            inode: OnceLock::new(),
            is_cut: AtomicBool::new(false),
            last_resort: Arc::downgrade(writer),
            tokens,
        }
    }

    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.tokens.1.recv().expect("the sender is beside it");
        let _token = Token(&self.tokens.0);
        let idle = self.idle.lock().pop();
        let connection = match (idle, self.last_resort.upgrade()) {
            (Some(connection), _) => connection,
            (None, Some(writer)) if !self.is_there() => return query(&writer.lock()),
            (None, _) if self.is_cut.load(Ordering::Relaxed) => schema::open_alone(&self.path)?,
            (None, _) => schema::open_reader(&self.path)?,
        };
        let result = query(&connection);
        if result.as_ref().is_err_and(is_short) {
            self.is_cut.store(true, Ordering::Relaxed);
            self.close();
        } else {
            self.idle.lock().push(connection);
        }
        result
    }

    /// Whether the file at the path is the one that was opened.
    fn is_there(&self) -> bool {
        let found = fs::metadata(&self.path).ok().map(|facts| facts.ino());
        found.is_some() && *self.inode.get_or_init(|| found) == found
    }

    fn close(&self) {
        self.idle.lock().clear();
    }
}

/// Whether a file ends where a page of it should be.
fn is_short(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == SQLITE_IOERR_SHORT_READ)
}

/// Goes back when dropped, also when the query panics.
struct Token<'a>(&'a Sender<()>);

impl Drop for Token<'_> {
    fn drop(&mut self) {
        // The receiver lives as long as the pool, and there is room for each token.
        let _ = self.0.send(());
    }
}

/// A session's events after a row, in order. Rows that can't be read are passed over.
pub(super) fn events(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Envelope>> {
    let rows = rows(connection, session, after_seq, limit)?;
    Ok(rows.into_iter().map(|row| row.envelope).collect())
}

/// The same, each with its time.
pub(super) fn rows(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Dated>> {
    let mut statement = connection.prepare(
        "SELECT seq, turn, body, at_ms FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) \
         AND seq > ?2 ORDER BY seq",
    )?;
    let mut rows = statement.query(params![session.as_str(), column(after_seq)])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        if let Some(mut envelope) = envelope(session, row)? {
            blob::put_back(connection, &mut envelope.event)?;
            let at_ms = row.get(3)?;
            found.push(Dated { at_ms, envelope });
        }
    }
    Ok(found)
}

/// A row's event; none if it can't be read.
pub(super) fn envelope(session: &SessionId, row: &Row<'_>) -> rusqlite::Result<Option<Envelope>> {
    let seq = count(row.get(0)?);
    match serde_json::from_slice(row.get_ref(2)?.as_bytes()?) {
        Ok(event) => Ok(Some(Envelope {
            session: session.clone(),
            turn: row.get::<_, Option<i64>>(1)?.map(|turn| TurnId(count(turn))),
            seq,
            event,
        })),
        Err(error) => {
            tracing::warn!(%session, seq, %error, "a stored event can't be read and is passed over");
            Ok(None)
        }
    }
}
