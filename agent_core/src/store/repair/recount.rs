//! What a session's row says of its events, said again after some of both are gone.

use std::path::Path;

use rusqlite::{Connection, params};

use super::body;
use crate::id::SessionId;
use crate::provider::{ModelRef, Origin};
use crate::store::session::{self, fold};
use crate::store::{SessionRecord, location, reader, schema, value};

/// Where a session works whose folder is lost: nowhere. In `/` all that there is would be its workspace.
pub(super) const NO_FOLDER: &str = "/its-folder-is-not-known";

/// Makes a row for a session of which there are only events. The columns are those of every schema.
pub(super) fn insert_bare(connection: &Connection, id: &str, key: Option<i64>) -> rusqlite::Result<()> {
    let model = ModelRef::offline().to_string();
    connection.execute(
        "INSERT INTO sessions (id, source, cwd, real_cwd, extra_roots, model, origin, mode, system, created_ms, \
         updated_ms, messages, last_seq, last_turn, activity) \
         VALUES (?1, 'acp', ?4, ?4, '[]', ?2, ?3, 'default', '', 0, 0, 0, 0, 0, 0)",
        params![id, model, no_origin(), NO_FOLDER],
    )?;
    if let Some(key) = key {
        connection.execute("UPDATE sessions SET key = ?2 WHERE id = ?1", params![id, key])?;
    }
    Ok(())
}

pub(super) fn no_origin() -> String {
    let origin = Origin {
        api: String::new(),
        base_url: String::new(),
        model: String::new(),
    };
    serde_json::to_string(&origin).expect("three strings are always JSON")
}

/// A row of an event whose values have the types that we write.
const IS_EVENT: &str = "typeof(seq) = 'integer' AND typeof(session) = 'integer' AND typeof(at_ms) = 'integer' \
     AND typeof(turn) IN ('integer', 'null') AND typeof(original) IN ('integer', 'null') \
     AND typeof(kind) = 'text' AND typeof(body) IN ('text', 'blob')";

/// Whether all rows of a database of the newest schema have the shape that we write. Of an older one nothing is said.
pub(super) fn is_readable(connection: &Connection) -> rusqlite::Result<bool> {
    if schema::steps_done(connection)? < schema::STEPS.len() {
        return Ok(true);
    }
    let odd = format!("SELECT EXISTS (SELECT 1 FROM events WHERE NOT ({IS_EVENT}))");
    if connection.query_row(&odd, [], |row| row.get(0))? {
        return Ok(false);
    }
    if body::has_unreadable(connection)? || body::has_bad_bytes(connection)? {
        return Ok(false);
    }
    let sql = format!("SELECT {} FROM sessions", session::COLUMNS);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if session::from_row(row).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives rows the shape that we write. Those that have lost their place are removed.
pub(super) fn coerce(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "UPDATE events SET
             turn = CASE typeof(turn) WHEN 'integer' THEN turn END,
             original = CASE typeof(original) WHEN 'integer' THEN original END,
             at_ms = CASE typeof(at_ms) WHEN 'integer' THEN at_ms ELSE 0 END,
             kind = CASE typeof(kind) WHEN 'text' THEN kind ELSE '' END,
             body = CASE WHEN typeof(body) IN ('text', 'blob') THEN body ELSE CAST(body AS TEXT) END
         WHERE NOT ({IS_EVENT});"
    ))?;
    connection.execute(&format!("DELETE FROM events WHERE NOT ({IS_EVENT})"), [])?;
    name_anew(connection)
}

/// Gives sessions a new id or number whose own is none any more.
fn name_anew(connection: &Connection) -> rusqlite::Result<()> {
    const NEXT: &str = "SELECT max((SELECT coalesce(max(session), 0) FROM events), coalesce(max(key), 0)) + 1 \
         FROM sessions WHERE typeof(key) = 'integer'";
    let mut statement = connection.prepare("SELECT rowid, id, typeof(key) = 'integer' FROM sessions")?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get_ref(1)?.as_str().is_ok(),
            row.get::<_, bool>(2)?,
        ))
    })?;
    for (rowid, is_text, has_key) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
        if !has_key {
            connection.execute(&format!("UPDATE sessions SET key = ({NEXT}) WHERE rowid = ?1"), [rowid])?;
        }
        if !is_text {
            connection.execute(
                "UPDATE sessions SET id = ?2 WHERE rowid = ?1",
                params![rowid, SessionId::new().as_str()],
            )?;
        }
    }
    Ok(())
}

/// Gives a session the number that its rows name it by, if it has none with rows; whether it was there.
pub(super) fn give_key(connection: &Connection, id: &str, key: i64) -> rusqlite::Result<bool> {
    let changed = connection.execute(
        "UPDATE sessions SET key = ?2 \
         WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM events WHERE events.session = sessions.key)",
        params![id, key],
    )?;
    Ok(changed > 0)
}

/// Goes over all sessions.
pub(super) fn recount(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT key, id FROM sessions")?;
    let sessions = statement.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, SessionId::from(row.get_ref(1)?.as_str()?)))
    })?;
    for found in sessions.collect::<rusqlite::Result<Vec<_>>>()? {
        recount_one(connection, found.0, &found.1)?;
    }
    Ok(())
}

fn recount_one(connection: &Connection, key: i64, id: &SessionId) -> rusqlite::Result<()> {
    let Some(mut record) = readable(connection, key, id)? else {
        return Ok(());
    };
    let is_bare = record.last_seq == 0 && record.created_ms == 0;
    let mut folded = SessionRecord {
        messages: 0,
        title: None,
        ..record.clone()
    };
    let mut activity = 0;
    let mut statement =
        connection.prepare_cached("SELECT seq, turn, body, id, at_ms FROM events WHERE session = ?1 ORDER BY seq")?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        activity = activity.max(row.get(3)?);
        record.last_seq = record.last_seq.max(value::count(row.get(0)?));
        if let Some(envelope) = reader::envelope(id, row)? {
            if is_bare && folded.created_ms == 0 {
                folded.created_ms = row.get(4)?;
            }
            fold(&mut folded, &envelope, row.get(4)?);
        }
    }
    if is_bare {
        connection.execute(
            "UPDATE sessions SET created_ms = ?2 WHERE key = ?1",
            params![key, folded.created_ms],
        )?;
        folded.last_seq = record.last_seq;
        let real = location::real(&folded.cwd);
        return session::update(connection, &folded, Some(&real), activity);
    }
    record.messages = folded.messages;
    record.last_turn = record.last_turn.max(folded.last_turn);
    session::update(connection, &record, None::<&Path>, activity)
}

/// A session's record. Where its row has what nobody can read, that is what a new session has.
fn readable(connection: &Connection, key: i64, id: &SessionId) -> rusqlite::Result<Option<SessionRecord>> {
    if let Ok(found) = session::read(connection, id) {
        return Ok(found);
    }
    let model = ModelRef::offline().to_string();
    connection.execute(
        "UPDATE sessions SET extra_roots = '[]', model = ?2, origin = ?3, mode = 'default', begun = NULL, told = NULL, \
         thought = NULL, instructions = NULL, source = 'acp', title = NULL, system = '', parent_id = NULL, \
         parent_seq = NULL, cwd = ?4, real_cwd = ?4, input = NULL, cached_read = NULL, cached_write = NULL, \
         output = NULL, reasoning = NULL, cost_nano_usd = NULL, context_used = NULL, context_window = NULL, \
         created_ms = CAST(created_ms AS INTEGER), updated_ms = CAST(updated_ms AS INTEGER), messages = 0, \
         last_seq = CAST(last_seq AS INTEGER), last_turn = CAST(last_turn AS INTEGER), \
         archived_ms = NULL, ended_ms = NULL, end_reason = NULL WHERE key = ?1",
        params![key, model, no_origin(), NO_FOLDER],
    )?;
    match session::read(connection, id) {
        Ok(found) => Ok(found),
        Err(error) => {
            tracing::warn!(session = %id, %error, "a session's row stays as it is");
            Ok(None)
        }
    }
}
