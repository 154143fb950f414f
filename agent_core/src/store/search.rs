//! A search: the newest matches from the index, ranked, and the best of them looked up.
//!
//! Only what is shown is looked up in the events, so that a word which is everywhere costs no more than its ranking.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::value::{StoredPath, count};
use super::{location, passage, reader};
use crate::cancel::Cancel;
use crate::id::SessionId;
use crate::search::{Date, Found, Hit, Query, RANKED, Search, Snippet, snippets};

/// What a match in a title, in a prompt, in a reply and in a tool's output counts, in the order of the index's columns.
const WEIGHTS: &str = "0.6, 1.0, 1.5, 4.0";

/// How much more the newest message counts than a very old one, and after how many rows half of that is gone. Rows and
/// not days: no clock is trusted with an order.
const NEWNESS: f64 = 0.5;
const HALF: f64 = 10_000.0;

/// A moment as a clock on the wall here shows it. SQLite knows the time zone.
pub(super) const WHEN: &str = "strftime('%Y-%m-%d %H:%M', events.at_ms / 1000, 'unixepoch', 'localtime')";

/// Rows that match, the best first, by their `id`.
struct Ranked {
    ids: Vec<i64>,
    is_cut: bool,
}

/// Where a match stands.
#[derive(Clone)]
struct Place {
    id: i64,
    session: SessionId,
}

/// Searches; what is found is nothing where `cancel` was set in time.
pub(super) fn run(connection: &Connection, search: &Search, cancel: &Cancel) -> rusqlite::Result<Found> {
    let handle = connection.get_interrupt_handle();
    let _interrupts = cancel.on_cancel(move || handle.interrupt());
    let Some(expression) = search.query.expression() else {
        return Ok(Found::default());
    };
    let scope = Scope::of(connection, &search.query)?;
    let ranked = rank(connection, &expression, search, &scope, cancel)?;
    let mut matches = Matches::of(&ranked.ids, &scope);
    let (places, more) = page(connection, search, &ranked, &mut matches, cancel)?;
    let mut hits = Vec::with_capacity(places.len());
    let mut texts = Vec::with_capacity(places.len());
    for place in places {
        if let Some((mut hit, text)) = hit(connection, &place)? {
            hit.hits = matches.count(connection, &place.session)?;
            texts.push((hit.role, Cow::Owned(text)));
            hits.push(hit);
        }
    }
    for (hit, snippet) in hits.iter_mut().zip(snippets(&expression, &texts)?) {
        hit.snippet = snippet;
    }
    Ok(Found {
        hits,
        more,
        cut: ranked.is_cut,
    })
}

/// The sessions that a query names.
enum Scope {
    All,
    /// As a JSON array.
    Some(String),
}

impl Scope {
    fn of(connection: &Connection, query: &Query) -> rusqlite::Result<Self> {
        let Some(part) = &query.session else {
            return Ok(Self::All);
        };
        let ids: Vec<String> = reader::find(connection, part)?
            .iter()
            .map(ToString::to_string)
            .collect();
        Ok(Self::Some(
            serde_json::to_string(&ids).expect("a list of strings is always JSON"),
        ))
    }
}

/// The conditions of a search beside its words, and what stands for their parameters.
struct Conditions {
    sql: String,
    values: Vec<Value>,
    /// They look at the event and its session, and not at the index alone.
    join: bool,
}

impl Conditions {
    fn of(connection: &Connection, expression: &str, search: &Search, scope: &Scope) -> rusqlite::Result<Self> {
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
        if let Scope::Some(ids) = scope {
            conditions.add(
                "+search.rowid IN (SELECT coalesce(original, id) FROM events \
                 WHERE session IN (SELECT key FROM sessions WHERE id IN (SELECT value FROM json_each(?))))",
                [Value::Text(ids.clone())],
            );
        }
        // Whoever names a session means it.
        if !search.archived && matches!(scope, Scope::All) && has_archived(connection)? {
            conditions.add(
                "+search.rowid NOT IN (SELECT id FROM events \
                 WHERE session IN (SELECT key FROM sessions WHERE archived_ms IS NOT NULL))",
                [],
            );
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
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sessions WHERE archived_ms IS NOT NULL)",
        [],
        |row| row.get(0),
    )
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

fn rank(
    connection: &Connection,
    expression: &str,
    search: &Search,
    scope: &Scope,
    cancel: &Cancel,
) -> rusqlite::Result<Ranked> {
    let conditions = Conditions::of(connection, expression, search, scope)?;
    let join = if conditions.join {
        "CROSS JOIN events ON events.id = search.rowid CROSS JOIN sessions ON sessions.key = events.session"
    } else {
        ""
    };
    let mut statement = connection.prepare(&format!(
        "SELECT search.rowid, bm25(search, {WEIGHTS}) FROM search {join} WHERE {} ORDER BY search.rowid DESC LIMIT {}",
        conditions.sql,
        RANKED + 1
    ))?;
    let mut rows = statement.query(params_from_iter(conditions.values))?;
    let mut scored: Vec<(f64, i64)> = Vec::new();
    let mut newest = None;
    while let Some(row) = rows.next()? {
        let (id, bm25): (i64, f64) = (row.get(0)?, row.get(1)?);
        let newest = *newest.get_or_insert(id);
        scored.push((-bm25 * newness(newest - id), id));
        // An interrupt that came between two statements was one of nothing.
        if cancel.is_set() {
            return Err(interrupted());
        }
    }
    let is_cut = scored.len() > RANKED;
    scored.truncate(RANKED);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    Ok(Ranked {
        ids: scored.into_iter().map(|(_, id)| id).collect(),
        is_cut,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a distance of many rows counts nothing anyway"
)]
fn newness(rows: i64) -> f64 {
    1.0 + NEWNESS * HALF / (HALF + rows as f64)
}

fn interrupted() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT), None)
}

/// This page's places, and whether there are more behind it.
fn page(
    connection: &Connection,
    search: &Search,
    ranked: &Ranked,
    matches: &mut Matches<'_>,
    cancel: &Cancel,
) -> rusqlite::Result<(Vec<Place>, bool)> {
    let mut seen = HashSet::new();
    let mut passed = 0;
    let mut places = Vec::new();
    for id in &ranked.ids {
        if cancel.is_set() {
            return Err(interrupted());
        }
        // A row that was deleted just now is none any more.
        let Some(place) = matches.place(connection, *id)? else {
            continue;
        };
        if !search.all_hits && !seen.insert(place.session.clone()) {
            continue;
        }
        if passed < search.offset {
            passed += 1;
        } else if places.len() == search.limit {
            return Ok((places, true));
        } else {
            places.push(place);
        }
    }
    Ok((places, false))
}

/// The matches, each with its place once that is known.
struct Matches<'a> {
    /// All of them, in order.
    ids: Vec<i64>,
    scope: &'a Scope,
    places: HashMap<i64, Place>,
    /// The sessions whose matches all have their places.
    known: HashSet<SessionId>,
}

impl<'a> Matches<'a> {
    fn of(ids: &[i64], scope: &'a Scope) -> Self {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        Self {
            ids,
            scope,
            places: HashMap::new(),
            known: HashSet::new(),
        }
    }

    /// Where a match stands. With the first of a session all of that session's are looked up, if that is less work than
    /// one after the other.
    fn place(&mut self, connection: &Connection, id: i64) -> rusqlite::Result<Option<Place>> {
        if let Some(place) = self.places.get(&id) {
            return Ok(Some(place.clone()));
        }
        let Some(place) = look_up(connection, id, self.scope)? else {
            return Ok(None);
        };
        self.places.insert(id, place.clone());
        let span = self.span(connection, &place.session)?;
        if span.rows < ROWS_FOR_A_LOOK_UP * span.matches.len() {
            self.place_all(connection, &place.session)?;
        }
        Ok(Some(place))
    }

    /// Finds the places of all matches of a session by its index alone, which is quick by row.
    fn place_all(&mut self, connection: &Connection, session: &SessionId) -> rusqlite::Result<()> {
        if !matches!(self.scope, Scope::All) || !self.known.insert(session.clone()) {
            return Ok(());
        }
        let mut statement = connection
            .prepare_cached("SELECT id FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1)")?;
        let mut rows = statement.query([session.as_str()])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if self.ids.binary_search(&id).is_ok() {
                let session = session.clone();
                self.places.insert(id, Place { id, session });
            }
        }
        Ok(())
    }

    /// The matches between the first and the last row of a session, which are mostly its own.
    fn span(&self, connection: &Connection, session: &SessionId) -> rusqlite::Result<Span> {
        let (first, last, rows) = connection
            .prepare_cached(
                "SELECT (SELECT coalesce(original, id) FROM events WHERE session = sessions.key ORDER BY seq LIMIT 1), \
                 activity, last_seq FROM sessions WHERE id = ?1",
            )?
            .query_row([session.as_str()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, count(row.get(2)?)))
            })
            .optional()?
            .unwrap_or_default();
        let begin = self.ids.partition_point(|id| *id < first);
        let end = self.ids.partition_point(|id| *id <= last).max(begin);
        Ok(Span {
            matches: begin..end,
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
        })
    }

    /// How many matches a session has; at least the one that led there.
    fn count(&mut self, connection: &Connection, session: &SessionId) -> rusqlite::Result<u64> {
        let span = self.span(connection, session)?;
        let mut found = 0;
        for index in span.matches {
            let id = self.ids[index];
            let place = match self.known.contains(session) {
                true => self.places.get(&id).cloned(),
                false => self.place(connection, id)?,
            };
            found += u64::from(place.is_some_and(|place| place.session == *session));
        }
        Ok(found.max(1))
    }
}

/// So many rows of a session's index are read in the time of one match's own look-up.
const ROWS_FOR_A_LOOK_UP: usize = 10;

/// Matches by their place in the list, and the rows of the session that they are in.
struct Span {
    matches: Range<usize>,
    rows: usize,
}

/// Where a row of the index stands. In sessions that are named, also as their copy.
fn look_up(connection: &Connection, id: i64, scope: &Scope) -> rusqlite::Result<Option<Place>> {
    let read = |row: &Row<'_>| {
        Ok(Place {
            id: row.get(0)?,
            session: SessionId::from(row.get_ref(1)?.as_str()?),
        })
    };
    match scope {
        Scope::All => connection
            .prepare_cached("SELECT events.id, sessions.id FROM events JOIN sessions ON sessions.key = session WHERE events.id = ?1")?
            .query_row([id], read),
        Scope::Some(sessions) => connection
            .prepare_cached(
                "SELECT events.id, sessions.id FROM events JOIN sessions ON sessions.key = session \
                 WHERE (events.id = ?1 OR original = ?1) \
                 AND sessions.id IN (SELECT value FROM json_each(?2)) ORDER BY events.id LIMIT 1",
            )?
            .query_row(params![id, sessions], read),
    }
    .optional()
}

/// What stands at a place, without its snippet and its count, and the text for these.
fn hit(connection: &Connection, place: &Place) -> rusqlite::Result<Option<(Hit, String)>> {
    let sql = format!(
        "SELECT events.seq, events.turn, events.body, events.at_ms, {WHEN}, sessions.title, sessions.cwd \
         FROM events JOIN sessions ON sessions.key = events.session WHERE events.id = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([place.id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let Some(envelope) = reader::envelope(&place.session, row)? else {
        return Ok(None);
    };
    let Some((role, text)) = passage::of(&envelope.event) else {
        return Ok(None);
    };
    let hit = Hit {
        session: place.session.clone(),
        title: row.get(5)?,
        cwd: row.get::<_, StoredPath>(6)?.0,
        seq: envelope.seq,
        role,
        at_ms: row.get(3)?,
        when: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        snippet: Snippet::default(),
        hits: 1,
    };
    Ok(Some((hit, text.into_owned())))
}
