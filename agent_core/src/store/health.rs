//! Whether the database is whole, and how much is in it, for whoever looks after it. Only reads.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use rusqlite::{Connection, ErrorCode, InterruptHandle};

use super::index;

/// How many faults are told; the first says that there are any, and more say no more.
const FAULTS: usize = 3;

/// How often a check that is out of time is interrupted.
const AGAIN: Duration = Duration::from_millis(10);

/// How the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The schema it has.
    pub schema: u64,
    /// Its size in bytes, without what its log still holds.
    pub bytes: u64,
    /// The sessions that have messages.
    pub sessions: u64,
    /// What came of checking its pages.
    pub pages: Pages,
}

/// What came of checking the pages of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Nothing is wrong.
    Whole,
    /// Only the index of what was said, which is made anew when it is needed.
    Index,
    /// The first faults, in SQLite's words.
    Damaged(Vec<String>),
    /// There was no time for all of them.
    Unfinished,
}

/// Looks at a database; the check of its pages ends after `limit`.
pub(super) fn read(connection: &Connection, limit: Duration) -> rusqlite::Result<Health> {
    let number = |sql: &str| -> rusqlite::Result<u64> {
        let number: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or(0))
    };
    // First, since a damaged database may fail at all that follows.
    let mut pages = check_pages(connection, limit)?;
    if pages == Pages::Whole && !index::answers(connection)? {
        pages = Pages::Index;
    }
    Ok(Health {
        schema: number("PRAGMA user_version")?,
        bytes: number("PRAGMA page_count")? * number("PRAGMA page_size")?,
        sessions: match &pages {
            Pages::Damaged(_) => number("SELECT count(*) FROM sessions WHERE messages > 0").unwrap_or(0),
            Pages::Whole | Pages::Index | Pages::Unfinished => {
                number("SELECT count(*) FROM sessions WHERE messages > 0")?
            }
        },
        pages,
    })
}

fn check_pages(connection: &Connection, limit: Duration) -> rusqlite::Result<Pages> {
    let faults = within(limit, connection.get_interrupt_handle(), || {
        let mut statement = connection.prepare(&format!("PRAGMA quick_check({FAULTS})"))?;
        let faults = statement.query_map([], |row| row.get::<_, String>(0))?;
        faults.collect::<rusqlite::Result<Vec<String>>>()
    });
    match faults {
        Ok(faults) => Ok(of_pages(faults)),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Ok(Pages::Unfinished),
            Some(ErrorCode::DatabaseCorrupt) if index::is_damage(&error) => Ok(Pages::Index),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Ok(Pages::Damaged(vec![error.to_string()])),
            _ => Err(error),
        },
    }
}

/// The index of what was said is none of the pages that count.
fn of_pages(faults: Vec<String>) -> Pages {
    let is_of_index = |fault: &String| fault.to_ascii_lowercase().contains("fts5");
    let (of_index, others): (Vec<_>, Vec<_>) = faults.into_iter().filter(|fault| fault != "ok").partition(is_of_index);
    match (others.is_empty(), of_index.is_empty()) {
        (true, true) => Pages::Whole,
        (true, false) => Pages::Index,
        (false, _) => Pages::Damaged(others),
    }
}

/// Does `work`, and interrupts it if it takes too long.
fn within<T>(limit: Duration, handle: InterruptHandle, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Carries nothing: its end says that the work is done.
        let (working, ended) = bounded::<()>(0);
        scope.spawn(move || {
            let mut patience = limit;
            // Again and again: an interrupt between two statements is one of nothing.
            while ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
                patience = AGAIN;
            }
        });
        let done = work();
        drop(working);
        done
    })
}
