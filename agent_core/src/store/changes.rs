//! Changes of a session's row that are no part of what happens in it, in the writer's transaction.

use rusqlite::{Connection, params};

use super::append::{self, Append};
use super::index::Indexing;
use super::queue::Fault;
use super::{Durability, session, titles};
use crate::event::{Envelope, Event, SessionChange};
use crate::id::SessionId;

/// Gives a stored session its title, as an event, so that a load shows it.
pub(super) fn rename(connection: &Connection, id: &SessionId, title: &str, indexing: Indexing) -> Result<(), Fault> {
    let Some(record) = session::read(connection, id)? else {
        return Err(unknown(id));
    };
    if titles::is_taken(connection, title, id)? {
        return Err(Fault::Refused(format!("another session was called `{title}` just now")));
    }
    let envelope = Envelope {
        session: id.clone(),
        turn: None,
        seq: record.last_seq + 1,
        event: Event::SessionChanged {
            change: SessionChange::Title(title.to_owned()),
        },
    };
    let append = Append::new(id.clone(), vec![envelope], Durability::Disk, None, &[])
        .map_err(|error| Fault::Refused(format!("a title has no JSON form ({error})")))?;
    append::write(connection, &append, indexing)
}

/// Puts a session aside at a time, or takes it back.
pub(super) fn archive(connection: &Connection, id: &SessionId, at_ms: Option<i64>) -> Result<(), Fault> {
    let changed = connection.execute(
        "UPDATE sessions SET archived_ms = CASE WHEN ?2 IS NULL THEN NULL ELSE coalesce(archived_ms, ?2) END \
         WHERE id = ?1",
        params![id.as_str(), at_ms],
    )?;
    match changed {
        0 => Err(unknown(id)),
        _ => Ok(()),
    }
}

fn unknown(id: &SessionId) -> Fault {
    Fault::Refused(format!("there is no session {id}"))
}
