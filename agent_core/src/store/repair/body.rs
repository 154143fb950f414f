//! What makes the body of a row an event of ours, and bytes those that they were.

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::listed;
use crate::event::{Event, Hash};

/// An event's name in its JSON.
#[derive(Deserialize)]
struct Named {
    event: String,
}

/// Whether a body can be read, or is an event of a later version.
pub(super) fn is_event(kind: &str, body: &[u8]) -> bool {
    match serde_json::from_slice::<Event>(body) {
        Ok(_) => true,
        Err(error) => {
            error.to_string().contains("unknown variant")
                && serde_json::from_slice::<Named>(body).is_ok_and(|named| named.event == kind)
        }
    }
}

/// Whether a body is an event of this name that can be read.
pub(super) fn is_of_kind(kind: &str, body: &[u8]) -> bool {
    serde_json::from_slice::<Event>(body).is_ok()
        && serde_json::from_slice::<Named>(body).is_ok_and(|named| named.event == kind)
}

/// Whether bytes are those that a hash in hexadecimal stands for.
pub(super) fn is_hash_of(sha256: &str, bytes: &[u8]) -> bool {
    Hash::of(bytes).hex() == sha256
}

/// Whether a row has a body that nobody can read.
pub(super) fn has_unreadable(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(!unreadable(connection, 1)?.is_empty())
}

/// Removes the rows whose bodies nobody can read. They are listed, also where the index did not.
pub(super) fn remove_unreadable(connection: &Connection, steps: usize) -> rusqlite::Result<()> {
    let list = format!(
        "INSERT OR IGNORE INTO listed SELECT {}, seq, id FROM events WHERE id = ?1",
        listed::session_column(steps)
    );
    for id in unreadable(connection, usize::MAX)? {
        connection.prepare_cached(&list)?.execute([id])?;
        connection
            .prepare_cached("DELETE FROM events WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(())
}

/// The numbers of rows with such bodies, at most so many.
fn unreadable(connection: &Connection, most: usize) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare("SELECT id, kind, body FROM events")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        let (kind, body) = (row.get_ref(1)?, row.get_ref(2)?);
        let is_read = body
            .as_bytes()
            .is_ok_and(|body| is_event(kind.as_str().unwrap_or_default(), body));
        if !is_read {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Whether there are bytes that their hash does not stand for.
pub(super) fn has_bad_bytes(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(!bad_bytes(connection, 1)?.is_empty())
}

/// Removes the bytes that their hash does not stand for; how many.
pub(super) fn remove_bad_bytes(connection: &Connection) -> rusqlite::Result<usize> {
    let bad = bad_bytes(connection, usize::MAX)?;
    for sha256 in &bad {
        connection.execute("DELETE FROM blobs WHERE sha256 IS ?1", params![sha256])?;
    }
    Ok(bad.len())
}

fn bad_bytes(connection: &Connection, most: usize) -> rusqlite::Result<Vec<Value>> {
    let mut statement = connection.prepare("SELECT sha256, bytes FROM blobs")?;
    let mut rows = statement.query([])?;
    let mut bad = Vec::new();
    while bad.len() < most
        && let Some(row) = rows.next()?
    {
        let is_whole = match (row.get_ref(0)?.as_str(), row.get_ref(1)?.as_blob()) {
            (Ok(sha256), Ok(bytes)) => is_hash_of(sha256, bytes),
            _ => false,
        };
        if !is_whole {
            bad.push(Value::try_from(row.get_ref(0)?).unwrap_or(Value::Null));
        }
    }
    Ok(bad)
}
