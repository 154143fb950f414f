//! Random walks: whatever a client does, in whatever order, some things stay true. Each request has one answer and each
//! call one end, nothing follows the answer to a prompt, nothing runs without an allow, and at rest nothing is kept.
//!
//! Those of `undo` are of another kind: one thing after the other, and a model of all of it.
//!
//! Reading order: `steps` (what a client can do, as data), `generator` (a walk of a seed), `model`, `client`, `answers`
//! (what is said), `waits`, `hears`, `calls`, `transcript` (what comes, and whether it may), `rest` (the end), `hunt`.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a failed walk shows the seed that repeats it")]

mod agent;
mod answers;
mod calls;
mod client;
mod generator;
mod hears;
mod hunt;
mod lines;
mod model;
mod requests;
mod rest;
mod steps;
mod tally;
mod transcript;
mod undo;
mod waits;

use std::env;

use generator::Ground;
use tally::Tally;

/// What some hundred walks meet, so that none of what they check is checked of nothing.
const MET: [&str; 47] = [
    "allows after a question was taken back",
    "allows after an answer",
    "answers to nothing",
    "calls of a server allowed",
    "cancelled calls",
    "cancelled prompts",
    "cancelled turns",
    "cancels at some moment of a turn",
    "cancels of queues",
    "cancels while a question is open",
    "cancels while something goes on",
    "cancels while the editor is asked",
    "cancels without a turn",
    "commands allowed",
    "commands closed",
    "commands rejected",
    "commands rejected, then allowed",
    "edits allowed",
    "edits allowed always",
    "edits allowed, then rejected",
    "edits answered with an error",
    "edits answered with an option that there is not",
    "edits answered without sense",
    "edits closed",
    "edits rejected",
    "edits rejected, then allowed",
    "elicitation/create served",
    "ends with something open",
    "failed turns",
    "forks",
    "fs/read_text_file refused",
    "fs/read_text_file served",
    "fs/write_text_file refused",
    "fs/write_text_file served",
    "late answers",
    "loads at rest",
    "loads during a turn",
    "loads of a longer past",
    "odd lines",
    "prompts during a turn",
    "requests taken back",
    "session/close during a turn",
    "session/delete during a turn",
    "terminal/create served",
    "terminal/kill",
    "things done",
    "walks at rest",
];

/// The same for a few walks of the binary.
const MET_BY_FEW: [&str; 9] = [
    "cancelled turns",
    "edits allowed",
    "ends with something open",
    "kills with something open",
    "loads at rest",
    "prompts during a turn",
    "things done",
    "turns to their end",
    "walks at rest",
];

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// The same for walks of taking turns back.
const MET_BY_UNDO: [&str; 5] = ["changes by others", "loads", "redos", "turns", "undos"];
const MET_BY_KILLED: [&str; 4] = ["redos", "turns", "undos", "undos killed"];

fn check(ground: Ground, usual: u64, at_once: usize, met: &[&'static str]) {
    check_by(usual, met, |first, count| hunt::hunt(first, count, at_once, ground));
}

fn check_undo(ground: Ground, usual: u64, at_once: usize, met: &[&'static str]) {
    let walk = |seed| undo::walk(seed, ground);
    check_by(usual, met, |first, count| hunt::all(first, count, at_once, &walk));
}

fn check_by(usual: u64, met: &[&'static str], hunt: impl FnOnce(u64, u64) -> Result<Tally, String>) {
    let seed = number("WALK_SEED");
    let first = seed.unwrap_or_else(|| fastrand::u64(..u64::MAX / 2));
    let count = number("WALKS").unwrap_or(if seed.is_some() { 1 } else { usual });
    println!("WALK_SEED={first}");
    match hunt(first, count) {
        Err(report) => panic!("{report}"),
        Ok(tally) => {
            println!("{tally:#?}");
            let rare = tally.rare(met, if count > usual { 3 } else { 1 });
            assert!(count < usual || rare.is_empty(), "these walks met too little: {rare:?}");
        }
    }
}

#[test]
fn whatever_a_client_does_some_things_stay_true() {
    check(Ground::Inside, 300, 4, &MET);
}

#[test]
fn whatever_a_client_does_to_the_built_binary_the_same_stays_true() {
    check(Ground::Binary, 24, 2, &MET_BY_FEW);
}

#[test]
fn whatever_is_taken_back_files_and_conversation_are_what_they_were() {
    check_undo(Ground::Inside, 60, 4, &MET_BY_UNDO);
}

#[test]
fn whatever_is_taken_back_the_same_is_true_of_the_built_binary_that_is_killed() {
    check_undo(Ground::Binary, 10, 2, &MET_BY_KILLED);
}
