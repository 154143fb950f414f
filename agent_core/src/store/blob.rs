//! Images inside events: taken out before an event is stored, put back when it is read.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use crate::content::{Blob, Content};
use crate::event::{Event, Hash};

/// Bytes under their hash.
pub(super) struct Bytes {
    hash: Hash,
    bytes: Arc<[u8]>,
}

impl Bytes {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        let hash = Hash::of(&bytes);
        Self { hash, bytes }
    }

    pub(super) fn has(&self, hash: &Hash) -> bool {
        self.hash == *hash
    }

    pub(super) fn bytes(&self) -> Arc<[u8]> {
        self.bytes.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Whether there is anything to take out.
pub(super) fn has_images(event: &Event) -> bool {
    lists(event)
        .iter()
        .any(|list| list.iter().any(|piece| matches!(piece, Content::Image { .. })))
}

/// Takes the bytes of all images out and leaves their hashes.
pub(super) fn take_out(event: &mut Event) -> Vec<Bytes> {
    let mut taken = Vec::new();
    for blob in blobs(event) {
        if let Blob::Inline(bytes) = blob {
            let bytes = Bytes::new(bytes.clone());
            *blob = Blob::Stored(bytes.hash.hex().to_owned());
            taken.push(bytes);
        }
    }
    taken
}

/// Puts the bytes of all images back. One that is gone stays a hash, and its message can still be read.
pub(super) fn put_back(connection: &Connection, event: &mut Event) -> rusqlite::Result<()> {
    for blob in blobs(event) {
        if let Blob::Stored(sha256) = blob {
            match read(connection, sha256)? {
                Some(bytes) => *blob = Blob::Inline(bytes),
                None => tracing::warn!(sha256, "an image is missing in the store"),
            }
        }
    }
    Ok(())
}

/// Stores bytes, once. What is there already may be damaged.
pub(super) fn write(connection: &Connection, bytes: &Bytes) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO blobs (sha256, bytes) VALUES (?1, ?2) \
         ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes",
        params![bytes.hash.hex(), &*bytes.bytes],
    )?;
    Ok(())
}

/// Reads bytes by the hash in hexadecimal. Bytes that it does not stand for are as good as gone.
pub(super) fn read(connection: &Connection, sha256: &str) -> rusqlite::Result<Option<Arc<[u8]>>> {
    let bytes = stored(connection, sha256)?;
    if bytes.as_deref().is_some_and(|bytes| Hash::of(bytes).hex() != sha256) {
        tracing::error!(
            sha256,
            "stored bytes are damaged: `agent doctor --repair` says what is lost"
        );
        return Ok(None);
    }
    Ok(bytes)
}

/// Whether bytes are there that their hash does not stand for.
pub(super) fn is_damaged(connection: &Connection, hash: &Hash) -> rusqlite::Result<bool> {
    let bytes = stored(connection, hash.hex())?;
    Ok(bytes.is_some_and(|bytes| Hash::of(&bytes) != *hash))
}

fn stored(connection: &Connection, sha256: &str) -> rusqlite::Result<Option<Arc<[u8]>>> {
    connection
        .query_row("SELECT bytes FROM blobs WHERE sha256 = ?1", [sha256], |row| {
            Ok(row.get_ref(0)?.as_blob()?.into())
        })
        .optional()
}

fn blobs(event: &mut Event) -> impl Iterator<Item = &mut Blob> {
    lists_mut(event).into_iter().flatten().filter_map(|piece| match piece {
        Content::Image { data, .. } => Some(data),
        Content::Text { .. } | Content::Resource { .. } | Content::Link { .. } => None,
    })
}

/// The lists of an event that may hold images.
fn lists(event: &Event) -> [&[Content]; 2] {
    match event {
        Event::UserMessage { content, context, .. } | Event::UserSteered { content, context, .. } => [content, context],
        Event::ToolFinished { outcome, .. } => [&outcome.output.images, &[]],
        Event::AgentText { .. }
        | Event::AgentThought { .. }
        | Event::ToolStarted { .. }
        | Event::ToolPlanned { .. }
        | Event::ToolProgress { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::PlanUpdated { .. }
        | Event::StepFinished { .. }
        | Event::Notice { .. }
        | Event::Compacted { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => [&[], &[]],
    }
}

/// The same lists as [`lists`], to be changed.
fn lists_mut(event: &mut Event) -> [&mut [Content]; 2] {
    match event {
        Event::UserMessage { content, context, .. } | Event::UserSteered { content, context, .. } => [content, context],
        Event::ToolFinished { outcome, .. } => [&mut outcome.output.images, &mut []],
        Event::AgentText { .. }
        | Event::AgentThought { .. }
        | Event::ToolStarted { .. }
        | Event::ToolPlanned { .. }
        | Event::ToolProgress { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::PlanUpdated { .. }
        | Event::StepFinished { .. }
        | Event::Notice { .. }
        | Event::Compacted { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => [&mut [], &mut []],
    }
}
