//! The model's to-do list: by its name for clients that know plans by their names, else as the session's plan.

use agent_client_protocol_schema::v1::{
    Plan, PlanEntry as WirePlanEntry, PlanEntryPriority, PlanEntryStatus, PlanRemoved, PlanUpdate, PlanUpdateContent,
    SessionUpdate,
};
use agent_core::event::{PlanEntry, PlanStatus};

use super::text;
use crate::agent::handshake::Client;

/// Entries of a to-do list that are shown.
const ENTRIES: usize = 200;

/// Bytes of a to-do entry that are shown.
const ENTRY: usize = 1024;

/// The name of the one list that a session has.
const NAME: &str = "todo";

/// The whole list; one without entries is taken off the screen.
pub(super) fn shown(entries: &[PlanEntry], client: &Client) -> SessionUpdate {
    let entries = wire(entries);
    match (client.plan, entries.is_empty()) {
        (false, _) => SessionUpdate::Plan(Plan::new(entries)),
        (true, true) => SessionUpdate::PlanRemoved(PlanRemoved::new(NAME)),
        (true, false) => SessionUpdate::PlanUpdate(PlanUpdate::new(PlanUpdateContent::items(NAME, entries))),
    }
}

fn wire(entries: &[PlanEntry]) -> Vec<WirePlanEntry> {
    let left_out = entries.len().saturating_sub(ENTRIES);
    let more = (left_out > 0).then(|| {
        let text = format!("… and {left_out} more");
        WirePlanEntry::new(text, PlanEntryPriority::Low, PlanEntryStatus::Pending)
    });
    let entries = entries.iter().take(ENTRIES).filter_map(|entry| {
        let status = match entry.status {
            PlanStatus::Pending => PlanEntryStatus::Pending,
            PlanStatus::InProgress => PlanEntryStatus::InProgress,
            PlanStatus::Completed => PlanEntryStatus::Completed,
            // The protocol has no word for it.
            PlanStatus::Cancelled => return None,
        };
        Some(WirePlanEntry::new(
            text::cut_to(&entry.content, ENTRY),
            PlanEntryPriority::Medium,
            status,
        ))
    });
    entries.chain(more).collect()
}
