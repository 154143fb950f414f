//! Parts of a session's history as text, for who reads around a hit.

use rusqlite::{Connection, params};

use super::search::WHEN;
use super::value::column;
use super::{passage, reader};
use crate::id::SessionId;
use crate::search::{Part, Passage};

/// What is text in the middle of a session, and at its ends.
const ALL: &str = "'user_message', 'user_steered', 'agent_text', 'tool_started', 'tool_finished'";
const SAID: &str = "'user_message', 'user_steered', 'agent_text'";

/// A part of a session, in order: around a row at most `most` passages before it and from it on, or at each end.
pub(super) fn read(
    connection: &Connection,
    session: &SessionId,
    part: Part,
    most: usize,
) -> rusqlite::Result<Vec<Passage>> {
    let (mut passages, behind) = match part {
        Part::Around(seq) => (
            backward(connection, session, ALL, seq.saturating_sub(1), most)?,
            forward(connection, session, ALL, seq, most + 1)?,
        ),
        Part::Ends => (
            forward(connection, session, SAID, 0, most)?,
            backward(connection, session, SAID, u64::MAX, most)?,
        ),
    };
    passages.extend(behind);
    passages.sort_by_key(|passage| passage.seq);
    passages.dedup_by_key(|passage| passage.seq);
    Ok(passages)
}

fn forward(
    connection: &Connection,
    session: &SessionId,
    kinds: &str,
    from: u64,
    most: usize,
) -> rusqlite::Result<Vec<Passage>> {
    collect(
        connection,
        session,
        &format!("kind IN ({kinds}) AND seq >= ?2 ORDER BY seq"),
        from,
        most,
    )
}

fn backward(
    connection: &Connection,
    session: &SessionId,
    kinds: &str,
    upto: u64,
    most: usize,
) -> rusqlite::Result<Vec<Passage>> {
    collect(
        connection,
        session,
        &format!("kind IN ({kinds}) AND seq <= ?2 ORDER BY seq DESC"),
        upto,
        most,
    )
}

fn collect(
    connection: &Connection,
    session: &SessionId,
    which: &str,
    seq: u64,
    most: usize,
) -> rusqlite::Result<Vec<Passage>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT seq, turn, body, {WHEN} FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) AND {which}"
    ))?;
    let mut rows = statement.query(params![session.as_str(), column(seq)])?;
    let mut passages = Vec::new();
    while passages.len() < most
        && let Some(row) = rows.next()?
    {
        let Some(envelope) = reader::envelope(session, row)? else {
            continue;
        };
        if let Some((role, text)) = passage::of(&envelope.event) {
            passages.push(Passage {
                seq: envelope.seq,
                role,
                when: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
                text: text.into_owned(),
            });
        }
    }
    Ok(passages)
}
