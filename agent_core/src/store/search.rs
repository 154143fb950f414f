//! A search: the newest matches from the index, ranked, and the best of them looked up.
//!
//! Only what is shown is looked up in the events, so that a word which is everywhere costs no more than its ranking.

use std::borrow::Cow;
use std::collections::HashSet;

use rusqlite::{Connection, params_from_iter};

use super::conditions::{Conditions, Scope};
use super::matches::{Matches, Place};
use super::value::StoredPath;
use super::{SearchError, Store, StoreError, excerpt, index, passage, reader};
use crate::cancel::Cancel;
use crate::id::SessionId;
use crate::search::{Found, Hit, Part, Passage, RANKED, Search, Snippet, snippets};

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

impl Store {
    /// Looks for something in all sessions. What waits to be stored is not found yet.
    ///
    /// # Errors
    /// When `cancel` is set before it is done, or the database can't be read.
    pub fn search(&self, search: &Search, cancel: &Cancel) -> Result<Found, SearchError> {
        self.nothing_more()?;
        match self.look(search, cancel) {
            Err(StoreError::Read { source, .. }) if index::is_own_fault(&source) => {
                self.database().mend_index(&source)?;
                Ok(self.look(search, cancel)?)
            }
            Err(_) if cancel.is_set() => Err(SearchError::Cancelled),
            found => Ok(found?),
        }
    }

    fn look(&self, search: &Search, cancel: &Cancel) -> Result<Found, StoreError> {
        self.database().search(|connection| run(connection, search, cancel))
    }

    /// Reads a part of a session as text: at most `most` passages before a row and behind it, or at each end.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn excerpt(&self, id: &SessionId, part: Part, most: usize) -> Result<Vec<Passage>, StoreError> {
        self.database().read(format!("a part of session {id}"), |connection| {
            excerpt::read(connection, id, part, most)
        })
    }
}

/// Searches; what is found is nothing where `cancel` was set in time.
pub(super) fn run(connection: &Connection, search: &Search, cancel: &Cancel) -> rusqlite::Result<Found> {
    let handle = connection.get_interrupt_handle();
    let _interrupts = cancel.on_cancel(move || handle.interrupt());
    let Some(expression) = search.query.expression() else {
        return Ok(Found::default());
    };
    // While this is open all is of one moment, and the file is locked once. Unlike a transaction's, its end can't fail.
    let mut moment = connection.prepare_cached("SELECT 1 FROM sqlite_schema")?;
    let mut moment = moment.query([])?;
    moment.next()?;
    let scope = Scope::of(connection, search)?;
    let ranked = rank(connection, &expression, search, &scope, cancel)?;
    let mut matches = Matches::of(&ranked.ids, &scope);
    let (places, more) = page(connection, search, &ranked, &mut matches, cancel)?;
    let mut hits = Vec::with_capacity(places.len());
    let mut texts = Vec::with_capacity(places.len());
    for place in places {
        if let Some((mut hit, text)) = hit(connection, place)? {
            hit.hits = matches.count(connection, place.session)?;
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
    let mut statement = connection.prepare_cached(&format!(
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
        let Some(place) = matches.place(connection, *id)? else {
            continue;
        };
        if !search.all_hits && !seen.insert(place.session) {
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

/// What stands at a place, without its snippet and its count, and the text for these.
fn hit(connection: &Connection, place: Place) -> rusqlite::Result<Option<(Hit, String)>> {
    let sql = format!(
        "SELECT events.seq, events.turn, events.body, events.at_ms, {WHEN}, sessions.title, sessions.cwd, sessions.id \
         FROM events JOIN sessions ON sessions.key = events.session WHERE events.id = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([place.id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let session = SessionId::from(row.get_ref(7)?.as_str()?);
    let Some(envelope) = reader::envelope(&session, row)? else {
        return Ok(None);
    };
    let Some((role, text)) = passage::of(&envelope.event) else {
        return Ok(None);
    };
    let hit = Hit {
        session,
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
