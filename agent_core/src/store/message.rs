//! A message while it is being written: its text so far is stored in pieces, so that a crash leaves what was seen.

use std::mem;
use std::sync::Arc;

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::Durability;
use super::append::{self, Append};
use super::index::Indexing;
use super::lease::Process;
use super::queue::Fault;
use super::value::{column, count};
use super::writer::Wake;
use crate::event::{Envelope, Event};
use crate::id::{SessionId, TurnId};

/// Text beyond this is stored without waiting for the clock.
const PIECE: usize = 4096;

/// A message that is being written. Dropped without [`OpenMessage::finish`], it leaves its text so far to
/// [`Store::recover`](super::Store::recover).
pub struct OpenMessage {
    /// The message's row, its event without text.
    envelope: Envelope,
    text: String,
    pending: Arc<Pending>,
    wake: Sender<Wake>,
}

/// The text of an open message that is not stored yet; shared with the writer.
pub(super) struct Pending {
    session: SessionId,
    seq: u64,
    turn: Option<TurnId>,
    /// The event as JSON, without text.
    event: String,
    tail: Mutex<Tail>,
}

#[derive(Default)]
struct Tail {
    text: String,
    /// The whole message is on its way into the store, or there already.
    finished: bool,
}

impl OpenMessage {
    pub(super) fn new(mut envelope: Envelope, wake: Sender<Wake>) -> Self {
        let first = text_of(&mut envelope.event).map(mem::take).unwrap_or_default();
        let pending = Pending {
            session: envelope.session.clone(),
            seq: envelope.seq,
            turn: envelope.turn,
            event: serde_json::to_string(&envelope.event).expect("an id and a text are always JSON"),
            tail: Mutex::default(),
        };
        let mut message = Self {
            envelope,
            text: String::new(),
            pending: Arc::new(pending),
            wake,
        };
        message.push(&first);
        message
    }

    /// Adds the next piece of text. The writer hears of the first piece and of each full one, and not of every delta.
    pub fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let (before, after) = self.pending.push(text);
        // A writer that is gone means a closed store; `append` will say so.
        if before == 0 {
            let _ = self.wake.send(Wake::Begun(self.pending.clone()));
        }
        if before < PIECE && after >= PIECE {
            let _ = self.wake.send(Wake::Full(self.pending.clone()));
        }
    }

    /// What it says so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends the message and gives back its whole event, for [`Store::append`](super::Store::append).
    pub fn finish(mut self) -> Envelope {
        self.pending.finish();
        if let Some(text) = text_of(&mut self.envelope.event) {
            *text = self.text;
        }
        self.envelope
    }
}

impl Pending {
    /// The length before and after.
    fn push(&self, text: &str) -> (usize, usize) {
        let mut tail = self.tail.lock();
        let before = tail.text.len();
        tail.text.push_str(text);
        (before, tail.text.len())
    }

    fn finish(&self) {
        *self.tail.lock() = Tail {
            text: String::new(),
            finished: true,
        };
    }

    /// Moves what is there into the database. On an error it stays here. In a session that another process holds it
    /// would become that one's row, so it is dropped; the message's own row will be refused too.
    pub(super) fn store(&self, connection: &Connection, process: &Process) -> rusqlite::Result<()> {
        let text = mem::take(&mut self.tail.lock().text);
        if text.is_empty() {
            return Ok(());
        }
        let (pid, started, place) = process.columns();
        let result = connection.execute(
            "INSERT INTO partials (session_id, seq, turn, event, text) SELECT ?1, ?2, ?3, ?4, ?5 \
             WHERE NOT EXISTS (SELECT 1 FROM leases \
             WHERE session_id = ?1 AND (pid, started, place) <> (?6, ?7, ?8))",
            params![
                self.session.as_str(),
                column(self.seq),
                self.turn.map(|turn| column(turn.0)),
                self.event,
                text,
                pid,
                started,
                place,
            ],
        );
        result.map(|_| ()).inspect_err(|_| self.take_back(text))
    }

    fn take_back(&self, mut text: String) {
        let mut tail = self.tail.lock();
        if !tail.finished {
            text.push_str(&tail.text);
            tail.text = text;
        }
    }
}

fn text_of(event: &mut Event) -> Option<&mut String> {
    if let Event::AgentText { text, .. } | Event::AgentThought { text, .. } = event {
        return Some(text);
    }
    None
}

/// Whether something was left of a session's messages, or is still being spoken.
pub(super) fn has_pieces(connection: &Connection, session: &SessionId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM partials WHERE session_id = ?1)")?
        .query_row([session.as_str()], |row| row.get(0))
}

/// Makes rows of what was left of a session's messages. The caller's transaction.
pub(super) fn recover(connection: &Connection, session: &SessionId, indexing: Indexing) -> Result<(), Fault> {
    let found = left_over(connection, session)?;
    if found.is_empty() {
        return Ok(());
    }
    let append = Append::new(session.clone(), found, Durability::Disk, None, &[])
        .map_err(|error| Fault::Refused(format!("can't store what was left of a message: {error}")))?;
    append::write(connection, &append, indexing)?;
    connection
        .prepare_cached("DELETE FROM partials WHERE session_id = ?1")?
        .execute([session.as_str()])?;
    Ok(())
}

fn left_over(connection: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Envelope>> {
    let mut statement = connection.prepare(
        "SELECT seq, turn, event, text FROM partials \
         WHERE session_id = ?1 \
         AND seq NOT IN (SELECT seq FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1)) \
         AND session_id IN (SELECT id FROM sessions) ORDER BY seq, id",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let mut envelopes: Vec<Envelope> = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = count(row.get(0)?);
        let text: String = row.get(3)?;
        if let Some(envelope) = envelopes.last_mut().filter(|envelope| envelope.seq == seq) {
            text_of(&mut envelope.event)
                .expect("only events with text get here")
                .push_str(&text);
            continue;
        }
        let mut event: Event = match serde_json::from_str(row.get_ref(2)?.as_str()?) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%session, seq, %error, "what was left of a message can't be read");
                continue;
            }
        };
        let Some(begun) = text_of(&mut event) else { continue };
        *begun = text;
        envelopes.push(Envelope {
            session: session.clone(),
            turn: row.get::<_, Option<i64>>(1)?.map(|turn| TurnId(count(turn))),
            seq,
            event,
        });
    }
    Ok(envelopes)
}
