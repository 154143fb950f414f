//! Events on their way into the database: rows made by the caller, one transaction on the writer's thread.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::blob::{self, Bytes};
use super::index::Indexing;
use super::kept::Keeping;
use super::passage;
use super::queue::Fault;
use super::value::column;
use super::{Durability, SessionRecord, index, location, session};
use crate::clock::unix_ms;
use crate::event::{Envelope, Event, SessionChange};
use crate::id::SessionId;
use crate::search::{Role, spelled};

/// Events of one session that are stored together or not at all.
pub(super) struct Append {
    pub(super) session: SessionId,
    pub(super) envelopes: Vec<Envelope>,
    pub(super) durability: Durability,
    /// The session as it was created, while it has no row.
    pub(super) created: Option<Arc<SessionRecord>>,
    pub(super) at_ms: i64,
    /// Bytes that the events name and do not hold.
    pub(super) keeping: Option<Keeping>,
    rows: Vec<EventRow>,
    real_cwd: Option<PathBuf>,
}

/// What of an event does not stand in its envelope.
pub(super) struct EventRow {
    pub(super) body: String,
    pub(super) bytes: Vec<Bytes>,
    /// What of it is found, spelled for the index.
    pub(super) found: Option<(Role, String)>,
}

impl Append {
    /// Makes the rows, so that the writer only has to insert them. `own` says of each event whether the core itself
    /// speaks there, which is not found.
    pub(super) fn new(
        session: SessionId,
        envelopes: Vec<Envelope>,
        durability: Durability,
        created: Option<Arc<SessionRecord>>,
        own: &[bool],
    ) -> Result<Self, serde_json::Error> {
        let rows = envelopes
            .iter()
            .enumerate()
            .map(|(index, envelope)| EventRow::new(&envelope.event, own.get(index) == Some(&true)));
        Ok(Self {
            rows: rows.collect::<Result<_, _>>()?,
            real_cwd: envelopes
                .iter()
                .rev()
                .find_map(|envelope| moved_to(&envelope.event))
                .or(created.as_ref().map(|record| &record.cwd))
                .map(|cwd| location::real(cwd)),
            session,
            envelopes,
            durability,
            created,
            at_ms: unix_ms(),
            keeping: None,
        })
    }

    /// The same, with bytes that the events name.
    pub(super) fn beside(self, keeping: Option<Keeping>) -> Self {
        Self { keeping, ..self }
    }

    /// Roughly the bytes it takes while it waits: each event is there twice, as itself and as a row.
    pub(super) fn size(&self) -> usize {
        const FLAT: usize = 256;
        let found = |row: &EventRow| row.found.as_ref().map_or(0, |(_, text)| text.len());
        let row =
            |row: &EventRow| FLAT + 2 * row.body.len() + found(row) + row.bytes.iter().map(Bytes::len).sum::<usize>();
        self.rows.iter().map(row).sum::<usize>() + self.keeping.as_ref().map_or(0, Keeping::len)
    }
}

impl EventRow {
    pub(super) fn new(event: &Event, is_own: bool) -> Result<Self, serde_json::Error> {
        let found = passage::of(event)
            .filter(|_| !is_own)
            .map(|(role, text)| (role, spelled(&text)));
        if !blob::has_images(event) {
            return Ok(Self {
                body: serde_json::to_string(event)?,
                bytes: Vec::new(),
                found,
            });
        }
        let mut event = event.clone();
        let bytes = blob::take_out(&mut event);
        Ok(Self {
            body: serde_json::to_string(&event)?,
            bytes,
            found,
        })
    }
}

fn moved_to(event: &Event) -> Option<&PathBuf> {
    if let Event::SessionChanged {
        change: SessionChange::Cwd(cwd),
    } = event
    {
        return Some(cwd);
    }
    None
}

/// Inserts the rows, keeps the summary, drops the pieces of messages that are whole now. The caller's transaction.
///
/// A row that is there already is passed over if it is the same: a commit may have succeeded and yet been reported
/// as failed. A different one means that somebody else writes to the session.
pub(super) fn write(connection: &Connection, append: &Append, indexing: Indexing) -> Result<(), Fault> {
    let mut record = session_row(connection, append)?;
    let key = session::key(connection, &append.session)?;
    let mut activity = None;
    if let Some(keeping) = &append.keeping {
        keeping.write(connection)?;
    }
    for (envelope, row) in append.envelopes.iter().zip(&append.rows) {
        if let Some(id) = insert(connection, append, key, envelope, row)? {
            session::fold(&mut record, envelope, append.at_ms);
            activity = Some(id);
            if let (Indexing::On, Some((role, text))) = (indexing, &row.found) {
                index::add(connection, id, *role, text).map_err(Fault::of_index)?;
            }
        }
        drop_partials(connection, &append.session, envelope.seq)?;
    }
    if let Some(activity) = activity {
        session::update(connection, &record, append.real_cwd.as_deref(), activity)?;
    }
    if let Some(keeping) = &append.keeping {
        keeping.make_room(connection, &append.session)?;
    }
    Ok(())
}

fn session_row(connection: &Connection, append: &Append) -> Result<SessionRecord, Fault> {
    if let Some(record) = session::read(connection, &append.session)? {
        return Ok(record);
    }
    let Some(created) = &append.created else {
        return Err(Fault::Refused(format!(
            "session {} has no row in the store and was not created by this process, so its events can't be saved",
            append.session
        )));
    };
    let real_cwd = append.real_cwd.as_deref().unwrap_or(&created.cwd);
    session::insert(connection, created, real_cwd)?;
    Ok(SessionRecord::clone(created))
}

/// The new row's id; none if the same row is there already.
fn insert(
    connection: &Connection,
    append: &Append,
    key: i64,
    envelope: &Envelope,
    row: &EventRow,
) -> Result<Option<i64>, Fault> {
    let seq = column(envelope.seq);
    let stored: Option<String> = connection
        .prepare_cached("SELECT body FROM events WHERE session = ?1 AND seq = ?2")?
        .query_row(params![key, seq], |row| row.get(0))
        .optional()?;
    match stored {
        Some(body) if body == row.body => return Ok(None),
        Some(_) => {
            return Err(Fault::Refused(format!(
                "row {} of session {} was written by another process, so what happens here can't be saved: \
                 fork the session to go on",
                envelope.seq, append.session
            )));
        }
        None => {}
    }
    insert_row(connection, key, envelope, row, append.at_ms).map(Some)
}

/// Inserts a row that is not there: its id.
pub(super) fn insert_row(
    connection: &Connection,
    key: i64,
    envelope: &Envelope,
    row: &EventRow,
    at_ms: i64,
) -> Result<i64, Fault> {
    for bytes in &row.bytes {
        blob::write(connection, bytes)?;
    }
    connection
        .prepare_cached("INSERT INTO events (session, seq, turn, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            key,
            column(envelope.seq),
            envelope.turn.map(|turn| column(turn.0)),
            at_ms,
            kind(&envelope.event),
            row.body
        ])?;
    Ok(connection.last_insert_rowid())
}

/// The place of the newest row of all.
pub(super) fn last_row(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(id), 0) FROM events", [], |row| row.get(0))
}

fn drop_partials(connection: &Connection, session: &SessionId, seq: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM partials WHERE session_id = ?1 AND seq = ?2")?
        .execute(params![session.as_str(), column(seq)])?;
    Ok(())
}

/// The event's name, as its JSON has it.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::UserMessage { .. } => "user_message",
        Event::UserSteered { .. } => "user_steered",
        Event::AgentText { .. } => "agent_text",
        Event::AgentThought { .. } => "agent_thought",
        Event::ToolStarted { .. } => "tool_started",
        Event::ToolPlanned { .. } => "tool_planned",
        Event::ToolProgress { .. } => "tool_progress",
        Event::ToolFinished { .. } => "tool_finished",
        Event::FilesKept { .. } => "files_kept",
        Event::ApprovalRequested { .. } => "approval_requested",
        Event::ApprovalDecided { .. } => "approval_decided",
        Event::PlanUpdated { .. } => "plan_updated",
        Event::StepFinished { .. } => "step_finished",
        Event::Notice { .. } => "notice",
        Event::Compacted { .. } => "compacted",
        Event::HistoryMoved { .. } => "history_moved",
        Event::SessionChanged { .. } => "session_changed",
        Event::TurnFinished { .. } => "turn_finished",
        Event::TurnFailed { .. } => "turn_failed",
    }
}
