//! What files held before they were changed: bytes beside the event that names them, bounded for each session.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::blob::{self, Bytes};
use super::value::count;
use super::{Store, StoreError};
use crate::event::{Event, Hash};
use crate::id::SessionId;

/// Bytes on their way into the database, with the events that name them.
pub(super) struct Keeping {
    bytes: Vec<Bytes>,
    /// So many bytes a session may keep; of more, those that were kept first go.
    limit: u64,
}

impl Keeping {
    pub(super) fn new(bytes: Vec<Arc<[u8]>>, limit: u64) -> Self {
        Self {
            bytes: bytes.into_iter().map(Bytes::new).collect(),
            limit,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.iter().map(Bytes::len).sum()
    }

    /// The bytes with this hash, if they are among these.
    pub(super) fn find(&self, hash: &Hash) -> Option<Arc<[u8]>> {
        self.bytes.iter().find(|bytes| bytes.has(hash)).map(Bytes::bytes)
    }

    /// Stores the bytes, before the events that name them.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.bytes.iter().try_for_each(|bytes| blob::write(connection, bytes))
    }

    /// Lets go what a session has kept beyond its limit.
    pub(super) fn make_room(&self, connection: &Connection, session: &SessionId) -> rusqlite::Result<()> {
        if used(connection, session)? <= self.limit {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let mut room = Some(self.limit);
        for hash in kept(connection, session)? {
            let Some(size) = size(connection, &hash)?.filter(|_| seen.insert(hash.clone())) else {
                continue;
            };
            // What is older than something that has no room has none either.
            room = room.and_then(|room| room.checked_sub(size));
            if room.is_none() {
                let_go(connection, session, &hash)?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// Whether bytes under this hash are there, and are others than those that were kept.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn is_damaged(&self, hash: &Hash) -> Result<bool, StoreError> {
        self.database().read("what a file held".to_owned(), |connection| {
            blob::is_damaged(connection, hash)
        })
    }

    /// The bytes that were kept under this hash; none where they are not kept any more, or are damaged.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn kept(&self, hash: &Hash) -> Result<Option<Arc<[u8]>>, StoreError> {
        let waiting = self.database().queue.appends(None);
        let mut keeping = waiting.iter().filter_map(|entry| entry.append()?.keeping.as_ref());
        if let Some(bytes) = keeping.find_map(|keeping| keeping.find(hash)) {
            return Ok(Some(bytes));
        }
        self.database()
            .read("what a file held".to_owned(), |connection| read(connection, hash))
    }
}

/// The bytes with this hash, if they are still kept.
fn read(connection: &Connection, hash: &Hash) -> rusqlite::Result<Option<Arc<[u8]>>> {
    blob::read(connection, hash.hex())
}

/// Bytes that a session uses, its pictures included.
fn used(connection: &Connection, session: &SessionId) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(length(bytes)), 0) FROM blob_uses JOIN blobs USING (sha256) WHERE session_id = ?1",
        )?
        .query_row([session.as_str()], |row| Ok(count(row.get(0)?)))
}

/// What a session has kept of files, the newest first.
fn kept(connection: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Hash>> {
    let mut statement = connection.prepare_cached(
        "SELECT body FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) AND kind = 'files_kept' \
         ORDER BY seq DESC",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let mut hashes = Vec::new();
    while let Some(row) = rows.next()? {
        // A row that can't be read is passed over here as it is everywhere.
        if let Ok(Event::FilesKept { files, .. }) = serde_json::from_slice(row.get_ref(0)?.as_bytes()?) {
            hashes.extend(files.into_iter().filter_map(|file| Some(file.before?.data)));
        }
    }
    Ok(hashes)
}

fn size(connection: &Connection, hash: &Hash) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT length(bytes) FROM blobs WHERE sha256 = ?1")?
        .query_row([hash.hex()], |row| Ok(count(row.get(0)?)))
        .optional()
}

/// Ends a session's use of bytes, unless a picture of its messages has the same ones.
fn let_go(connection: &Connection, session: &SessionId, hash: &Hash) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM blob_uses WHERE sha256 = ?2 AND session_id = ?1 AND NOT EXISTS \
             (SELECT 1 FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?1) \
             AND kind <> 'files_kept' AND instr(body, ?3) > 0)",
        )?
        .execute(params![session.as_str(), hash.hex(), hash.to_string()])?;
    Ok(())
}
