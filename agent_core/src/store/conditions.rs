//! What a search asks of a message beside its words, as SQL.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::{location, part, session};
use crate::search::{Date, Query, Search};

/// The sessions that are searched.
pub(super) enum Scope {
    All,
    /// Those that are not archived. What one of them has copied from an archived one is found in it.
    Listed,
    /// Those that a query names: their numbers, as a JSON array. Whoever names a session means it.
    Some(String),
}

impl Scope {
    pub(super) fn of(connection: &Connection, search: &Search) -> rusqlite::Result<Self> {
        let Some(part) = &search.query.session else {
            return Ok(match !search.archived && has_archived(connection)? {
                true => Self::Listed,
                false => Self::All,
            });
        };
        let mut keys = Vec::new();
        for id in part::find(connection, part)? {
            // One that was deleted just now is none any more.
            keys.extend(session::key(connection, &id).optional()?);
        }
        Ok(Self::Some(
            serde_json::to_string(&keys).expect("a list of numbers is always JSON"),
        ))
    }
}

/// The conditions of a search beside its words, and what stands for their parameters.
pub(super) struct Conditions {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
    /// They look at the event and its session, and not at the index alone.
    pub(super) join: bool,
}

impl Conditions {
    pub(super) fn of(
        connection: &Connection,
        expression: &str,
        search: &Search,
        scope: &Scope,
    ) -> rusqlite::Result<Self> {
        let mut conditions = Self {
            sql: "search MATCH ?".to_owned(),
            values: vec![Value::Text(expression.to_owned())],
            join: false,
        };
        if let Some(except) = &search.except {
            // What it has copied is its own past too.
            conditions.add(
                "+search.rowid NOT IN (SELECT coalesce(original, id) FROM events \
                 WHERE session = (SELECT key FROM sessions WHERE id = ?))",
                [Value::Text(except.to_string())],
            );
        }
        match scope {
            Scope::All => {}
            Scope::Listed => conditions.add(
                "+search.rowid NOT IN (SELECT id FROM events \
                 WHERE session IN (SELECT key FROM sessions WHERE archived_ms IS NOT NULL) \
                 AND NOT EXISTS (SELECT 1 FROM events AS copies WHERE copies.original = events.id AND copies.session IN \
                 (SELECT key FROM sessions WHERE archived_ms IS NULL)))",
                [],
            ),
            Scope::Some(keys) => conditions.add(
                "+search.rowid IN (SELECT coalesce(original, id) FROM events \
                 WHERE session IN (SELECT value FROM json_each(?)))",
                [Value::Text(keys.clone())],
            ),
        }
        conditions.add_days(connection, &search.query)?;
        conditions.add_folder(&search.query);
        Ok(conditions)
    }

    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    fn add_days(&mut self, connection: &Connection, query: &Query) -> rusqlite::Result<()> {
        if let Some(date) = query.since {
            self.join = true;
            self.add("events.at_ms >= ?", [Value::Integer(begin_of(connection, date, 0)?)]);
        }
        if let Some(date) = query.until {
            self.join = true;
            self.add("events.at_ms < ?", [Value::Integer(begin_of(connection, date, 1)?)]);
        }
        Ok(())
    }

    /// `in:/w/app` means this folder and those below, `in:app` any folder of this name and those below.
    fn add_folder(&mut self, query: &Query) {
        let Some(folder) = query.folder.as_deref().filter(|folder| *folder != "all") else {
            return;
        };
        self.join = true;
        if folder.starts_with('/') {
            let real = location::real(folder.as_ref());
            let real = real.to_string_lossy().trim_end_matches('/').to_owned();
            self.add(
                "substr(sessions.real_cwd || '/', 1, length(?) + 1) = ? || '/'",
                [Value::Text(real.clone()), Value::Text(real)],
            );
        } else {
            let name = folder.trim_matches('/').to_owned();
            self.add(
                "instr(sessions.real_cwd || '/', '/' || ? || '/') > 0",
                [Value::Text(name)],
            );
        }
    }
}

fn has_archived(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE archived_ms IS NOT NULL)")?
        .query_row([], |row| row.get(0))
}

/// When a day begins here, or one some days later, in Unix ms.
fn begin_of(connection: &Connection, date: Date, days_later: i64) -> rusqlite::Result<i64> {
    let later = format!("+{days_later} days");
    let seconds: Option<i64> = match date {
        Date::Day { year, month, day } => connection.query_row(
            "SELECT unixepoch(?1, ?2, 'utc')",
            [format!("{year:04}-{month:02}-{day:02}"), later],
            |row| row.get(0),
        ),
        Date::DaysAgo(days) => connection.query_row(
            "SELECT unixepoch('now', 'localtime', 'start of day', ?1, ?2, 'utc')",
            [format!("-{days} days"), later],
            |row| row.get(0),
        ),
    }?;
    Ok(seconds.unwrap_or(0).saturating_mul(1000))
}
