//! The index made anew for a search that has found it damaged.

use super::database::Database;
use super::error::SearchError;
use super::queue::{Outcome, Work};

impl Database {
    /// Has the index made anew and waits a moment for that. It is made once, however many searches ask, and where that
    /// has failed it would fail again.
    pub(super) fn mend_index(&self, damage: &rusqlite::Error) -> Result<(), SearchError> {
        const IN_WORK: &str = "With much history that takes a while.";
        if let Some(reason) = self.queue.broken_index() {
            return Err(SearchError::BrokenIndex { reason });
        }
        if self.queue.has_reindex() {
            let trouble = self.queue.trouble();
            let reason = trouble.map_or_else(|| IN_WORK.into(), |trouble| trouble.of_rows());
            return Err(SearchError::NoIndex { reason });
        }
        tracing::warn!(error = %damage, "the index of the history is made anew");
        match self.write(Work::Reindex) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Refused(reason)) => Err(SearchError::BrokenIndex { reason }),
            // Only sessions are held; the index is no session's.
            Ok(Outcome::Held(held)) => Err(SearchError::NoIndex {
                reason: held.not_saved(),
            }),
            Err(reason) => Err(SearchError::NoIndex { reason }),
        }
    }
}
