//! How a session has ended, as its row keeps it. A later one opens it again, and then it can end anew.

use rusqlite::{Connection, params};

use crate::id::SessionId;

/// The end of a session that nobody has opened since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When, in Unix ms.
    pub at_ms: i64,
    /// Why.
    pub reason: EndReason,
}

/// Why a session has ended. One whose process was killed has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Its surface has closed it, or its only prompt was done.
    Closed,
    /// Its surface was gone.
    Disconnected,
    /// The agent was told to end.
    Shutdown,
}

impl EndReason {
    const ALL: [Self; 3] = [Self::Closed, Self::Disconnected, Self::Shutdown];

    /// Its name.
    pub fn id(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Disconnected => "disconnected",
            Self::Shutdown => "shutdown",
        }
    }

    /// The reason of this name. One that a later version knows is an end all the same.
    fn of(id: &str) -> Self {
        let known = Self::ALL.into_iter().find(|reason| reason.id() == id);
        known.unwrap_or(Self::Closed)
    }
}

impl Ended {
    pub(super) fn of(at_ms: Option<i64>, reason: Option<String>) -> Option<Self> {
        Some(Self {
            at_ms: at_ms?,
            reason: EndReason::of(&reason.unwrap_or_default()),
        })
    }
}

/// Notes the end of a session, unless it has one. The caller's transaction.
pub(super) fn write(connection: &Connection, id: &SessionId, reason: EndReason, now_ms: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE sessions SET ended_ms = ?2, end_reason = ?3 WHERE id = ?1 AND ended_ms IS NULL")?
        .execute(params![id.as_str(), now_ms, reason.id()])?;
    Ok(())
}

/// Takes the end of a session back, if it has one. The caller's transaction.
pub(super) fn take_back(connection: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET ended_ms = NULL, end_reason = NULL WHERE id = ?1 AND ended_ms IS NOT NULL",
        )?
        .execute([id.as_str()])?;
    Ok(())
}
