//! What is done while nothing waits to be written, and at the end.

use std::time::{Duration, Instant};

use super::{LAST_TRY, Writer};

impl Writer {
    pub(super) fn checkpoint(&mut self) {
        self.dirty = false;
        if self.path.is_some() && self.may_write() {
            self.move_log("PASSIVE");
        }
    }

    /// Moves the log into the database, as far as nobody reads it.
    pub(super) fn move_log(&self, how: &str) {
        let connection = self.connection.lock();
        let result = connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()));
        if let Err(error) = result {
            tracing::debug!(%error, "no checkpoint");
        }
    }

    /// From now on the log is moved long before it could fill the disk again by itself. Steps wait for that.
    pub(super) fn keep_log_small(&self) {
        const PAGES: i64 = 64;
        let kept = self.connection.lock().pragma_update(None, "wal_autocheckpoint", PAGES);
        if let Err(error) = kept {
            tracing::debug!(%error, "the log may fill the disk again");
        }
    }

    /// Writes what still waits, for a bounded time.
    pub(super) fn finish(mut self, patience: Duration) {
        let begun = Instant::now();
        let end = begun + LAST_TRY;
        self.retry = None;
        while self.may_write() {
            self.drain();
            let Some((at, _)) = self.retry else { break };
            let last = if self.is_busy { begun + patience } else { end };
            if at >= last {
                tracing::error!("the store ends with rows that could not be written");
                break;
            }
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
        }
        // What could not be written for so long is not waited for again.
        if self.retry.is_none() && self.may_write() {
            self.due.iter_mut().for_each(|(at, _)| *at = end);
            self.store_pieces(end);
            let released = self.holding.release(&mut self.connection.lock());
            if let Err(error) = released {
                tracing::debug!(%error, "the leases end with this process");
            }
        }
        if self.dirty {
            self.checkpoint();
        }
    }
}
