//! Sessions whose own row is gone: what they were called stands in the indexes too.

use std::collections::{HashMap, HashSet};

use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, OptionalExtension};

use super::layout::KEYED;
use super::{Salvaged, listed, recount};
use crate::id::SessionId;

/// Sees to it that each row's session has a row itself. What it was called stands in indexes too.
pub(super) fn name_sessions(
    image: Option<&Connection>,
    new: &Connection,
    steps: usize,
    salvaged: &mut Salvaged,
) -> rusqlite::Result<()> {
    let names = image.map(names).unwrap_or_default();
    let nameless: Vec<Value> = match steps < KEYED {
        true => values(
            new,
            "SELECT DISTINCT session_id FROM events WHERE session_id NOT IN (SELECT id FROM sessions)",
        )?,
        false => values(
            new,
            "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT key FROM sessions)",
        )?,
    };
    for session in nameless {
        let (id, key) = match session {
            Value::Integer(key) => (names.by_key.get(&key).cloned(), Some(key)),
            Value::Text(id) => (Some(id), None),
            Value::Null | Value::Real(_) | Value::Blob(_) => continue,
        };
        if let (Some(id), Some(key)) = (&id, key)
            && recount::give_key(new, id, key)?
        {
            continue;
        }
        let is_free = |id: &String| -> rusqlite::Result<bool> {
            let found = new.query_row("SELECT 1 FROM sessions WHERE id = ?1", [id], |_| Ok(()));
            Ok(found.optional()?.is_none())
        };
        let id = match id {
            Some(id) if is_free(&id)? => id,
            Some(_) | None => SessionId::new().as_str().to_owned(),
        };
        recount::insert_bare(new, &id, key)?;
        salvaged.bare_sessions += 1;
    }
    for (key, id) in &names.by_key {
        listed::name_lost(new, *key, id)?;
    }
    for id in names.all {
        let is_there = new.query_row("SELECT 1 FROM sessions WHERE id = ?1", [&id], |_| Ok(()));
        salvaged.lost_sessions += u64::from(is_there.optional()?.is_none());
    }
    Ok(())
}

fn values(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<Value>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// What the indexes of the sessions say.
#[derive(Default)]
struct Names {
    all: HashSet<String>,
    by_key: HashMap<i64, String>,
}

fn names(image: &Connection) -> Names {
    let mut names = Names::default();
    let mut by_rowid = HashMap::new();
    // Each of these queries reads an index alone, from one end and from the other.
    for order in ["", "DESC"] {
        let ids: Vec<(String, i64)> = readable(image, &format!("SELECT id, rowid FROM sessions ORDER BY id {order}"));
        by_rowid.extend(ids.into_iter().map(|(id, rowid)| (rowid, id)));
    }
    for order in ["", "DESC"] {
        let keys = readable(
            image,
            &format!("SELECT key, rowid FROM sessions INDEXED BY sessions_key ORDER BY key {order}"),
        );
        for (key, rowid) in keys {
            if let Some(id) = by_rowid.get(&rowid) {
                names.by_key.insert(key, id.clone());
            }
        }
    }
    names.all = by_rowid.into_values().collect();
    names
}

/// The rows up to the first that can't be read.
fn readable<T: FromSql>(image: &Connection, sql: &str) -> Vec<(T, i64)> {
    let Ok(mut statement) = image.prepare(sql) else {
        return Vec::new();
    };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.map(|rows| rows.map_while(Result::ok).collect())
        .unwrap_or_default()
}

/// The ids of all sessions; none unless their index can be read from one end to the other.
pub(super) fn all_ids(image: &Connection) -> Option<HashSet<String>> {
    let mut statement = image.prepare("SELECT id FROM sessions ORDER BY id").ok()?;
    let ids = statement.query_map([], |row| row.get(0)).ok()?;
    ids.collect::<rusqlite::Result<_>>().ok()
}
