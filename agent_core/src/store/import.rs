//! A session that comes from elsewhere, stored as if it had happened here: under its own numbers and times, with its
//! pictures and its place in the index, whole or not at all.

use rusqlite::Connection;

use super::append::{EventRow, insert_row};
use super::blob::Bytes;
use super::index::{self, Indexing};
use super::passage::OwnTurns;
use super::queue::Fault;
use super::record::Dated;
use super::{SessionRecord, append, location, session, titles};
use crate::event::{Envelope, Event, SessionChange};

/// A session with all its rows.
#[derive(Clone, Debug)]
pub struct Import {
    /// The session; what its rows say of it is counted anew.
    pub record: SessionRecord,
    /// Its rows, in order.
    pub rows: Vec<Dated>,
}

/// The rows as the database takes them.
pub(super) struct Importing {
    pub(super) record: SessionRecord,
    rows: Vec<(Dated, EventRow)>,
}

impl Importing {
    pub(super) fn new(import: Import) -> Result<Self, serde_json::Error> {
        let mut own = OwnTurns::default();
        let row = |dated: Dated| {
            let is_own = own.take(&dated.envelope);
            let row = EventRow::new(&dated.envelope.event, is_own)?;
            Ok((dated, row))
        };
        Ok(Self {
            record: import.record,
            rows: import.rows.into_iter().map(row).collect::<Result<_, _>>()?,
        })
    }

    /// Roughly the bytes it takes in memory.
    pub(super) fn size(&self) -> usize {
        const FLAT: usize = 256;
        let row =
            |(_, row): &(Dated, EventRow)| FLAT + 2 * row.body.len() + row.bytes.iter().map(Bytes::len).sum::<usize>();
        self.rows.iter().map(row).sum()
    }
}

/// Stores it. The caller's transaction.
pub(super) fn write(connection: &Connection, import: &Importing, indexing: Indexing) -> Result<(), Fault> {
    let id = &import.record.id;
    if session::read(connection, id)?.is_some() {
        return Err(Fault::Refused(format!("there is a session {id} already")));
    }
    let wanted = import.record.title.clone();
    let title = match &wanted {
        Some(wanted) => Some(titles::free(connection, wanted, id)?),
        None => None,
    };
    let mut record = SessionRecord {
        title: title.clone(),
        ..import.record.clone()
    };
    session::insert(connection, &record, &location::real(&record.cwd))?;
    let mut folded = empty(&record);
    let key = session::key(connection, id)?;
    let mut activity = append::last_row(connection)?;
    for (dated, row) in &import.rows {
        activity = store(connection, key, dated, row, indexing)?;
        session::fold(&mut folded, &dated.envelope, dated.at_ms);
    }
    if let Some(title) = title.filter(|title| wanted.as_ref() != Some(title)) {
        let dated = renamed(&folded, record.updated_ms, title);
        let row = EventRow::new(&dated.envelope.event, false)
            .map_err(|error| Fault::Refused(format!("a title has no JSON form ({error})")))?;
        activity = store(connection, key, &dated, &row, indexing)?;
        session::fold(&mut folded, &dated.envelope, dated.at_ms);
    }
    record.messages = folded.messages;
    record.last_seq = folded.last_seq;
    record.last_turn = folded.last_turn;
    record.context = folded.context;
    session::update(connection, &record, None, activity)?;
    Ok(())
}

fn store(connection: &Connection, key: i64, dated: &Dated, row: &EventRow, indexing: Indexing) -> Result<i64, Fault> {
    let id = insert_row(connection, key, &dated.envelope, row, dated.at_ms)?;
    if let (Indexing::On, Some((role, text))) = (indexing, &row.found) {
        index::add(connection, id, *role, text).map_err(Fault::of_index)?;
    }
    Ok(id)
}

/// The session without what its rows are counted into.
fn empty(record: &SessionRecord) -> SessionRecord {
    SessionRecord {
        messages: 0,
        context: None,
        last_seq: 0,
        last_turn: 0,
        ..record.clone()
    }
}

fn renamed(record: &SessionRecord, at_ms: i64, title: String) -> Dated {
    Dated {
        at_ms,
        envelope: Envelope {
            session: record.id.clone(),
            turn: None,
            seq: record.last_seq + 1,
            event: Event::SessionChanged {
                change: SessionChange::Title(title),
            },
        },
    }
}
