//! Cancel: one switch that a turn and everything it waits for can see.
//!
//! Blocking code selects on [`Cancel::closed`], loops ask [`Cancel::is_set`], and an async edge registers its own
//! wake-up with [`Cancel::on_cancel`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

/// A switch that is set once. Clones share it.
#[derive(Clone)]
pub struct Cancel(Arc<Inner>);

struct Inner {
    set: AtomicBool,
    /// Never sent on: it closes when the sender is taken, which wakes every receiver.
    closed: Receiver<()>,
    state: Mutex<State>,
}

struct State {
    keep_open: Option<Sender<()>>,
    wake_ups: Vec<(u64, WakeUp)>,
    next: u64,
}

type WakeUp = Box<dyn FnOnce() + Send>;

impl Cancel {
    /// A switch that is not set.
    pub fn new() -> Self {
        let (keep_open, closed) = bounded(0);
        Self(Arc::new(Inner {
            set: AtomicBool::new(false),
            closed,
            state: Mutex::new(State {
                keep_open: Some(keep_open),
                wake_ups: Vec::new(),
                next: 0,
            }),
        }))
    }

    /// Sets the switch and runs the wake-ups on this thread. A second call changes nothing.
    pub fn set(&self) {
        if self.0.set.swap(true, Ordering::SeqCst) {
            return;
        }
        let wake_ups = {
            let mut state = self.0.state.lock();
            state.keep_open = None;
            std::mem::take(&mut state.wake_ups)
        };
        for (_, wake_up) in wake_ups {
            wake_up();
        }
    }

    /// Whether the switch is set.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// A channel that carries nothing and disconnects when the switch is set; for `select!`.
    pub fn closed(&self) -> &Receiver<()> {
        &self.0.closed
    }

    /// Runs `wake_up` once when the switch is set, at once if it is set already. Dropping the guard takes it back.
    pub fn on_cancel(&self, wake_up: impl FnOnce() + Send + 'static) -> WakeUpGuard {
        let id = {
            let mut state = self.0.state.lock();
            let id = state.next;
            state.next += 1;
            if state.keep_open.is_some() {
                state.wake_ups.push((id, Box::new(wake_up)));
                return WakeUpGuard {
                    cancel: self.clone(),
                    id,
                };
            }
            id
        };
        wake_up();
        WakeUpGuard {
            cancel: self.clone(),
            id,
        }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps a wake-up registered.
#[must_use = "dropping the guard takes the wake-up back"]
pub struct WakeUpGuard {
    cancel: Cancel,
    id: u64,
}

impl Drop for WakeUpGuard {
    fn drop(&mut self) {
        self.cancel.0.state.lock().wake_ups.retain(|(id, _)| *id != self.id);
    }
}
