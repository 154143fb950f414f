//! Old and large sessions, for who wants to let them go.
//!
//! An age counts back from the newest activity in the store, and a session is as new as the newest one before it: so a
//! clock that jumps makes nothing old that is new.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::lease::{self, Process};
use super::queue::Fault;
use super::value::count;
use crate::id::SessionId;

/// One that nobody has ended, and in which nobody works: it may rest in a process that has it open. For so long it does.
const RESTS_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is to go: what meets all that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Without activity for so long.
    pub older_than: Option<Duration>,
    /// Its rows and what only it uses have more bytes.
    pub larger_than: Option<u64>,
}

/// A session that may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// Its messages; none where it holds only slash commands, and then no list shows it.
    pub messages: u64,
    /// Its last activity, in Unix ms.
    pub updated_ms: i64,
    /// The bytes of its rows, and of what only it uses.
    pub bytes: u64,
    /// Its place among all: one that has moved since is not the same.
    pub(super) activity: i64,
}

/// A stored session, as far as this needs it.
struct Known {
    candidate: Candidate,
    is_ended: bool,
}

/// The sessions that may go, the oldest first.
pub(super) fn candidates(
    connection: &Connection,
    prune: &Prune,
    process: &Process,
    now_ms: i64,
) -> rusqlite::Result<Vec<Candidate>> {
    let known = known(connection, now_ms)?;
    let newest = known.iter().map(|(_, seen_ms)| *seen_ms).max().unwrap_or(now_ms);
    let mut found = Vec::new();
    for (
        Known {
            mut candidate,
            is_ended,
        },
        seen_ms,
    ) in known
    {
        let age = newest - seen_ms;
        let is_old = prune
            .older_than
            .is_none_or(|least| u128::try_from(age).is_ok_and(|age| age >= least.as_millis()));
        if !is_old || lease::is_held(connection, &candidate.id, process, now_ms)? {
            continue;
        }
        if !is_ended && age < RESTS_MS && !has_lease(connection, &candidate.id)? {
            continue;
        }
        candidate.bytes = bytes(connection, &candidate.id)?;
        if prune.larger_than.is_none_or(|most| candidate.bytes > most) {
            found.push(candidate);
        }
    }
    Ok(found)
}

/// All sessions in the order of their activity, each with the time at which it was active for sure: no earlier than the
/// one before. Times that are still to come say nothing of others.
fn known(connection: &Connection, now_ms: i64) -> rusqlite::Result<Vec<(Known, i64)>> {
    let mut statement = connection.prepare(
        "SELECT id, title, updated_ms, activity, ended_ms IS NOT NULL, messages FROM sessions ORDER BY activity",
    )?;
    let mut rows = statement.query([])?;
    let mut known = Vec::new();
    let mut latest = i64::MIN;
    while let Some(row) = rows.next()? {
        let updated_ms: i64 = row.get(2)?;
        if updated_ms <= now_ms {
            latest = latest.max(updated_ms);
        }
        let candidate = Candidate {
            id: SessionId::from(row.get_ref(0)?.as_str()?),
            title: row.get(1)?,
            messages: count(row.get(5)?),
            updated_ms,
            bytes: 0,
            activity: row.get(3)?,
        };
        let is_ended = row.get(4)?;
        known.push((Known { candidate, is_ended }, latest.max(updated_ms).min(now_ms)));
    }
    Ok(known)
}

/// Whether a process has not let the session go; asked where none that lives holds it.
fn has_lease(connection: &Connection, id: &SessionId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM leases WHERE session_id = ?1)")?
        .query_row([id.as_str()], |row| row.get(0))
}

fn bytes(connection: &Connection, id: &SessionId) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM events \
             WHERE session = (SELECT key FROM sessions WHERE id = ?1)) + \
             (SELECT coalesce(sum(octet_length(bytes)), 0) FROM blobs WHERE sha256 IN \
             (SELECT sha256 FROM blob_uses WHERE session_id = ?1) AND sha256 NOT IN \
             (SELECT sha256 FROM blob_uses WHERE session_id <> ?1 AND sha256 IN \
             (SELECT sha256 FROM blob_uses WHERE session_id = ?1)))",
        )?
        .query_row([id.as_str()], |row| Ok(count(row.get(0)?)))
}

/// Whether a session is as it was when it was found to be one that may go.
pub(super) fn check(connection: &Connection, candidate: &Candidate) -> Result<(), Fault> {
    let is_same: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND activity = ?2)",
        params![candidate.id.as_str(), candidate.activity],
        |row| row.get(0),
    )?;
    if is_same {
        return Ok(());
    }
    Err(Fault::Refused(format!(
        "session {} was used or deleted just now",
        candidate.id
    )))
}
