//! The rows that no tree leads to any more: all pages are looked at, each by itself.

use std::collections::{HashMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::layout::{self, KEYED};
use super::leaf::{Page, Record};
use super::listed;
use super::pages::Pages;
use super::row::{self, Found};
use crate::store::schema;

/// What is known of the old database beside its pages.
pub(super) struct Known<'a> {
    pub(super) steps: usize,
    /// All rows of events are listed.
    pub(super) is_listed: bool,
    /// The ids of all sessions.
    pub(super) sessions: Option<HashSet<String>>,
    /// The tables that were read from one end to the other.
    pub(super) whole: &'a HashSet<String>,
}

/// The place of a record.
type Place = (u32, usize);

/// What was found and is not there yet, with its place.
#[derive(Default)]
struct Candidates {
    /// With the row's number.
    events: Vec<(i64, Place)>,
    /// With the row number of its last event.
    sessions: Vec<(i64, Place)>,
    others: Vec<(&'static str, Place)>,
}

/// The schema of a database of which nothing but its pages is left; none if none of them is ours.
pub(super) fn steps(pages: &Pages) -> Option<usize> {
    let (mut keyed, mut named, mut others) = (0_u64, 0_u64, 0_u64);
    each(pages, |found, _, _| {
        match found {
            Found::Event { session, .. } if row::is_of(KEYED, session) => keyed += 1,
            Found::Event { .. } => named += 1,
            Found::Session { .. } | Found::Bytes | Found::Grant => others += 1,
        }
        Ok(())
    })
    .ok()?;
    match (keyed, named, others) {
        (0, 0, 0) => None,
        _ if named > keyed => Some(KEYED - 1),
        _ => Some(schema::STEPS.len()),
    }
}

/// Adds what can only be rows of ours to the new database. What was deleted stays so as far as that can be told: it lies
/// on free pages, or is not listed, or its session is not there.
pub(super) fn add(pages: &Pages, new: &Connection, known: &Known<'_>) -> rusqlite::Result<()> {
    let mut candidates = Candidates::default();
    each(pages, |found, record, page| {
        let place = (page, record.cell);
        match found {
            Found::Event { id, session, seq } if wants_event(pages, new, known, session, *seq, *id)? => {
                candidates.events.push((*id, place));
            }
            Found::Session { id, last_seq } if wants_session(pages, known, id) => {
                candidates.sessions.push((*last_seq, place));
            }
            Found::Bytes if !known.whole.contains("blobs") => candidates.others.push(("blobs", place)),
            // One that was taken back must not hold again.
            Found::Grant if !known.whole.contains("grants") && pages.free.is_some() => {
                candidates.others.push(("grants", place));
            }
            Found::Event { .. } | Found::Session { .. } | Found::Bytes | Found::Grant => {}
        }
        Ok(())
    })?;
    candidates.sessions.sort_unstable_by_key(|(last_seq, _)| -last_seq);
    for (_, place) in &candidates.sessions {
        insert(pages, new, "sessions", *place)?;
    }
    for (table, place) in &candidates.others {
        insert(pages, new, table, *place)?;
    }
    // A number of a session can have been another's before, whose rows are all older.
    candidates.events.sort_unstable_by_key(|(id, _)| -id);
    let mut begins = Begins::default();
    for (id, place) in candidates.events {
        let Some((session, seq)) = record(pages, place).as_ref().and_then(session_and_seq) else {
            continue;
        };
        let is_sure = pages.free.is_some() || known.is_listed;
        if !is_sure && begins.is_before(new, known.steps, &session, seq, id)? {
            continue;
        }
        if insert(pages, new, "events", place)? {
            begins.note(&session, seq, id);
        }
    }
    Ok(())
}

/// Calls with each record of each page in use that can only be a row of ours.
fn each(pages: &Pages, mut call: impl FnMut(&Found, &Record, u32) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let is_free = |number: &u32| pages.free.as_ref().is_some_and(|free| free.contains(number));
    for number in (1..=pages.last).filter(|number| !is_free(number)) {
        let Some(bytes) = pages.page(number) else { continue };
        let page = Page {
            number,
            bytes: &bytes,
            others: &|other| pages.page(other),
        };
        for record in page.records() {
            if let Some(found) = row::of(&record) {
                call(&found, &record, number)?;
            }
        }
    }
    Ok(())
}

fn record(pages: &Pages, (number, cell): Place) -> Option<Record> {
    let bytes = pages.page(number)?;
    let page = Page {
        number,
        bytes: &bytes,
        others: &|other| pages.page(other),
    };
    page.record(cell)
}

fn session_and_seq(record: &Record) -> Option<(Value, i64)> {
    match row::of(record)? {
        Found::Event { session, seq, .. } => Some((session, seq)),
        Found::Session { .. } | Found::Bytes | Found::Grant => None,
    }
}

fn wants_event(
    pages: &Pages,
    new: &Connection,
    known: &Known<'_>,
    session: &Value,
    seq: i64,
    id: i64,
) -> rusqlite::Result<bool> {
    if !row::is_of(known.steps, session) {
        return Ok(false);
    }
    let column = listed::session_column(known.steps);
    let met = format!("SELECT 1 FROM events WHERE id = ?1 OR ({column} = ?2 AND seq = ?3)");
    if new.prepare_cached(&met)?.exists((id, session, seq))? {
        return Ok(false);
    }
    if pages.free.is_some() {
        return Ok(true);
    }
    if known.is_listed && !listed::has(new, session, seq, id)? {
        return Ok(false);
    }
    let name = if known.steps < KEYED { "id" } else { "key" };
    let is_there = format!("SELECT 1 FROM sessions WHERE {name} = ?1");
    Ok(!known.whole.contains("sessions") || new.prepare_cached(&is_there)?.exists([session])?)
}

fn wants_session(pages: &Pages, known: &Known<'_>, id: &str) -> bool {
    if known.whole.contains("sessions") {
        return false;
    }
    pages.free.is_some() || known.sessions.as_ref().is_none_or(|ids| ids.contains(id))
}

/// Puts a record into a table; whether there was room for it.
fn insert(pages: &Pages, new: &Connection, table: &str, place: Place) -> rusqlite::Result<bool> {
    let Some(Record { rowid, mut values, .. }) = record(pages, place) else {
        return Ok(false);
    };
    let columns = layout::columns(new, table)?;
    if let (Some(id), Some(first)) = (rowid, values.first_mut())
        && *first == Value::Null
    {
        *first = Value::Integer(id);
    }
    // What a later schema has added is missing in older rows.
    values.truncate(columns.len());
    let names = columns[..values.len()].join(", ");
    let marks = vec!["?"; values.len()].join(", ");
    let sql = format!("INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})");
    Ok(new.prepare_cached(&sql)?.execute(params_from_iter(values))? > 0)
}

/// Where sessions begin: the first row of each, and its number among all rows.
#[derive(Default)]
struct Begins(HashMap<String, Option<(i64, i64)>>);

impl Begins {
    /// Whether a row is older than the first one of its session, behind which it would be.
    fn is_before(
        &mut self,
        new: &Connection,
        steps: usize,
        session: &Value,
        seq: i64,
        id: i64,
    ) -> rusqlite::Result<bool> {
        let name = name(session);
        if !self.0.contains_key(&name) {
            let column = listed::session_column(steps);
            let sql = format!("SELECT seq, id FROM events WHERE {column} = ?1 ORDER BY seq LIMIT 1");
            let mut statement = new.prepare_cached(&sql)?;
            let mut rows = statement.query([session])?;
            let begin = rows
                .next()?
                .map(|row| Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?)));
            self.0.insert(name.clone(), begin.transpose()?);
        }
        let begin = self.0.get(&name).copied().flatten();
        Ok(begin.is_some_and(|(first, its_id)| seq > first && id < its_id))
    }

    fn note(&mut self, session: &Value, seq: i64, id: i64) {
        let begin = self.0.entry(name(session)).or_default();
        if begin.is_none_or(|(first, _)| seq < first) {
            *begin = Some((seq, id));
        }
    }
}

/// A session's name as text.
fn name(session: &Value) -> String {
    match session {
        Value::Integer(key) => key.to_string(),
        Value::Text(id) => id.clone(),
        Value::Null | Value::Real(_) | Value::Blob(_) => String::new(),
    }
}
