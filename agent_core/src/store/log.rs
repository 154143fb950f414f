//! The files that are written to, watched: if they are replaced or deleted under us, what we would write is lost.
//!
//! To the log that happens when something in this process has opened and closed the database file itself, which drops
//! SQLite's locks, and another process then took itself for the last one. To all of them when somebody removes the
//! folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A database's file and the log beside it.
pub(super) struct Log {
    database: Watched,
    log: Watched,
}

/// What has become of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Another log is in the log's place, or none.
    LogReplaced,
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
        }
    }

    /// Looks for the log, after a commit. While we hold the database open nobody may remove it.
    pub(super) fn remember(&mut self) {
        self.log.remember();
    }

    /// What has become of the files, if they are not those they were.
    pub(super) fn loss(&self) -> Option<Loss> {
        if self.database.is_other() {
            let is_there = self.database.found().is_some();
            return Some(if is_there {
                Loss::DatabaseReplaced
            } else {
                Loss::DatabaseDeleted
            });
        }
        self.log.is_other().then_some(Loss::LogReplaced)
    }
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

    /// By path only: opening it here is what must never happen.
    fn found(&self) -> Option<u64> {
        fs::metadata(&self.path).ok().map(|metadata| metadata.ino())
    }
}
