//! Parts of long messages, stored before their end so that a kill loses little of them.

use std::mem;
use std::time::Instant;

use super::{IDLE, Writer};
use crate::store::Durability;
use crate::store::message::Pending;

impl Writer {
    /// Stores the text of open messages that is due. What can't be stored is tried again later.
    pub(super) fn store_pieces(&mut self, now: Instant) {
        let (ready, later): (Vec<_>, Vec<_>) = mem::take(&mut self.due).into_iter().partition(|(at, _)| *at <= now);
        self.due = later;
        // In order: what waits before them may be the claim of their session.
        if let Some((at, _)) = self.retry {
            self.due.extend(ready.into_iter().map(|(_, pending)| (at, pending)));
            return;
        }
        for (_, pending) in ready {
            if !self.may_write() {
                continue;
            }
            if self.closed.0.lock().is_some() {
                self.due.push((now + IDLE, pending));
                continue;
            }
            match self.store_piece(&pending) {
                Ok(()) => self.dirty = true,
                Err(error) => {
                    tracing::debug!(%error, "can't store a piece of a message now");
                    self.due.push((now + IDLE, pending));
                }
            }
        }
    }

    fn store_piece(&mut self, pending: &Pending) -> rusqlite::Result<()> {
        self.set_durability(Durability::Process)?;
        // A single statement is a transaction of its own and takes the write lock at its start.
        pending.store(&self.connection.lock(), &self.holding.process)
    }
}
