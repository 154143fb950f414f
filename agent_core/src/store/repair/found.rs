//! What is wrong with a database.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{RepairError, layout, recount};
use crate::store::error::StoreError;
use crate::store::{index, lone_log, schema};

/// How many faults are told.
const FAULTS: usize = 5;

/// How long another program's lock is waited for.
const BUSY: Duration = Duration::from_secs(1);

/// How a database was found.
pub(super) enum Found {
    /// The file has no bytes.
    Empty,
    /// Nothing is wrong.
    Whole,
    /// Only the index of what was said is damaged, or gone.
    Index,
    /// The first faults.
    Damaged(Vec<String>),
}

/// Looks at a database and writes nothing; an error if it can't be judged, or is not one to be repaired.
pub(super) fn look(path: &Path) -> Result<Found, RepairError> {
    if lone_log::find(path).is_some() {
        return Ok(Found::Damaged(vec![
            "its log is there, and the database itself is gone or empty".to_owned(),
        ]));
    }
    if fs::metadata(path).is_ok_and(|facts| facts.len() == 0) {
        return Ok(Found::Empty);
    }
    let looked = alone(path).map(|connection| (schema::check_origin(&connection, path), connection));
    let (origin, connection) = match looked {
        Ok(looked) => looked,
        Err(error) => return damage(path, error),
    };
    match origin {
        Ok(()) => {}
        Err(StoreError::Open { source, .. }) => return damage(path, source),
        Err(StoreError::NotOurs { .. }) if layout::schema_of(&connection).is_some() => {
            return Ok(Found::Damaged(vec!["the mark of this program is gone".to_owned()]));
        }
        Err(StoreError::Busy { path, .. }) => return Err(RepairError::InUse { path, pid: None }),
        Err(error) => return Err(error.into()),
    }
    let writers = match super::writers(&connection) {
        Ok(writers) => writers,
        Err(error) => return damage(path, error),
    };
    if let Some(pid) = writers.first() {
        return Err(RepairError::InUse {
            path: path.to_owned(),
            pid: Some(*pid),
        });
    }
    faults(&connection).map_or_else(|error| damage(path, error), Ok)
}

/// Opens a database in such a way that nobody else can use it meanwhile, and that its log stays as it is.
pub(super) fn alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // Without a log there is nothing to keep, and the end of the connection removes the empty one that it made.
    let has_log = fs::metadata(path.with_extension("db-wal")).is_ok_and(|facts| facts.len() > 0);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log)?;
    // `PRAGMA locking_mode` answers with a row.
    connection.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

/// Whether a failure is one of the database, and not of the disk or of who else uses it.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::DiskFull
                | ErrorCode::OutOfMemory
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
        )
    )
}

fn damage(path: &Path, error: rusqlite::Error) -> Result<Found, RepairError> {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Err(RepairError::InUse { path, pid: None }),
        _ if is_damage(&error) => Ok(Found::Damaged(vec![error.to_string()])),
        _ => Err(RepairError::Sql { path, source: error }),
    }
}

fn faults(connection: &Connection) -> rusqlite::Result<Found> {
    let faults = check(connection)?;
    let is_of_index = |fault: &String| fault.to_ascii_lowercase().contains("fts5");
    if faults.iter().any(|fault| !is_of_index(fault)) {
        return Ok(Found::Damaged(faults));
    }
    // A bit in the words of the schema can give a column another name, which is no fault to SQLite.
    if !layout::can_work(connection)? {
        return Ok(Found::Damaged(vec![
            "its tables are not those of its schema".to_owned(),
        ]));
    }
    if !recount::is_readable(connection)? {
        return Ok(Found::Damaged(vec![
            "some rows hold what nobody can have written".to_owned(),
        ]));
    }
    match faults.is_empty() && (!schema::has_index(connection)? || index::answers(connection)?) {
        true => Ok(Found::Whole),
        false => Ok(Found::Index),
    }
}

fn check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
    let faults = statement.query_map([], |row| row.get::<_, String>(0))?;
    let faults: Vec<String> = faults.collect::<rusqlite::Result<_>>()?;
    Ok(faults.into_iter().filter(|fault| fault != "ok").collect())
}

/// What is wrong with the database that was just made.
pub(super) fn fault_of_new(path: &Path) -> rusqlite::Result<Option<String>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut faults = check(&connection)?;
    let orphans: i64 = connection.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    if orphans > 0 {
        faults.push(format!("{orphans} rows without a session"));
    }
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')", [])?;
    Ok(faults.into_iter().next())
}
