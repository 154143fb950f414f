//! The index of what was said. It is made of the events, row by row in the transaction that stores them, and keeps no
//! text; so it can be dropped and made anew at any time, and its damage is none of the database.

use rusqlite::{Connection, ErrorCode, ffi, params};

use super::passage::{self, OwnTurns};
use super::reader;
use super::value::column;
use crate::id::SessionId;
use crate::search::{Role, TABLE, spelled};

/// Whether what is stored can be found. It is stored in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indexing {
    On,
    /// The index is damaged and can't be made anew.
    Off,
}

/// Whether a failure of what was asked of the index is its own, and not one of the disk. One of the database as a whole
/// shows again when the index is made anew.
pub(super) fn is_own_fault(error: &rusqlite::Error) -> bool {
    let Some(cause) = error.sqlite_error() else {
        return false;
    };
    // `Unknown`: its tables are missing or are none of its own. SQLite has no better word for it.
    matches!(cause.code, ErrorCode::DatabaseCorrupt | ErrorCode::Unknown)
}

/// Whether a failure of anything says that the index contradicts itself.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|cause| cause.extended_code);
    code == Some(ffi::SQLITE_CORRUPT_VTAB)
}

/// Whether it can be asked.
pub(super) fn answers(connection: &Connection) -> rusqlite::Result<bool> {
    match connection.query_row("SELECT count(*) FROM search WHERE search MATCH 'a'", [], |_| Ok(())) {
        Ok(()) => Ok(true),
        Err(error) if is_own_fault(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is said of an index that was made anew and is damaged again.
pub(super) fn still_damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT_VTAB), None)
}

/// Adds a row's text, [`spelled`]. The caller's transaction.
pub(super) fn add(connection: &Connection, id: i64, role: Role, spelled: &str) -> rusqlite::Result<()> {
    let sql = match role {
        Role::Tool => "INSERT INTO search (rowid, tool) VALUES (?1, ?2)",
        Role::Agent => "INSERT INTO search (rowid, agent) VALUES (?1, ?2)",
        Role::User => "INSERT INTO search (rowid, user) VALUES (?1, ?2)",
        Role::Title => "INSERT INTO search (rowid, title) VALUES (?1, ?2)",
    };
    connection.prepare_cached(sql)?.execute(params![id, spelled])?;
    Ok(())
}

/// Forgets a session that is about to go. What forks have copied of it is found in one of them from now on. The caller's
/// transaction.
pub(super) fn forget(connection: &Connection, session: &SessionId) -> rusqlite::Result<()> {
    hand_on(connection, session)?;
    connection.execute(
        "DELETE FROM search WHERE rowid IN (SELECT id FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1))",
        [session.as_str()],
    )?;
    Ok(())
}

/// Makes originals of the oldest copies of a session's rows, and of further copies copies of those.
fn hand_on(connection: &Connection, session: &SessionId) -> rusqlite::Result<()> {
    let mut copied = connection.prepare(
        "SELECT copies.original, min(copies.id) FROM events JOIN events AS copies ON copies.original = events.id \
         WHERE events.session = (SELECT key FROM sessions WHERE id = ?1) GROUP BY copies.original",
    )?;
    let mut copied = copied.query([session.as_str()])?;
    while let Some(row) = copied.next()? {
        let (original, heir): (i64, i64) = (row.get(0)?, row.get(1)?);
        let is_found: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM search_docsize WHERE id = ?1)")?
            .query_row([original], |row| row.get(0))?;
        if is_found {
            add_stored(connection, heir)?;
        }
        connection
            .prepare_cached("UPDATE events SET original = NULL WHERE id = ?1")?
            .execute([heir])?;
        connection
            .prepare_cached("UPDATE events SET original = ?2 WHERE original = ?1")?
            .execute([original, heir])?;
    }
    Ok(())
}

fn add_stored(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    let envelope = connection
        .prepare_cached("SELECT seq, turn, body, sessions.id FROM events JOIN sessions ON sessions.key = session WHERE events.id = ?1")?
        .query_row([id], |row| {
            reader::envelope(&SessionId::from(row.get_ref(3)?.as_str()?), row)
        })?;
    match envelope.as_ref().and_then(|envelope| passage::of(&envelope.event)) {
        Some((role, text)) => add(connection, id, role, &spelled(&text)),
        None => Ok(()),
    }
}

/// Makes the index anew of all there is. The caller's transaction.
pub(super) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    // Where the index itself is gone, its parts may be there.
    connection.execute_batch(
        "DROP TABLE IF EXISTS search;
         DROP TABLE IF EXISTS search_data;
         DROP TABLE IF EXISTS search_idx;
         DROP TABLE IF EXISTS search_docsize;
         DROP TABLE IF EXISTS search_config;",
    )?;
    connection.execute_batch(TABLE)?;
    let mut statement = connection.prepare(&format!(
        "SELECT seq, turn, body, sessions.id, events.id FROM events CROSS JOIN sessions ON sessions.key = session \
         WHERE original IS NULL AND kind IN ({}) ORDER BY events.id",
        passage::KINDS
    ))?;
    let mut rows = statement.query([])?;
    let mut own = OwnTurns::default();
    while let Some(row) = rows.next()? {
        let session = SessionId::from(row.get_ref(3)?.as_str()?);
        let Some(envelope) = reader::envelope(&session, row)? else {
            continue;
        };
        if !own.take(&envelope)
            && let Some((role, text)) = passage::of(&envelope.event)
        {
            add(connection, row.get(4)?, role, &spelled(&text))?;
        }
    }
    Ok(())
}

/// Marks the rows that forks have copied before that was noted: those up to where the fork was made, and like the row of
/// the same number where it was made from. The caller's transaction.
pub(super) fn mark_copies(connection: &Connection) -> rusqlite::Result<()> {
    let mut forks = connection.prepare(
        "SELECT key, (SELECT key FROM sessions AS past WHERE past.id = sessions.parent_id), parent_seq FROM sessions WHERE parent_id IN (SELECT id FROM sessions) \
         ORDER BY (SELECT min(events.id) FROM events WHERE events.session = sessions.key)",
    )?;
    let mut forks = forks.query([])?;
    while let Some(row) = forks.next()? {
        let (fork, parent, seq): (i64, i64, Option<i64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        connection.execute(
            "UPDATE events SET original = past.origin FROM \
             (SELECT coalesce(original, id) AS origin, seq, body FROM events WHERE session = ?2) AS past \
             WHERE events.session = ?1 AND events.seq <= ?3 AND past.seq = events.seq AND past.body = events.body",
            params![fork, parent, seq.unwrap_or(column(0))],
        )?;
    }
    Ok(())
}
