//! The write-ahead log's file, watched: if it is replaced under us, what we would write is lost.
//!
//! That happens when something in this process has opened and closed the database file itself, which drops
//! SQLite's locks, and another process then took itself for the last one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The log beside a database.
pub(super) struct Log {
    path: PathBuf,
    /// The file that was there after our first commit. While we hold the database open nobody may remove it.
    inode: Option<u64>,
}

impl Log {
    pub(super) fn beside(database: &Path) -> Self {
        Self {
            path: database.with_extension("db-wal"),
            inode: None,
        }
    }

    /// Looks for the file, after a commit.
    pub(super) fn remember(&mut self) {
        if self.inode.is_none() {
            self.inode = self.found();
        }
    }

    /// Whether the file is another now, or gone.
    pub(super) fn is_replaced(&self) -> bool {
        self.inode.is_some() && self.inode != self.found()
    }

    /// By path only: opening it here is what must never happen.
    fn found(&self) -> Option<u64> {
        fs::metadata(&self.path).ok().map(|metadata| metadata.ino())
    }
}
