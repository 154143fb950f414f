//! When a run ends in any case. The thread that follows a turn also prints, and may hang in that for good, as when
//! nobody reads our output; so the limit is kept by the thread that takes the signals.

use std::process;
use std::time::Duration;

use crate::exit::{self, Exit};
use crate::signals::Signal;

/// What a second signal leaves the run: the runtime promises to shut down in 2 s.
const AGAIN: Duration = Duration::from_secs(3);
/// What the first request to end the process leaves it: the turn is cancelled, and what still comes of it is shown.
const TERMINATE: Duration = Duration::from_secs(3);

/// Counts the signals of a run.
#[derive(Default)]
pub(super) struct Limit {
    signals: u32,
}

impl Limit {
    /// Takes a signal, and ends the process once its time is over.
    pub(super) fn heard(&mut self, signal: Signal) {
        self.signals += 1;
        match after(self.signals, signal) {
            None => {}
            Some(Duration::ZERO) => end(),
            Some(time) => exit::after(time, Exit::Interrupted).unwrap_or_else(|_no_thread| end()),
        }
    }
}

/// The time that is left after the signal of this number; none where it sets no limit.
fn after(number: u32, signal: Signal) -> Option<Duration> {
    match (number, signal) {
        (0 | 1, Signal::Interrupt) => None,
        (0 | 1, Signal::Terminate) => Some(TERMINATE),
        (2, Signal::Interrupt | Signal::Terminate) => Some(AGAIN),
        (_, Signal::Interrupt | Signal::Terminate) => Some(Duration::ZERO),
    }
}

fn end() {
    process::exit(Exit::Interrupted.code().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ctrl_c_cancels_and_each_further_signal_leaves_less_time() {
        use Signal::{Interrupt, Terminate};
        let check = |number, signal, expect| assert_eq!(after(number, signal), expect);
        check(1, Interrupt, None);
        check(1, Terminate, Some(TERMINATE));
        check(2, Interrupt, Some(AGAIN));
        check(2, Terminate, Some(AGAIN));
        check(3, Interrupt, Some(Duration::ZERO));
    }
}
