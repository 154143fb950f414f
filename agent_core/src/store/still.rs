//! A database that is only looked at, where nothing can be written: its folder can't be, or its disk is full. No file is
//! made or changed.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;
use rustix::fs::{Access, access};

use super::error::StoreError;
use super::{location, schema};

/// A database that stays as it is while it is read.
pub(super) enum Still {
    /// Its readers and its writers know of each other.
    Shared,
    /// Nobody writes to it, or it would have a log. It is read without a lock.
    Alone(Connection, Facts),
}

/// Whether files can be made in the folder of a database that is there.
pub(super) fn is_needed(folder: &Path) -> bool {
    folder.join("state.db").is_file() && access(folder, Access::WRITE_OK).is_err()
}

/// Opens a database to be looked at. What was said last may be in a log beside it: it is not read without that.
pub(super) fn open(database: &Path) -> Result<Still, StoreError> {
    let failed = |source| schema::cannot_open(database, source);
    if let Err(error) = access(database, Access::READ_OK) {
        let reason = format!("{} can't be read by this user ({error})", database.display());
        return Err(StoreError::Unread { reason });
    }
    let is_shared = ["db-shm", "db-journal"]
        .iter()
        .any(|beside| has_bytes(database, beside));
    if is_shared {
        let opened = schema::open_reader(database).map_err(failed);
        match opened.and_then(|connection| check(&connection, database)) {
            Ok(()) => return Ok(Still::Shared),
            Err(StoreError::Open { source, .. }) if holds_rows(database).is_some() => {
                return Err(unread_log(database, Some(source)));
            }
            Err(StoreError::Open { .. } | StoreError::Full { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if holds_rows(database).is_some() {
        return Err(unread_log(database, None));
    }
    let facts = Facts::of(database).map_err(|source| StoreError::of_file(database, source))?;
    let connection = schema::open_alone(database).map_err(failed)?;
    check(&connection, database)?;
    Ok(Still::Alone(connection, facts))
}

/// A database of another form can't be brought to ours here.
fn check(connection: &Connection, database: &Path) -> Result<(), StoreError> {
    schema::check_origin(connection, database)?;
    let found = schema::steps_done(connection).map_err(|source| schema::cannot_open(database, source))?;
    if found == schema::STEPS.len() {
        return Ok(());
    }
    Err(StoreError::OldAndStill {
        path: database.to_owned(),
        found,
        known: schema::STEPS.len(),
    })
}

/// What may have rows that the database has not.
fn holds_rows(database: &Path) -> Option<PathBuf> {
    let beside = ["db-wal", "db-journal"].into_iter();
    let mut beside = beside.filter(|beside| has_bytes(database, beside));
    beside.next().map(|beside| database.with_extension(beside))
}

fn has_bytes(database: &Path, beside: &str) -> bool {
    fs::metadata(database.with_extension(beside)).is_ok_and(|facts| facts.len() > 0)
}

fn unread_log(database: &Path, source: Option<rusqlite::Error>) -> StoreError {
    StoreError::StillLog {
        path: database.to_owned(),
        log: holds_rows(database).unwrap_or_else(|| database.with_extension("db-wal")),
        is_full: location::is_full(database),
        source,
    }
}

/// What a file would not be the same without.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    inode: u64,
    length: u64,
    written: SystemTime,
}

impl Facts {
    fn of(database: &Path) -> io::Result<Self> {
        let facts = fs::metadata(database)?;
        Ok(Self {
            inode: facts.ino(),
            length: facts.len(),
            written: facts.modified()?,
        })
    }

    /// Whether nobody has begun to write to the database.
    pub(super) fn hold(&self, database: &Path) -> bool {
        let is_same = match Self::of(database) {
            Ok(found) => found == *self,
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        is_same && holds_rows(database).is_none()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rusqlite::OpenFlags;

    use super::*;
    use crate::store::Store;

    /// A database that is whole, and nobody's.
    fn database() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).unwrap().close();
        let database = folder.path().join("state.db");
        assert!(!database.with_extension("db-wal").exists());
        (folder, database)
    }

    #[test]
    fn what_is_written_while_a_database_is_read_without_a_lock_is_noticed() {
        let (_folder, database) = database();
        let Still::Alone(_connection, facts) = open(&database).unwrap() else {
            panic!("nobody has it open");
        };
        assert!(facts.hold(&database));
        // Not this process's own file, as far as SQLite knows: its locks would go with it.
        let other = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        other.execute_batch("CREATE TABLE more (x)").unwrap();
        assert!(!facts.hold(&database));
        drop(other);
        assert!(!facts.hold(&database), "it was moved into the database");
    }

    #[test]
    fn a_log_without_its_memory_is_not_read_past() {
        let (_folder, database) = database();
        fs::write(database.with_extension("db-wal"), "rows").unwrap();
        let error = open(&database).err().unwrap();
        assert!(matches!(error, StoreError::StillLog { .. }), "{error}");
        assert!(
            error.to_string().contains("state.db-wal holds what was said last"),
            "{error}"
        );
    }
}
