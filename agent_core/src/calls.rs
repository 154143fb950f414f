//! A reply's tool calls: announced, planned, judged, run, ended.
//!
//! The turn's thread is the only one that emits. Each lane (the calls of one tool, in order) is a named thread that
//! plans and runs; between the two it waits for a go. Calls that only read go side by side; any other begins when all
//! before it have ended and ends before any after it begins.

mod announce;
mod guard;
mod lane;
mod question;
mod wave;

use crate::provider::Call;
use crate::turn::Turn;

use announce::{Announced, announce};
use wave::Wave;

/// The most calls that one reply may make: more could not be shown, asked about or cancelled in time.
pub(crate) const MOST: usize = 128;

/// Runs a reply's calls. When it returns, each of them has its end.
pub(crate) fn run(turn: &mut Turn<'_>, calls: Vec<Call>) {
    let tools = turn.tools();
    let announced: Vec<Announced> = calls.into_iter().map(|call| announce(turn, &tools, call)).collect();
    for wave in waves(announced) {
        Wave::begin(turn, wave).run();
    }
}

/// Calls that may run at the same time: a run of reads, or one other.
fn waves(calls: Vec<Announced>) -> Vec<Vec<Announced>> {
    let mut waves: Vec<Vec<Announced>> = Vec::new();
    let mut reading = false;
    for call in calls {
        let reads = call.only_reads();
        match waves.last_mut() {
            Some(wave) if reading && reads => wave.push(call),
            Some(_) | None => waves.push(vec![call]),
        }
        reading = reads;
    }
    waves
}
