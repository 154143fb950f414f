//! The file gets smaller when much of it is free.

use rusqlite::Connection;

use super::queue::Fault;
use super::value::count;

/// Less than this is kept for what comes.
const WORTH: u64 = 8 * 1024 * 1024;

/// What became of the free room in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is not so much of it that it pays.
    Kept,
    /// The file is smaller by so many bytes.
    Given(u64),
    /// So many bytes are free, and another process has the database open.
    Later(u64),
}

/// The free bytes of the file, if they are worth a new file: more than 8 MiB and a quarter of it.
pub(super) fn to_give(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let read = |sql| connection.query_row(sql, [], |row| Ok(count(row.get(0)?)));
    let (free, pages, size) = (
        read("PRAGMA freelist_count")?,
        read("PRAGMA page_count")?,
        read("PRAGMA page_size")?,
    );
    let bytes = free.saturating_mul(size);
    Ok((bytes > WORTH && free.saturating_mul(4) > pages).then_some(bytes))
}

/// Writes the file anew without free pages. Outside a transaction.
pub(super) fn give(connection: &Connection) -> Result<(), Fault> {
    let given = connection
        .execute_batch("VACUUM")
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    // Another try would come at a time when nobody waits for it.
    given.map_err(|error| Fault::Refused(format!("the file can't be made smaller now ({error})")))
}
