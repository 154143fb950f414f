//! Connections and the shape of the database: pragmas in the order that harms no other process, and migrations.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::StoreError;
use super::location::{self, Location};
use super::{backup, index, titles};

/// The steps from an empty database to the newest schema; the number of each is the schema it leads to.
pub(super) const STEPS: [&str; 9] = [
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
    include_str!("schema_8.sql"),
    include_str!("schema_9.sql"),
];

/// The first schema that has an index of what was said.
const INDEXED: usize = 6;

/// The first schema whose sessions have titles of their own.
const TITLED: usize = 8;

/// Marks a database as ours: "TALA".
const APPLICATION: i64 = 0x5441_4c41;

/// The first version without the fault that loses rows when a write-ahead log is begun again.
const LIBRARY: (i32, &str) = (3_051_003, "3.51.3");

/// How long SQLite waits for another process within one try. Callers are told meanwhile, and there is another try.
const BUSY: Duration = Duration::from_millis(500);

/// How long it waits while the store is opened: there is no other try.
const OPENING: Duration = Duration::from_secs(5);

/// Opens the one connection that writes, and brings the database to the newest schema.
pub(super) fn open(location: &Location) -> Result<Connection, StoreError> {
    let path = &location.database;
    let failed = |source| cannot_open(path, source);
    check_library()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(OPENING).map_err(failed)?;
    check_origin(&connection, path)?;
    set_journal(&connection, location.network).map_err(failed)?;
    set_up(&connection).map_err(failed)?;
    let copy = keep_copy(&connection, path)?;
    match (migrate(&mut connection).map_err(failed), copy) {
        // The room that the copy has is all that is missing, perhaps: the steps matter more.
        (Err(StoreError::Full { source, .. }), Some(copy)) => {
            tracing::warn!(%source, "the copy of the database of before its update is given up for room");
            backup::remove(&copy);
            migrate(&mut connection).map_err(failed)?;
        }
        (migrated, _) => migrated?,
    }
    connection.busy_timeout(BUSY).map_err(failed)?;
    Ok(connection)
}

/// A database that another process holds is not a broken one.
pub(super) fn cannot_open(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, source },
        Some(ErrorCode::DiskFull) => full(path, source),
        // What SQLite says where there is no room for the memory that its processes share.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if location::is_full(&path) => full(path, source),
        _ => StoreError::Open { path, source },
    }
}

fn full(path: PathBuf, source: rusqlite::Error) -> StoreError {
    let source = Box::new(source);
    StoreError::Full { path, source }
}

/// Makes a database that lives as long as its connection.
pub(super) fn open_memory() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    set_up(&connection)?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Makes a database of an older schema, for what is copied from such a one; [`finish`] goes on from there.
pub(super) fn lay_out(path: &Path, network: bool, steps: usize) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    set_journal(&connection, network)?;
    set_up(&connection)?;
    run_steps(&connection, 0, steps)?;
    Ok(connection)
}

/// The same in memory, to be looked at.
pub(super) fn layout(steps: usize) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    run_steps(&connection, 0, steps)?;
    Ok(connection)
}

/// Brings a database that was laid out to the newest schema, but for the index and titles that are shared.
pub(super) fn finish(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = steps_done(&transaction)?;
    run_steps(&transaction, done, STEPS.len())?;
    if done < INDEXED {
        index::mark_copies(&transaction)?;
    }
    transaction.commit()
}

/// Whether a database of its schema has an index of what was said.
pub(super) fn has_index(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(steps_done(connection)? >= INDEXED)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    plan_once(&connection)?;
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    Ok(connection)
}

/// The same for what the database has without its log.
pub(super) fn open_alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let path = path.to_string_lossy();
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let connection = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)?;
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    Ok(connection)
}

/// Has a statement planned once. Otherwise SQLite looks at what stands for the parameters of one over several tables, and
/// plans it anew whenever that changes, which takes longer than to run it.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn check_library() -> Result<(), StoreError> {
    if rusqlite::version_number() >= LIBRARY.0 {
        return Ok(());
    }
    Err(StoreError::OldLibrary {
        found: rusqlite::version().to_owned(),
        needed: LIBRARY.1,
    })
}

/// Reads only: a database that is not ours, or too new for us, stays as it is.
pub(super) fn check_origin(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let read = |sql| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|source| cannot_open(path, source))
    };
    let known = newest();
    let found = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    let is_new = application == 0 && found == 0 && tables == 0;
    match application {
        APPLICATION if found > known => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        APPLICATION => Ok(()),
        _ if is_new => Ok(()),
        _ => Err(StoreError::NotOurs { path: path.to_owned() }),
    }
}

/// The journal's mode is chosen once, while the database is empty. It is never changed later: another process may
/// hold the database open in the old mode.
fn set_journal(connection: &Connection, network: bool) -> rusqlite::Result<()> {
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages > 0 {
        return Ok(());
    }
    let mode = if network { "DELETE" } else { "WAL" };
    connection.pragma_update(None, "journal_mode", mode)
}

/// The log is moved into the database when nothing is written for a second. In between only one of 64 MiB is, which is
/// several hundred steps without such a second: a step must not wait for the disk, and each move waits twice.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    plan_once(connection)?;
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA wal_autocheckpoint = 16384;",
    )
}

/// Keeps a copy of a database that is about to get a newer schema, and says where. Only one process at a time opens the
/// store, so that it is made once. Where it can't be made, it is left out: the steps are one transaction in any case.
fn keep_copy(connection: &Connection, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let done = steps_done(connection).map_err(|source| cannot_open(path, source))?;
    if done == 0 || done >= STEPS.len() {
        return Ok(None);
    }
    match backup::make(connection, path, done) {
        Err(error @ (StoreError::Full { .. } | StoreError::File { .. })) => {
            tracing::warn!(%error, "no copy of the database is kept of before its update");
            Ok(None)
        }
        made => made.map(Some),
    }
}

/// Runs the steps that are missing. Without any it only reads, so that nobody who writes is waited for. The version is
/// read again inside the transaction, since another process may have been first.
fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if steps_done(connection)? == STEPS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = steps_done(&transaction)?;
    if done < STEPS.len() {
        run_steps(&transaction, done, STEPS.len())?;
        if done < INDEXED {
            index::mark_copies(&transaction)?;
            index::rebuild(&transaction)?;
        }
        if done < TITLED {
            titles::mend(&transaction)?;
        }
    }
    transaction.commit()
}

/// Runs the steps from one schema to another, and marks the database with it.
fn run_steps(connection: &Connection, from: usize, to: usize) -> rusqlite::Result<()> {
    for step in &STEPS[from..to] {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", version(to))
}

pub(super) fn steps_done(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(0))
}

fn newest() -> i64 {
    version(STEPS.len())
}

fn version(steps: usize) -> i64 {
    i64::try_from(steps).expect("a list of a few steps has a small length")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rusqlite::StatementStatus;

    use super::*;

    /// The journal's mode after a store was opened on each of the given sorts of disk, one after the other.
    fn check(networks: &[bool], expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        for network in networks {
            let mut location = Location::prepare(folder.path()).unwrap();
            location.network = *network;
            let connection = open(&location).unwrap();
            let mode: String = connection
                .query_row("PRAGMA journal_mode", [], |row| row.get(0))
                .unwrap();
            assert_eq!(mode, expect, "{networks:?}");
            assert_eq!(location.warning().is_some(), *network);
        }
    }

    #[test]
    fn the_journal_is_chosen_when_the_database_is_made_and_kept() {
        check(&[false, false], "wal");
        check(&[true, true], "delete");
        check(&[true, false], "delete");
        check(&[false, true], "wal");
    }

    #[test]
    fn a_statement_is_planned_once_whatever_stands_for_its_parameters() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::prepare(folder.path()).unwrap();
        let connections = [open(&location).unwrap(), open_reader(&location.database).unwrap()];
        for connection in connections {
            let mut statement = connection
                .prepare("SELECT 1 FROM events JOIN sessions ON sessions.key = events.session WHERE events.id = ?1")
                .unwrap();
            for id in 1..=3 {
                assert!(!statement.exists([id]).unwrap());
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
