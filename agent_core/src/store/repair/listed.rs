//! The rows that there must have been: the index of the events lists the place of each.

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use super::Lost;
use super::layout::KEYED;
use crate::id::SessionId;
use crate::store::value;

/// Notes in the new database, for as long as it is open, what the index of the old one lists; whether it could be read from
/// one end to the other.
pub(super) fn note(image: Option<&Connection>, new: &Connection, steps: usize) -> rusqlite::Result<bool> {
    new.execute_batch(
        "CREATE TEMP TABLE listed (session, seq INTEGER, id INTEGER, PRIMARY KEY (session, seq)) WITHOUT ROWID;",
    )?;
    let Some(image) = image else { return Ok(false) };
    let session = session_column(steps);
    let is_whole = read(image, new, session, "ASC")?;
    if !is_whole {
        read(image, new, session, "DESC")?;
    }
    Ok(is_whole)
}

/// How a row names its session.
pub(super) fn session_column(steps: usize) -> &'static str {
    if steps < KEYED { "session_id" } else { "session" }
}

/// Reads the index alone, from one of its ends; whether that went to the other.
fn read(image: &Connection, new: &Connection, session: &str, order: &str) -> rusqlite::Result<bool> {
    let sql = format!(
        "SELECT {session}, seq, id FROM events INDEXED BY sqlite_autoindex_events_1 \
         ORDER BY {session} {order}, seq {order}"
    );
    let Ok(mut statement) = image.prepare(&sql) else {
        return Ok(false);
    };
    let Ok(mut rows) = statement.query([]) else {
        return Ok(false);
    };
    let mut insert = new.prepare("INSERT OR IGNORE INTO listed VALUES (?1, ?2, ?3)")?;
    loop {
        match rows.next() {
            Ok(Some(row)) => {
                let place = (row.get::<_, Value>(0), row.get::<_, i64>(1), row.get::<_, i64>(2));
                // What is no place has fallen over in the index itself.
                if let (Ok(session @ (Value::Integer(_) | Value::Text(_))), Ok(seq), Ok(id)) = place {
                    insert.execute(params![session, seq, id])?;
                }
            }
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        }
    }
}

/// So many listed rows are nowhere.
pub(super) fn missing(new: &Connection, steps: usize) -> rusqlite::Result<u64> {
    let sql = format!("SELECT count(*) FROM listed WHERE {}", is_nowhere(steps));
    new.query_row(&sql, [], |row| row.get(0).map(value::count))
}

fn is_nowhere(steps: usize) -> String {
    let session = session_column(steps);
    format!(
        "NOT EXISTS (SELECT 1 FROM events WHERE {session} = listed.session AND seq = listed.seq) \
         AND NOT EXISTS (SELECT 1 FROM events WHERE id = listed.id)"
    )
}

/// Notes in the new database, for as long as it is open, which sessions have lost how many rows.
pub(super) fn note_lost(new: &Connection, steps: usize) -> rusqlite::Result<()> {
    new.execute_batch(&format!(
        "CREATE TEMP TABLE lost (session PRIMARY KEY, lost_rows INTEGER, id TEXT) WITHOUT ROWID;
         INSERT INTO lost SELECT session, count(*), CASE typeof(session) WHEN 'text' THEN session END
         FROM listed WHERE {} GROUP BY session;",
        is_nowhere(steps)
    ))
}

/// Notes what a session was called that its rows name by this number.
pub(super) fn name_lost(new: &Connection, key: i64, id: &str) -> rusqlite::Result<()> {
    new.prepare_cached("UPDATE temp.lost SET id = ?2 WHERE session = ?1 AND id IS NULL")?
        .execute(params![key, id])?;
    Ok(())
}

/// The sessions that have lost rows, those with the most first. What nobody can name any more is not among them.
pub(super) fn lost(new: &Connection) -> rusqlite::Result<Vec<Lost>> {
    // A database of which nothing could be read has no note.
    let is_noted: bool = new.query_row(
        "SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = 'lost')",
        [],
        |row| row.get(0),
    )?;
    if !is_noted {
        return Ok(Vec::new());
    }
    let mut statement = new.prepare(
        "SELECT coalesce(sessions.id, lost.id), sessions.title, lost_rows FROM temp.lost \
         LEFT JOIN sessions ON sessions.key = lost.session OR sessions.id = lost.id \
         WHERE coalesce(sessions.id, lost.id) IS NOT NULL GROUP BY lost.session ORDER BY lost_rows DESC, 1",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Lost {
            session: SessionId::from(row.get_ref(0)?.as_str()?),
            title: row.get(1)?,
            rows: value::count(row.get(2)?),
        })
    })?;
    rows.collect()
}

/// Whether a row is listed at this place.
pub(super) fn has(new: &Connection, session: &Value, seq: i64, id: i64) -> rusqlite::Result<bool> {
    new.prepare_cached("SELECT 1 FROM listed WHERE session = ?1 AND seq = ?2 AND id = ?3")?
        .exists(params![session, seq, id])
}
