//! A reply's tool calls: announced, planned, judged, run, ended.
//!
//! The turn's thread is the only one that emits. Each lane (the calls of one tool, in order) is a named thread that
//! plans and runs; between the two it waits for a go. Calls that only read go side by side; any other begins when all
//! before it have ended and ends before any after it begins.

mod announce;
mod guard;
mod lane;
mod open;
mod question;
mod repeats;
mod wave;

use crate::event::CallInput;
use crate::provider::Call;
use crate::turn::Turn;

use announce::{Announced, announce};
pub(crate) use repeats::Repeats;
use wave::Wave;

/// The most calls that one reply may make: more could not be shown, asked about or cancelled in time.
pub(crate) const MOST: usize = 128;

/// Runs a reply's calls. When it returns, each of them has its end. Says whether the model goes round in circles, so that
/// the turn should end.
pub(crate) fn run(turn: &mut Turn<'_>, calls: Vec<Call>) -> bool {
    let tools = turn.tools();
    // Looking again at something that goes on is no circle.
    let waits = |call: &Call| match &call.input {
        CallInput::Json(input) => tools
            .iter()
            .any(|tool| tool.spec().name == call.name && tool.may_repeat(input)),
        CallInput::Malformed(_) => false,
    };
    let counts = !calls.is_empty() && !calls.iter().any(waits);
    let is_stuck = counts && turn.repeats.is_stuck(&calls);
    let announced: Vec<Announced> = calls
        .iter()
        .map(|call| {
            let mut announced = announce(turn, &tools, call.clone());
            if is_stuck {
                announced.work = Err(repeats::STUCK.to_owned());
            }
            announced
        })
        .collect();
    for wave in waves(announced) {
        Wave::begin(turn, wave).run();
    }
    if is_stuck {
        return turn.repeats.refused();
    }
    if counts {
        let results = turn.history.last_results();
        turn.repeats.made(&calls, results);
    }
    false
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
