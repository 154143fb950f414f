//! A log or a journal without the database that it belongs to. SQLite throws both away beside an empty file, and with them
//! all that was not moved yet.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// Where a journal says how many pages its database had.
const JOURNAL_PAGES: u64 = 16;

/// An error if what is beside a database that is gone or empty may hold rows.
pub(super) fn check(database: &Path) -> Result<(), StoreError> {
    match find(database) {
        Some(log) => Err(StoreError::LoneLog {
            path: database.to_owned(),
            log,
        }),
        None => Ok(()),
    }
}

/// The log that has no database.
pub(super) fn find(database: &Path) -> Option<PathBuf> {
    let is_missing = match fs::symlink_metadata(database) {
        Ok(facts) => facts.is_file() && facts.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    let (log, journal) = (database.with_extension("db-wal"), database.with_extension("db-journal"));
    let has_bytes = |path: &Path| fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() > 0);
    match is_missing {
        true if has_bytes(&log) => Some(log),
        true if has_bytes(&journal) && !is_of_empty(&journal) => Some(journal),
        true | false => None,
    }
}

/// Whether a journal is what a crash has left of making the database: there was no page before.
fn is_of_empty(journal: &Path) -> bool {
    let mut pages = [1; 4];
    let read = File::open(journal).and_then(|file| file.read_exact_at(&mut pages, JOURNAL_PAGES));
    read.is_ok() && pages == [0; 4]
}
