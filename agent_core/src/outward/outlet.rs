//! The channel out of the core, bounded in bytes.
//!
//! The channel itself never blocks a sender. Whoever streams waits in [`Outlet::wait_for_room`] *before* it takes any
//! lock, and a cancel ends that wait; so a surface that does not read slows its turn down and can still cancel it.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::{Condvar, Mutex};

use super::Outward;
use super::weight::weight;
use crate::cancel::Cancel;

/// The bytes that may wait for a surface before whoever streams has to wait.
pub const ROOM: usize = 1024 * 1024;

/// The core's end of the channel. Clones share it.
#[derive(Clone)]
pub struct Outlet {
    parcels: Sender<Parcel>,
    gauge: Arc<Gauge>,
}

/// One thing on its way; its room is free again when it is dropped.
pub struct Parcel {
    outward: Option<Outward>,
    size: usize,
    gauge: Arc<Gauge>,
}

#[derive(Default)]
struct Gauge {
    state: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: usize,
    /// Of them: bytes of parcels that are held back behind a replay.
    held: usize,
    /// Threads in [`Gauge::wait`], so that a parcel's end needs to wake nobody in the common case.
    waiters: usize,
}

/// Makes the channel. Ends when either side is dropped: what is still on its way then frees its room.
pub fn outlet() -> (Outlet, Receiver<Parcel>) {
    let (parcels, inlet) = unbounded();
    let gauge = Arc::default();
    (Outlet { parcels, gauge }, inlet)
}

impl Outlet {
    /// Puts something on its way. Never blocks; at a surface that is gone it is dropped.
    pub fn send(&self, outward: Outward) {
        self.deliver(self.pack(outward));
    }

    /// Takes the room for something that will be delivered later.
    pub(crate) fn pack(&self, outward: Outward) -> Parcel {
        let size = weight(&outward);
        self.gauge.state.lock().bytes += size;
        Parcel {
            outward: Some(outward),
            size,
            gauge: self.gauge.clone(),
        }
    }

    /// Puts something packed on its way.
    pub(crate) fn deliver(&self, parcel: Parcel) {
        // An error means that the surface is gone; the parcel comes back in it and frees its room.
        let _ = self.parcels.send(parcel);
    }

    /// Waits until less than [`ROOM`] bytes wait, or until a cancel.
    pub fn wait_for_room(&self, cancel: &Cancel) {
        self.wait(|waiting| waiting.bytes < ROOM, cancel);
    }

    /// The same for a replay: what is held back behind it can't leave before it, and so does not count.
    pub(crate) fn wait_for_replay(&self) {
        self.wait(|waiting| waiting.bytes < ROOM + waiting.held, &Cancel::new());
    }

    /// Counts a parcel as held back.
    pub(crate) fn hold(&self, parcel: &Parcel) {
        self.gauge.state.lock().held += parcel.size;
        self.gauge.room.notify_all();
    }

    /// Puts a parcel on its way that was held back.
    pub(crate) fn release(&self, parcel: Parcel) {
        self.gauge.state.lock().held -= parcel.size;
        self.deliver(parcel);
    }

    fn wait(&self, has_room: impl Fn(&Waiting) -> bool, cancel: &Cancel) {
        let is_full = !has_room(&self.gauge.state.lock());
        if is_full {
            let gauge = self.gauge.clone();
            let _wake_up = cancel.on_cancel(move || gauge.wake());
            self.gauge.wait(has_room, cancel);
        }
    }
}

impl Gauge {
    fn wait(&self, has_room: impl Fn(&Waiting) -> bool, cancel: &Cancel) {
        let mut state = self.state.lock();
        state.waiters += 1;
        while !has_room(&state) && !cancel.is_set() {
            self.room.wait(&mut state);
        }
        state.waiters -= 1;
    }

    /// Takes the lock first, so that a waiter has either seen the cancel or hears this.
    fn wake(&self) {
        let _state = self.state.lock();
        self.room.notify_all();
    }
}

impl Parcel {
    /// Takes the content out; its room stays taken until the parcel is dropped.
    pub fn take(&mut self) -> Option<Outward> {
        self.outward.take()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let mut state = self.gauge.state.lock();
        state.bytes -= self.size;
        if state.waiters > 0 {
            self.gauge.room.notify_all();
        }
    }
}
