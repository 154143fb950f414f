//! What moves of the history have taken out of it, and put back.

use std::ops::RangeInclusive;

use rusqlite::Connection;

use super::reader;
use crate::event::{Envelope, Event, HistoryMove};
use crate::id::SessionId;

/// A move of the history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Move {
    /// Its own row.
    pub(super) row: u64,
    keep_upto: u64,
    why: HistoryMove,
}

impl Move {
    /// The move that an event is, if it is one.
    pub(super) fn of(envelope: &Envelope) -> Option<Self> {
        if let Event::HistoryMoved { keep_upto, why } = envelope.event {
            return Some(Self {
                row: envelope.seq,
                keep_upto,
                why,
            });
        }
        None
    }
}

/// The moves of a session's history, in order.
pub(super) fn read(connection: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Move>> {
    let mut statement = connection.prepare(
        "SELECT seq, turn, body FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) \
         AND kind = 'history_moved' ORDER BY seq",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let mut moves = Vec::new();
    while let Some(row) = rows.next()? {
        moves.extend(reader::envelope(session, row)?.as_ref().and_then(Move::of));
    }
    Ok(moves)
}

/// The rows that are out of the history after these moves, in the order of the moves. Each range ends with the move itself.
pub(super) fn hidden(moves: &[Move]) -> Vec<RangeInclusive<u64>> {
    let mut standing: Vec<&Move> = Vec::new();
    for moved in moves {
        if moved.why == HistoryMove::Redo
            && let Some(undo) = standing.iter().rposition(|before| before.why == HistoryMove::Undo)
        {
            standing.remove(undo);
        }
        standing.push(moved);
    }
    let range = |moved: &&Move| moved.keep_upto + 1..=moved.row;
    standing.iter().map(range).collect()
}
