//! Titles that no two sessions share. Those that are made here count on until one is free; those that the user gives are
//! never changed.

use std::collections::HashMap;

use parking_lot::Mutex;
use rusqlite::{Connection, params};
use unicode_normalization::UnicodeNormalization;

use crate::id::SessionId;
use crate::title;

/// The titles that sessions of this process have been given: they may not be stored yet.
#[derive(Default)]
pub(super) struct Given(Mutex<HashMap<SessionId, String>>);

impl Given {
    /// Gives a session the wanted title, or the next one that is free by `is_stored`: whether a stored session has it.
    pub(super) fn give<E>(
        &self,
        id: &SessionId,
        wanted: &str,
        mut is_stored: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<String, E> {
        let mut given = self.0.lock();
        let mut title = wanted.to_owned();
        while given.iter().any(|(other, has)| other != id && *has == title) || is_stored(&title)? {
            title = title::next(&title);
        }
        given.insert(id.clone(), title.clone());
        Ok(title)
    }

    /// What a session was given.
    pub(super) fn of(&self, id: &SessionId) -> Option<String> {
        self.0.lock().get(id).cloned()
    }

    /// Takes back what a session was given, for what it had before.
    pub(super) fn put_back(&self, id: &SessionId, before: Option<String>) {
        let mut given = self.0.lock();
        match before {
            Some(before) => given.insert(id.clone(), before),
            None => given.remove(id),
        };
    }

    /// Forgets what a session was given that goes.
    pub(super) fn forget(&self, id: &SessionId) {
        self.0.lock().remove(id);
    }
}

/// Whether another stored session has this title, or one that looks the same: those of older versions are as they were
/// typed.
pub(super) fn is_taken(connection: &Connection, title: &str, own: &SessionId) -> rusqlite::Result<bool> {
    let apart: String = title.nfd().collect();
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE title IN (?1, ?3) AND id <> ?2)")?
        .query_row(params![title, own.as_str(), apart], |row| row.get(0))
}

/// The wanted title, or the next one that no other stored session has.
pub(super) fn free(connection: &Connection, wanted: &str, own: &SessionId) -> rusqlite::Result<String> {
    let mut title = wanted.to_owned();
    while is_taken(connection, &title, own)? {
        title = title::next(&title);
    }
    Ok(title)
}

/// Gives titles of their own to sessions of an older version that share one: the first keeps it. The events stay as they
/// are. The caller's transaction.
pub(super) fn mend(connection: &Connection) -> rusqlite::Result<()> {
    let mut doubles = connection.prepare(
        "SELECT id, title FROM sessions AS later WHERE EXISTS (SELECT 1 FROM sessions AS first \
         WHERE first.title = later.title AND first.key < later.key) ORDER BY key",
    )?;
    let doubles: Vec<(String, String)> = doubles
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, title) in doubles {
        let title = free(connection, &title, &SessionId::from(id.as_str()))?;
        connection.execute("UPDATE sessions SET title = ?2 WHERE id = ?1", params![id, title])?;
    }
    Ok(())
}
