//! The memory of all prompts of a process that wait, whichever session they are in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of prompts that may wait in all.
pub(crate) const BACKLOG: usize = 256 << 20;

/// How much waits. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Backlog(Arc<AtomicUsize>);

/// What one prompt takes of it; free again when this is dropped.
pub(crate) struct Share {
    bytes: usize,
    backlog: Backlog,
}

impl Backlog {
    /// The share of a prompt that is about to begin, whatever else waits.
    pub(crate) fn hold(&self, bytes: usize) -> Share {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        self.share(bytes)
    }

    /// The share of a prompt that is going to wait; none if there is no room. Where nothing waits there is room for any.
    pub(crate) fn take(&self, bytes: usize) -> Option<Share> {
        let with_it = |waiting: usize| (waiting == 0 || waiting + bytes <= BACKLOG).then_some(waiting + bytes);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_it);
        taken.is_ok().then(|| self.share(bytes))
    }

    fn share(&self, bytes: usize) -> Share {
        let backlog = self.clone();
        Share { bytes, backlog }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.backlog.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_one_prompt_always_has_room() {
        let backlog = Backlog::default();
        let huge = backlog.take(2 * BACKLOG);
        assert!(huge.is_some() && backlog.take(1).is_none());
        drop(huge);
        let half = backlog.take(BACKLOG / 2);
        assert!(half.is_some() && backlog.take(BACKLOG / 2 + 1).is_none());
        let begins = backlog.hold(BACKLOG);
        assert!(backlog.take(1).is_none());
        drop(begins);
        assert!(backlog.take(BACKLOG / 2).is_some());
    }
}
