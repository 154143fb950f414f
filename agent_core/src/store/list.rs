//! Pages of the stored sessions, newest activity first.
//!
//! Activity is the id of a session's newest row and not a time: no two sessions share one, and a clock that jumps
//! reorders nothing.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::value::PathColumn;
use super::{SessionRecord, session};
use crate::outward::{SessionPage, SessionSummary};

/// Sessions whose rows wait are the newest; their activities begin here, above any id that a table will reach.
const WAITING: i64 = i64::MAX / 2;

/// A session with its place in the list.
pub(super) struct Listed {
    activity: i64,
    record: SessionRecord,
}

/// What a page is of: the sessions of one folder (its real path), or all, below an activity.
pub(super) struct Filter<'a> {
    cwd: Option<&'a Path>,
    below: i64,
    archived: Archived,
}

/// What becomes of sessions that were put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archived {
    /// They are not there.
    LeftOut,
    /// They are there like others.
    Shown,
}

/// The cursor is not one of ours, or one of another list.
pub(super) struct BadCursor;

impl<'a> Filter<'a> {
    pub(super) fn new(cwd: Option<&'a Path>, cursor: Option<&str>, archived: Archived) -> Result<Self, BadCursor> {
        let below = cursor.map_or(Ok(i64::MAX), |cursor| read_cursor(cursor, cwd))?;
        Ok(Self { cwd, below, archived })
    }

    /// The sessions of this list whose rows wait to be written, oldest activity first in `records`.
    pub(super) fn waiting(&self, records: Vec<SessionRecord>) -> Vec<Listed> {
        let listed = (WAITING..)
            .zip(records)
            .map(|(activity, record)| Listed { activity, record });
        listed
            .filter(|listed| listed.activity < self.below && listed.record.messages > 0)
            .filter(|listed| self.archived == Archived::Shown || listed.record.archived_ms.is_none())
            .filter(|listed| {
                self.cwd
                    .is_none_or(|cwd| super::location::real(&listed.record.cwd) == cwd)
            })
            .collect()
    }

    /// The stored sessions of this list, without those in `except`, at most `limit`.
    pub(super) fn stored(
        &self,
        connection: &Connection,
        except: &[SessionRecord],
        limit: usize,
    ) -> rusqlite::Result<Vec<Listed>> {
        let folder = self.cwd.map_or("?2 IS NULL", |_| "real_cwd = ?2");
        let archived = match self.archived {
            Archived::LeftOut => "archived_ms IS NULL",
            Archived::Shown => "1",
        };
        let sql = format!(
            "SELECT {}, activity FROM sessions WHERE messages > 0 AND activity < ?1 AND {folder} AND {archived} \
             ORDER BY activity DESC",
            session::COLUMNS
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(params![self.below, self.cwd.map(PathColumn)])?;
        let mut sessions = Vec::new();
        while sessions.len() < limit
            && let Some(row) = rows.next()?
        {
            match session::from_row(row) {
                Ok(record) if except.iter().any(|other| other.id == record.id) => {}
                Ok(record) => sessions.push(Listed {
                    activity: row.get("activity")?,
                    record,
                }),
                Err(error @ rusqlite::Error::FromSqlConversionFailure(..)) => {
                    tracing::warn!(%error, "a stored session can't be read and is passed over");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(sessions)
    }

    /// Puts a page together; `sessions` holds one more than `limit` if there are more.
    pub(super) fn page(&self, mut sessions: Vec<Listed>, limit: usize) -> SessionPage {
        sessions.sort_by_key(|listed| std::cmp::Reverse(listed.activity));
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        SessionPage {
            next: sessions
                .last()
                .filter(|_| more)
                .map(|listed| write_cursor(listed.activity, self.cwd)),
            sessions: sessions.into_iter().map(|listed| summary(listed.record)).collect(),
        }
    }
}

fn summary(record: SessionRecord) -> SessionSummary {
    SessionSummary {
        id: record.id,
        cwd: record.cwd,
        extra_roots: record.extra_roots,
        title: record.title,
        source: record.source,
        model: record.model,
        created_ms: record.created_ms,
        updated_ms: record.updated_ms,
        messages: record.messages,
        is_archived: record.archived_ms.is_some(),
    }
}

/// A cursor is opaque to whoever holds it: the last activity shown, and what the list was of.
fn write_cursor(activity: i64, cwd: Option<&Path>) -> String {
    let mut bytes = activity.to_be_bytes().to_vec();
    bytes.extend(list_of(cwd));
    URL_SAFE_NO_PAD.encode(bytes)
}

fn read_cursor(cursor: &str, cwd: Option<&Path>) -> Result<i64, BadCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| BadCursor)?;
    match bytes.split_first_chunk::<8>() {
        Some((activity, list)) if list == list_of(cwd) => Ok(i64::from_be_bytes(*activity)),
        _ => Err(BadCursor),
    }
}

fn list_of(cwd: Option<&Path>) -> [u8; 8] {
    let name = cwd.map_or(Vec::new(), |cwd| cwd.as_os_str().as_encoded_bytes().to_vec());
    let hash = Sha256::digest(name);
    *hash.first_chunk().expect("a SHA-256 has 32 bytes")
}
