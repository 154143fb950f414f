//! A copy of a session's past, as the past of a new one.
//!
//! Rows keep their numbers, so that whatever names one still means it; what is out of the history leaves a gap. Bytes
//! are shared.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use rusqlite::{Connection, params};

use super::append::{self, Append};
use super::index::Indexing;
use super::lease::{self, Process};
use super::queue::Fault;
use super::value::{column, count};
use super::{Durability, Parent, SessionRecord, location, message, moves, reader, session, titles};
use crate::approval::Mode;
use crate::event::{Envelope, Event, SessionChange};
use crate::id::SessionId;
use crate::provider::{ModelRef, ThoughtLevel};
use crate::title;

/// What is to be forked, and how the new session begins.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The session whose past is copied.
    pub from: SessionId,
    /// The last row that may be copied; none for all there are.
    pub upto: Option<u64>,
    /// The new session.
    pub id: SessionId,
    /// Where it is begun: `acp` or `run`.
    pub source: String,
    /// Its folder; none for the folders of the other one.
    pub folders: Option<(PathBuf, Vec<PathBuf>)>,
    /// How it is set; none for what is stored of the other one.
    pub set: Option<ForkSet>,
}

/// How a forked session is set.
#[derive(Clone, Debug)]
pub struct ForkSet {
    /// Its mode.
    pub mode: Mode,
    /// Its model.
    pub model: ModelRef,
    /// How much its model should think.
    pub thought: Option<ThoughtLevel>,
}

/// Copies all turns that have ended, and those that broke off. The caller's transaction.
pub(super) fn write(
    connection: &Connection,
    fork: &Fork,
    process: &Process,
    now_ms: i64,
    indexing: Indexing,
) -> Result<(), Fault> {
    let is_held = lease::is_held(connection, &fork.from, process, now_ms)?;
    if !is_held {
        message::recover(connection, &fork.from, indexing)?;
    }
    let Some(parent) = session::read(connection, &fork.from)? else {
        return Err(Fault::Refused(format!("there is no session {}", fork.from)));
    };
    let upto = fork.upto.unwrap_or(parent.last_seq);
    // A turn without an end is running if anybody can run one, or if its end is behind what is copied.
    let running = if is_held || fork.upto.is_some() {
        open_turns(connection, &fork.from, upto)?
    } else {
        Vec::new()
    };
    let title = match parent.title.as_deref().map(title::of_fork) {
        Some(title) => Some(titles::free(connection, &title, &fork.id)?),
        None => None,
    };
    let mut record = begun(fork, parent, now_ms);
    session::insert(connection, &record, &location::real(&record.cwd))?;
    for range in visible(connection, &fork.from, upto)? {
        copy(connection, fork, &range, &running)?;
    }
    fold(connection, &mut record, now_ms)?;
    if let Some(parent) = &mut record.parent {
        parent.seq = record.last_seq;
    }
    store_lineage(connection, &record)?;
    session::update(connection, &record, None, last_row(connection, &fork.id)?)?;
    match title {
        Some(title) => name(connection, &record, title, indexing),
        None => Ok(()),
    }
}

/// The new session before it has a past. Its own work has cost nothing yet.
fn begun(fork: &Fork, parent: SessionRecord, now_ms: i64) -> SessionRecord {
    let (cwd, extra_roots) = fork.folders.clone().unwrap_or((parent.cwd, parent.extra_roots));
    let set = fork.set.clone().unwrap_or(ForkSet {
        mode: parent.mode,
        model: parent.model,
        thought: parent.thought,
    });
    SessionRecord {
        source: fork.source.clone(),
        extra_roots,
        model: set.model,
        origin: parent.origin,
        mode: set.mode,
        thought: set.thought,
        system: parent.system,
        instructions: parent.instructions,
        parent: Some(Parent {
            session: fork.from.clone(),
            seq: 0,
        }),
        told: parent.begun.clone(),
        begun: parent.begun,
        ..SessionRecord::new(fork.id.clone(), cwd, now_ms)
    }
}

/// The rows up to one that are in the history.
fn visible(connection: &Connection, from: &SessionId, upto: u64) -> rusqlite::Result<Vec<RangeInclusive<u64>>> {
    let mut moves = moves::read(connection, from)?;
    moves.retain(|moved| moved.row <= upto);
    let mut hidden = moves::hidden(&moves);
    hidden.sort_by_key(|range| *range.start());
    let mut ranges = Vec::new();
    let mut next = 1;
    for range in hidden {
        if *range.start() > next {
            ranges.push(next..=range.start() - 1);
        }
        next = next.max(range.end() + 1);
    }
    ranges.push(next..=upto);
    Ok(ranges)
}

/// The turns without an end, but for those that another one has followed: they broke off.
fn open_turns(connection: &Connection, from: &SessionId, upto: u64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare(
        "SELECT turn FROM (SELECT turn, min(seq) AS first, sum(kind IN ('turn_finished', 'turn_failed')) AS ends \
         FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) AND seq <= ?2 AND turn IS NOT NULL GROUP BY turn) AS begun \
         WHERE ends = 0 AND NOT EXISTS (SELECT 1 FROM events AS next \
         WHERE next.session = (SELECT key FROM sessions WHERE id = ?1) AND next.seq <= ?2 AND next.seq > begun.first \
         AND next.turn <> begun.turn AND next.kind = 'user_message' \
         AND instr(next.body, '\"command\":true') = 0)",
    )?;
    let rows = statement.query_map(params![from.as_str(), column(upto)], |row| row.get(0))?;
    rows.collect()
}

/// Copies are not in the index: what they say is found where they come from.
fn copy(connection: &Connection, fork: &Fork, range: &RangeInclusive<u64>, running: &[i64]) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO events (session, seq, turn, at_ms, kind, body, original) \
             SELECT (SELECT key FROM sessions WHERE id = ?1), seq, turn, at_ms, kind, body, coalesce(original, id) \
             FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?2) AND seq BETWEEN ?3 AND ?4 \
             AND (turn IS NULL OR turn NOT IN (SELECT value FROM json_each(?5))) ORDER BY seq",
        )?
        .execute(params![
            fork.id.as_str(),
            fork.from.as_str(),
            column(*range.start()),
            column(*range.end()),
            serde_json::to_string(running).expect("a list of numbers is always JSON"),
        ])?;
    Ok(())
}

/// Makes the summary of what was copied. How the session is set, where it is, and what it has cost is its own.
fn fold(connection: &Connection, record: &mut SessionRecord, now_ms: i64) -> rusqlite::Result<()> {
    let own = record.clone();
    let mut statement = connection.prepare(
        "SELECT seq, turn, body FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) AND kind IN \
         ('user_message', 'user_steered', 'agent_text', 'step_finished', 'compacted', 'session_changed') ORDER BY seq",
    )?;
    let mut rows = statement.query([own.id.as_str()])?;
    while let Some(row) = rows.next()? {
        if let Some(envelope) = reader::envelope(&own.id, row)? {
            session::fold(record, &envelope, now_ms);
        }
    }
    let (last_seq, last_turn) = connection.query_row(
        "SELECT coalesce(max(seq), 0), coalesce(max(turn), 0) FROM events \
         WHERE session = (SELECT key FROM sessions WHERE id = ?1)",
        [own.id.as_str()],
        |row| Ok((count(row.get(0)?), count(row.get(1)?))),
    )?;
    if let Some(context) = &mut record.context {
        context.cost_nano_usd = None;
    }
    *record = SessionRecord {
        told: record.told.take(),
        context: record.context,
        messages: record.messages,
        last_seq,
        last_turn,
        ..own
    };
    Ok(())
}

fn store_lineage(connection: &Connection, record: &SessionRecord) -> rusqlite::Result<()> {
    let seq = record.parent.as_ref().map(|parent| column(parent.seq));
    connection.execute(
        "UPDATE sessions SET parent_seq = ?2 WHERE id = ?1",
        params![record.id.as_str(), seq],
    )?;
    Ok(())
}

/// The place of the new session's newest row among all; that of the newest of all where it has none.
fn last_row(connection: &Connection, id: &SessionId) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT coalesce((SELECT max(id) FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1)), \
         (SELECT max(id) FROM events), 0)",
        [id.as_str()],
        |row| row.get(0),
    )
}

/// Gives the fork its title, as an event, so that a load shows it.
fn name(connection: &Connection, record: &SessionRecord, title: String, indexing: Indexing) -> Result<(), Fault> {
    let envelope = Envelope {
        session: record.id.clone(),
        turn: None,
        seq: record.last_seq + 1,
        event: Event::SessionChanged {
            change: SessionChange::Title(title),
        },
    };
    let append = Append::new(record.id.clone(), vec![envelope], Durability::Disk, None, &[])
        .map_err(|error| Fault::Refused(format!("a title has no JSON form ({error})")))?;
    append::write(connection, &append, indexing)
}
