//! The rows of sessions: a summary, folded from the events in the transaction that stores them.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::ending::Ended;
use super::index::{self, Indexing};
use super::queue::Fault;
use super::value::{PathColumn, StoredPath, column, count};
use super::{Parent, SessionRecord};
use crate::content::is_blank;
use crate::event::{Compaction, ContextUse, Envelope, Event, HistoryMove, SessionChange};
use crate::id::SessionId;
use crate::provider::{ThoughtLevel, Usage};

/// The columns that [`from_row`] reads, in its order.
pub(super) const COLUMNS: &str = "id, source, cwd, extra_roots, title, model, origin, mode, system, created_ms, \
     updated_ms, messages, input, cached_read, cached_write, output, reasoning, context_used, context_window, \
     last_seq, last_turn, begun, told, cost_nano_usd, thought, parent_id, parent_seq, instructions, \
     archived_ms, ended_ms, end_reason";

/// Folds one event into its session's summary.
pub(super) fn fold(record: &mut SessionRecord, envelope: &Envelope, at_ms: i64) {
    record.updated_ms = at_ms;
    record.last_seq = record.last_seq.max(envelope.seq);
    record.last_turn = record.last_turn.max(envelope.turn.map_or(0, |turn| turn.0));
    match &envelope.event {
        Event::UserMessage {
            command: false,
            content,
            ..
        } if is_blank(content) => {}
        // It answers a command, and a session of these alone is not listed, unless the user has named it.
        Event::AgentText { .. } if record.messages == 0 && record.title.is_none() => {}
        Event::UserMessage { command: false, .. } | Event::UserSteered { .. } | Event::AgentText { .. } => {
            record.messages += 1;
        }
        Event::StepFinished { usage, context, .. } => {
            record.usage = record.usage.plus(*usage);
            record.context = Some(*context);
        }
        Event::SessionChanged { change } => change_session(record, change),
        // The notes that told more are out of the history; what the prompt says is still there.
        Event::Compacted { what, context, .. } => {
            record.context = Some(*context);
            if matches!(what, Compaction::Summary { .. }) {
                record.told.clone_from(&record.begun);
            }
        }
        Event::HistoryMoved { why, .. } => {
            record.told.clone_from(&record.begun);
            match why {
                HistoryMove::Clear => {
                    record.context = Some(ContextUse {
                        cost_nano_usd: record.usage.cost_nano_usd,
                        ..ContextUse::default()
                    });
                }
                // How full it is then, the next step says.
                HistoryMove::Undo | HistoryMove::Redo => record.context = None,
                HistoryMove::Refusal => {}
            }
        }
        Event::UserMessage { command: true, .. }
        | Event::AgentThought { .. }
        | Event::ToolStarted { .. }
        | Event::ToolPlanned { .. }
        | Event::ToolProgress { .. }
        | Event::ToolFinished { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::PlanUpdated { .. }
        | Event::Notice { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => {}
    }
}

fn change_session(record: &mut SessionRecord, change: &SessionChange) {
    match change {
        SessionChange::Title(title) => record.title = Some(title.clone()),
        SessionChange::Mode(mode) => record.mode = *mode,
        SessionChange::Model(model) => {
            record.model = model.clone();
            if let Some(context) = &mut record.context {
                context.window = None;
            }
        }
        SessionChange::Thought(level) => record.thought = *level,
        SessionChange::Cwd(cwd) => record.cwd.clone_from(cwd),
        SessionChange::Told(facts) => record.told = Some(facts.clone()),
        SessionChange::Context(context) => record.context = Some(*context),
        SessionChange::Spent(usage) => record.usage = record.usage.plus(*usage),
        SessionChange::Prompted(prompted) => {
            record.system.clone_from(&prompted.system);
            record.instructions.clone_from(&prompted.instructions);
            record.begun = Some(prompted.facts.clone());
            record.told = Some(prompted.facts.clone());
        }
    }
}

/// Reads one session.
pub(super) fn read(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<SessionRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?
        .query_row([id.as_str()], from_row)
        .optional()
}

/// The number by which a stored session's rows name it.
pub(super) fn key(connection: &Connection, id: &SessionId) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT key FROM sessions WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
}

/// Makes a session's row as it was created.
pub(super) fn insert(connection: &Connection, record: &SessionRecord, real_cwd: &Path) -> rusqlite::Result<()> {
    let roots: Vec<_> = record.extra_roots.iter().map(|root| root.to_string_lossy()).collect();
    connection.execute(
        "INSERT INTO sessions (id, source, cwd, real_cwd, extra_roots, title, model, origin, mode, system, \
         created_ms, updated_ms, messages, last_seq, last_turn, activity, begun, told, thought, \
         parent_id, parent_seq, instructions, key) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, 0, 0, 0, ?13, ?14, ?15, ?16, ?17, ?18, \
         (SELECT coalesce(max(key), 0) + 1 FROM sessions))",
        params![
            record.id.as_str(),
            record.source,
            PathColumn(&record.cwd),
            PathColumn(real_cwd),
            serde_json::to_string(&roots).expect("a list of strings is always JSON"),
            record.title,
            record.model.to_string(),
            serde_json::to_string(&record.origin).expect("three strings are always JSON"),
            record.mode.id(),
            record.system,
            record.created_ms,
            record.updated_ms,
            to_json(record.begun.as_ref()),
            to_json(record.told.as_ref()),
            record.thought.map(ThoughtLevel::id),
            record.parent.as_ref().map(|parent| parent.session.as_str()),
            record.parent.as_ref().map(|parent| column(parent.seq)),
            to_json(record.instructions.as_ref()),
        ],
    )?;
    Ok(())
}

/// Writes a folded summary back. `activity` is the id of the session's newest row.
pub(super) fn update(
    connection: &Connection,
    record: &SessionRecord,
    real_cwd: Option<&Path>,
    activity: i64,
) -> rusqlite::Result<()> {
    let usage = &record.usage;
    connection.execute(
        "UPDATE sessions SET cwd = ?2, real_cwd = coalesce(?3, real_cwd), title = ?4, model = ?5, mode = ?6, \
         updated_ms = ?7, messages = ?8, input = ?9, cached_read = ?10, cached_write = ?11, output = ?12, \
         reasoning = ?13, context_used = ?14, context_window = ?15, last_seq = ?16, last_turn = ?17, activity = ?18, told = ?19, \
         cost_nano_usd = ?20, thought = ?21, system = ?22, begun = ?23, instructions = ?24 \
         WHERE id = ?1",
        params![
            record.id.as_str(),
            PathColumn(&record.cwd),
            real_cwd.map(PathColumn),
            record.title,
            record.model.to_string(),
            record.mode.id(),
            record.updated_ms,
            column(record.messages),
            usage.input.map(column),
            usage.cached_read.map(column),
            usage.cached_write.map(column),
            usage.output.map(column),
            usage.reasoning.map(column),
            record.context.map(|context| column(context.used)),
            record.context.and_then(|context| context.window).map(column),
            column(record.last_seq),
            column(record.last_turn),
            activity,
            to_json(record.told.as_ref()),
            usage.cost_nano_usd.map(column),
            record.thought.map(ThoughtLevel::id),
            record.system,
            to_json(record.begun.as_ref()),
            to_json(record.instructions.as_ref()),
        ],
    )?;
    Ok(())
}

/// Removes all there is of a session. Its events go with it, and what bytes no other session uses.
pub(super) fn delete(connection: &Connection, id: &SessionId, indexing: Indexing) -> Result<(), Fault> {
    if indexing == Indexing::On {
        index::forget(connection, id).map_err(Fault::of_index)?;
    }
    for sql in [
        "DELETE FROM partials WHERE session_id = ?1",
        "DELETE FROM leases WHERE session_id = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        connection.execute(sql, [id.as_str()])?;
    }
    Ok(())
}

/// Reads [`COLUMNS`].
pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let count_at = |index| row.get::<_, i64>(index).map(count);
    let maybe_at = |index| row.get::<_, Option<i64>>(index).map(|value| value.map(count));
    let window = maybe_at(18)?;
    let cost = maybe_at(23)?;
    let parent_seq = maybe_at(26)?;
    Ok(SessionRecord {
        id: SessionId::from(row.get_ref(0)?.as_str()?),
        source: row.get(1)?,
        cwd: row.get::<_, StoredPath>(2)?.0,
        extra_roots: json::<Vec<PathBuf>>(row, 3)?,
        title: row.get(4)?,
        model: parsed(row, 5)?,
        origin: json(row, 6)?,
        mode: parsed(row, 7)?,
        system: row.get(8)?,
        created_ms: row.get(9)?,
        updated_ms: row.get(10)?,
        messages: count_at(11)?,
        usage: Usage {
            input: maybe_at(12)?,
            cached_read: maybe_at(13)?,
            cached_write: maybe_at(14)?,
            output: maybe_at(15)?,
            reasoning: maybe_at(16)?,
            cost_nano_usd: cost,
        },
        context: maybe_at(17)?.map(|used| ContextUse {
            used,
            window,
            cost_nano_usd: cost,
        }),
        last_seq: count_at(19)?,
        last_turn: count_at(20)?,
        begun: maybe_json(row, 21)?,
        told: maybe_json(row, 22)?,
        thought: match row.get_ref(24)? {
            ValueRef::Null => None,
            ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Integer(_) | ValueRef::Real(_) => Some(parsed(row, 24)?),
        },
        parent: row.get::<_, Option<String>>(25)?.map(|session| Parent {
            session: SessionId::from(session.as_str()),
            seq: parent_seq.unwrap_or_default(),
        }),
        instructions: maybe_json(row, 27)?,
        archived_ms: row.get(28)?,
        ended: Ended::of(row.get(29)?, row.get::<_, Option<String>>(30)?),
    })
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(index)?.as_str()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error)))
}

fn maybe_json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<T>> {
    match row.get_ref(index)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Integer(_) | ValueRef::Real(_) => json(row, index).map(Some),
    }
}

fn to_json(value: Option<&impl Serialize>) -> Option<String> {
    value.map(|value| serde_json::to_string(value).expect("names, marks and texts are always JSON"))
}

fn parsed<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get_ref(index)?
        .as_str()?
        .parse()
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error)))
}
