//! The repair of a damaged database, by a process that is alone with it: what can be read is copied into a new one, and
//! the old files are kept beside it.

mod alone;
mod body;
mod file;
mod found;
mod layout;
mod leaf;
mod listed;
mod log;
mod named;
mod pages;
mod recount;
mod row;
mod salvage;
mod scan;
mod swap;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;
use super::index::{self, Indexing};
use super::lease::{self, Process};
use super::location::Location;
use super::queue::Fault;
use super::{lone_log, message, schema};
use crate::clock::unix_ms;
use crate::id::SessionId;
use found::Found;
use swap::Files;

/// What a repair has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// There is no database, or an empty file: it is made when it is needed.
    Nothing,
    /// The database is whole. What processes that died had left in it was tidied up.
    Whole(Tidied),
    /// Only the index of what was said was damaged, and was made anew.
    Reindexed(Tidied),
    /// A new database is in the old one's place.
    Salvaged(Salvaged),
}

/// What processes that died had left, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Claims of sessions, which are free now.
    pub leases: u64,
    /// Sessions with messages that were never finished; what was said of them is in the history now.
    pub unfinished: u64,
}

/// What could be saved of a damaged database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// The first faults, in SQLite's words.
    pub faults: Vec<String>,
    /// The sessions that are kept, with rows.
    pub sessions: u64,
    /// Sessions of which no row is left, but what was set in them.
    pub empty_sessions: u64,
    /// Those among them of which only the rows were left: their settings are those of a new one.
    pub bare_sessions: u64,
    /// Sessions that are known to have been there, and of which nothing is left.
    pub lost_sessions: u64,
    /// The rows that are kept: messages, calls, results.
    pub rows: u64,
    /// The rows that are known to have been there and are lost.
    pub lost_rows: u64,
    /// The sessions that these rows were in, as far as anybody can name them, those that have lost most first.
    pub lost: Vec<Lost>,
    /// More rows may be lost; nobody knows how many.
    pub more_rows_lost: bool,
    /// Pictures, and what files held before a change, that were in use and are lost.
    pub lost_bytes: u64,
    /// Other tables of which something may be lost.
    pub doubtful: Vec<String>,
    /// Where the old database is. What its log held is beside it.
    pub old: PathBuf,
}

/// A session that has lost rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The session; it may be lost itself.
    pub session: SessionId,
    /// Its title, where that is left.
    pub title: Option<String>,
    /// The rows that are known to be lost.
    pub rows: u64,
}

/// Why nothing was repaired. The store is as it was then.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Another process may be using the database.
    #[error(
        "{} is in use by {}: close the editors and terminals that run an agent, or end that process, then try again",
        path.display(), pid.map_or("another process".to_owned(), |pid| format!("process {pid}"))
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// That process, where it is known.
        pid: Option<u32>,
    },
    /// The files can't be used at all.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file can't be copied, made or moved.
    #[error("can't use {}: check that the folder can be written and that its disk has room for two copies", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was read can't be written or read again.
    #[error("can't make a new database of {}: check that its disk has room for two copies", path.display())]
    Sql {
        /// The old database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The new database is not whole.
    #[error("the new database made of {} is not whole ({fault}), so the old one stays", path.display())]
    NotWhole {
        /// The old database.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
}

/// Repairs the database in a folder. `label` becomes a part of the old file's name. The caller's process must have no
/// store open there: looking for others closes a descriptor of the file, and with it this process's own locks.
///
/// # Errors
/// When another process uses the database, when it is another program's or a later version's, or when the new one can't
/// be made. Nothing is changed then.
pub fn repair(folder: &Path, label: &str) -> Result<Repair, RepairError> {
    let database = folder.join("state.db");
    let is_gone = fs::symlink_metadata(&database).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_gone && lone_log::find(&database).is_none() {
        return Ok(Repair::Nothing);
    }
    // Its lock keeps others from opening the store until this is over.
    let location = Location::of_existing(folder)?;
    alone::check_locks(&location.database)?;
    let files = Files::of(&location.database);
    files.clear();
    match found::look(&location.database)? {
        Found::Empty => Ok(Repair::Nothing),
        Found::Whole => Ok(Repair::Whole(tidy(&location)?)),
        Found::Index => match reindex(&location)? {
            Some(tidied) => Ok(Repair::Reindexed(tidied)),
            None => salvaged(&location, &files, label, vec!["the index of the history".to_owned()]),
        },
        Found::Damaged(faults) => salvaged(&location, &files, label, faults),
    }
}

fn salvaged(location: &Location, files: &Files, label: &str, faults: Vec<String>) -> Result<Repair, RepairError> {
    let made = make_new(location, files, faults).and_then(|salvaged| {
        alone::check_locks(&location.database)?;
        let old = files.put_aside(label)?;
        files.swap()?;
        Ok(Repair::Salvaged(Salvaged { old, ..salvaged }))
    });
    files.clear();
    made
}

fn make_new(location: &Location, files: &Files, faults: Vec<String>) -> Result<Salvaged, RepairError> {
    let sql = |source| RepairError::Sql {
        path: location.database.clone(),
        source,
    };
    files.copy_old()?;
    let free_head = file::free_head(&files.image);
    let mended = file::make_page(&files.image).and_then(|()| file::mend_header(&files.image));
    mended.map_err(|source| RepairError::File {
        path: files.image.clone(),
        source,
    })?;
    files.make_new()?;
    let salvaged = salvage::copy(&files.image, &files.new, free_head, location.network).map_err(sql)?;
    if let Some(fault) = found::fault_of_new(&files.new).map_err(sql)? {
        return Err(RepairError::NotWhole {
            path: location.database.clone(),
            fault,
        });
    }
    files.sync_new()?;
    Ok(Salvaged { faults, ..salvaged })
}

/// Makes the index anew and tidies up; none if the damage is not the index's alone.
fn reindex(location: &Location) -> Result<Option<Tidied>, RepairError> {
    let mended = schema::open(location).map(|mut connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        index::rebuild(&transaction)?;
        transaction.commit()
    });
    match mended {
        Ok(Ok(())) if matches!(found::look(&location.database)?, Found::Whole) => Ok(Some(tidy(location)?)),
        Ok(Err(error)) if !found::is_damage(&error) => Err(RepairError::Sql {
            path: location.database.clone(),
            source: error,
        }),
        Err(error @ (StoreError::Busy { .. } | StoreError::Full { .. })) => Err(error.into()),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Frees what dead processes hold and keeps what they were saying. A database without such things is not written to.
fn tidy(location: &Location) -> Result<Tidied, RepairError> {
    let sql = |source| RepairError::Sql {
        path: location.database.clone(),
        source,
    };
    let left = found::alone(&location.database).and_then(|connection| left_over(&connection));
    let left = left.map_err(sql)?;
    if left == Tidied::default() {
        return Ok(left);
    }
    let mut connection = schema::open(location)?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    finish_messages(&transaction).map_err(sql)?;
    transaction.execute("DELETE FROM leases", []).map_err(sql)?;
    transaction.commit().map_err(sql)?;
    Ok(left)
}

fn left_over(connection: &Connection) -> rusqlite::Result<Tidied> {
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0).map(super::value::count));
    Ok(Tidied {
        leases: count("SELECT count(*) FROM leases")?,
        unfinished: count("SELECT count(DISTINCT session_id) FROM partials")?,
    })
}

/// Makes rows of all messages that were never finished. Nobody is speaking them: the caller is alone.
fn finish_messages(connection: &Connection) -> rusqlite::Result<()> {
    let sessions: Vec<SessionId> = connection
        .prepare("SELECT DISTINCT session_id FROM partials WHERE session_id IN (SELECT id FROM sessions)")?
        .query_map([], |row| Ok(SessionId::from(row.get_ref(0)?.as_str()?)))?
        .collect::<rusqlite::Result<_>>()?;
    for session in sessions {
        match message::recover(connection, &session, Indexing::On) {
            Ok(()) => {}
            Err(Fault::Sql(error) | Fault::Index(error)) => return Err(error),
            Err(Fault::Held(_) | Fault::Refused(_)) => {
                tracing::warn!(%session, "what was left of a message can't be kept");
            }
        }
    }
    connection.execute("DELETE FROM partials", [])?;
    Ok(())
}

/// The processes that live and write to sessions.
fn writers(connection: &Connection) -> rusqlite::Result<Vec<u32>> {
    lease::living(connection, &Process::current(), unix_ms())
}
