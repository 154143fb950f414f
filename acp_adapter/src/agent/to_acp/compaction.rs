//! Room that was made in the model's context, for clients that show it.

use agent_client_protocol_schema::v1::{CompactionStatus, CompactionSummaryChunk, CompactionUpdate, SessionUpdate};
use agent_core::event::Compaction;

use super::content::LARGEST;
use super::text;

/// A compaction with its summary, in pieces, which is the same now and in a replay: its row names it.
pub(super) fn shown(seq: u64, what: &Compaction) -> Vec<SessionUpdate> {
    let id = format!("compaction-{seq}");
    let update = |status| SessionUpdate::CompactionUpdate(CompactionUpdate::new(id.clone(), status));
    let summary = match what {
        Compaction::Summary { text } => &text[..text.floor_char_boundary(LARGEST)],
        Compaction::Outputs | Compaction::Pictures => return vec![update(CompactionStatus::Completed)],
    };
    let chunks = text::pieces(summary)
        .map(|piece| SessionUpdate::CompactionSummaryChunk(CompactionSummaryChunk::new(id.clone(), piece.into())));
    std::iter::once(update(CompactionStatus::InProgress))
        .chain(chunks)
        .chain([update(CompactionStatus::Completed)])
        .collect()
}
