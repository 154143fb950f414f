//! The files that are written to, watched: if they are replaced or deleted under us, what we would write is lost.
//!
//! To the log that happens when something in this process has opened and closed the database file itself, which drops
//! SQLite's locks, and another process then took itself for the last one. To all of them when somebody removes the
//! folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::value::count;

/// A database's file and the log beside it.
pub(super) struct Log {
    database: Watched,
    log: Watched,
    /// How long the log was after the last commit.
    length: u64,
}

/// What has become of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Another log is in the log's place, or none.
    LogReplaced,
    /// The log has lost its end, or all of it.
    LogCut,
    /// Another database is in the database's place.
    DatabaseReplaced,
    /// The database was deleted.
    DatabaseDeleted,
}

impl Log {
    /// Of a database that was just opened.
    pub(super) fn beside(database: &Path) -> Self {
        let mut watched = Watched::at(database.to_owned());
        watched.remember();
        Self {
            database: watched,
            log: Watched::at(database.with_extension("db-wal")),
            length: 0,
        }
    }

    /// Looks for the log, after a commit. While we hold the database open nobody may remove it.
    pub(super) fn remember(&mut self) {
        self.log.remember();
        self.length = self.log.length();
    }

    /// What has become of the files, if they are not those they were.
    pub(super) fn loss(&mut self, connection: &Mutex<Connection>) -> Option<Loss> {
        if self.database.is_other() {
            let is_there = self.database.found().is_some();
            return Some(if is_there {
                Loss::DatabaseReplaced
            } else {
                Loss::DatabaseDeleted
            });
        }
        if self.log.is_other() {
            return Some(Loss::LogReplaced);
        }
        if self.log.length() >= self.length {
            return None;
        }
        // SQLite makes it shorter too, once all of it is in the database.
        if is_cut(&connection.lock(), self.log.length()).unwrap_or(false) {
            return Some(Loss::LogCut);
        }
        self.length = self.log.length();
        None
    }
}

/// Whether a log of this length is shorter than what SQLite believes to be in it. Nothing is moved.
fn is_cut(connection: &Connection, length: u64) -> rusqlite::Result<bool> {
    const HEADER: u64 = 32;
    const FRAME: u64 = 24;
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let frames: i64 = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))?;
    let frames = u64::try_from(frames).unwrap_or(0);
    Ok(frames > 0 && length < HEADER + frames * (FRAME + count(page)))
}

/// A path, and the file that was there.
struct Watched {
    path: PathBuf,
    inode: Option<u64>,
}

impl Watched {
    fn at(path: PathBuf) -> Self {
        Self { path, inode: None }
    }

    fn remember(&mut self) {
        if self.inode.is_none() {
            self.inode = self.found();
        }
    }

    /// Whether the file is another now, or gone.
    fn is_other(&self) -> bool {
        self.inode.is_some() && self.inode != self.found()
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// By path only: opening it here is what must never happen.
    fn found(&self) -> Option<u64> {
        fs::metadata(&self.path).ok().map(|metadata| metadata.ino())
    }
}
