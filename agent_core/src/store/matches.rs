//! The matches of a search, each with the session that it stands in once that is known.
//!
//! Rows of one session mostly follow each other, so that what lies between its first and its last row is mostly its own.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::conditions::Scope;
use super::value::count;

/// So many rows of a session's index are read in the time of one match's own look-up.
const ROWS_FOR_A_LOOK_UP: usize = 10;

/// Where a match stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The event's row.
    pub(super) id: i64,
    /// The number by which rows name their session.
    pub(super) session: i64,
}

/// The matches, each with its place once that is known.
pub(super) struct Matches<'a> {
    /// All of them, in order.
    ids: Vec<i64>,
    scope: &'a Scope,
    places: HashMap<i64, Place>,
    /// Of the sessions that have places.
    spans: HashMap<i64, Span>,
}

/// The matches between the first and the last row of a session, by their places in the list.
#[derive(Clone)]
struct Span {
    matches: Range<usize>,
    /// The session's matches all have their places.
    is_known: bool,
}

impl<'a> Matches<'a> {
    pub(super) fn of(ids: &[i64], scope: &'a Scope) -> Self {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        Self {
            ids,
            scope,
            places: HashMap::new(),
            spans: HashMap::new(),
        }
    }

    /// Where a match stands; none where it was deleted just now. With the first of a session all of that session's are
    /// looked up, if that is less work than one after the other.
    pub(super) fn place(&mut self, connection: &Connection, id: i64) -> rusqlite::Result<Option<Place>> {
        if let Some(place) = self.places.get(&id) {
            return Ok(Some(*place));
        }
        let Some(place) = look_up(connection, id, self.scope)? else {
            return Ok(None);
        };
        self.places.insert(id, place);
        if !self.spans.contains_key(&place.session) {
            let span = self.explore(connection, place.session)?;
            self.spans.insert(place.session, span);
        }
        Ok(Some(place))
    }

    /// How many matches a session has; at least the one that led there.
    pub(super) fn count(&mut self, connection: &Connection, session: i64) -> rusqlite::Result<u64> {
        let Some(span) = self.spans.get(&session).cloned() else {
            return Ok(1);
        };
        let mut found = 0;
        for index in span.matches {
            let id = self.ids[index];
            let place = match span.is_known {
                true => self.places.get(&id).copied(),
                false => self.place(connection, id)?,
            };
            found += u64::from(place.is_some_and(|place| place.session == session));
        }
        Ok(found.max(1))
    }

    fn explore(&mut self, connection: &Connection, session: i64) -> rusqlite::Result<Span> {
        let (first, last, rows, has_copies) = connection
            .prepare_cached(
                "SELECT coalesce(original, events.id), activity, sessions.last_seq, original IS NOT NULL \
                 FROM sessions JOIN events ON events.session = key WHERE key = ?1 ORDER BY seq LIMIT 1",
            )?
            .query_row([session], |row| {
                let rows = count(row.get(2)?);
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    rows,
                    row.get::<_, bool>(3)?,
                ))
            })
            .optional()?
            .unwrap_or_default();
        let begin = self.ids.partition_point(|id| *id < first);
        let end = self.ids.partition_point(|id| *id <= last).max(begin);
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        // What it has copied is in it or not: that is looked up one by one.
        let is_own = match self.scope {
            Scope::All => true,
            Scope::Listed => !has_copies,
            Scope::Some(_) => false,
        };
        let is_known = is_own && rows < ROWS_FOR_A_LOOK_UP * (end - begin);
        if is_known {
            self.place_all(connection, session)?;
        }
        Ok(Span {
            matches: begin..end,
            is_known,
        })
    }

    /// Finds the places of all matches of a session by its index alone, which is quick by row.
    fn place_all(&mut self, connection: &Connection, session: i64) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("SELECT id FROM events WHERE session = ?1")?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if self.ids.binary_search(&id).is_ok() {
                self.places.insert(id, Place { id, session });
            }
        }
        Ok(())
    }
}

/// Where a row of the index stands: as itself or, where its own session is not searched, as the oldest copy in one that is.
fn look_up(connection: &Connection, id: i64, scope: &Scope) -> rusqlite::Result<Option<Place>> {
    let read = |row: &Row<'_>| {
        Ok(Place {
            id: row.get(0)?,
            session: row.get(1)?,
        })
    };
    match scope {
        Scope::All => connection
            .prepare_cached("SELECT id, session FROM events WHERE id = ?1")?
            .query_row([id], read),
        Scope::Listed => connection
            .prepare_cached(
                "SELECT id, session FROM events WHERE (id = ?1 OR original = ?1) \
                 AND session IN (SELECT key FROM sessions WHERE archived_ms IS NULL) ORDER BY id LIMIT 1",
            )?
            .query_row([id], read),
        Scope::Some(sessions) => connection
            .prepare_cached(
                "SELECT id, session FROM events WHERE (id = ?1 OR original = ?1) \
                 AND session IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT 1",
            )?
            .query_row(params![id, sessions], read),
    }
    .optional()
}
