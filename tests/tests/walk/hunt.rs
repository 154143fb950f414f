//! Walks one walk, or many; of one that fails, finds the few steps that are enough for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::agent::Place;
use crate::client::Client;
use crate::generator::{Ground, generate};
use crate::steps::Walk;
use crate::tally::Tally;

/// What was said last, of a walk that failed.
const SHOWN: usize = 80;
/// How much of each line of it.
const WIDTH: usize = 500;
/// Walks that are walked to find fewer steps.
const TRIES: usize = 300;
/// Times that fewer steps are walked before they count as too few: some faults need luck.
const LUCK: usize = 3;

/// Why a walk failed, and what was said.
pub(crate) struct Fault {
    why: String,
    log: Vec<String>,
}

/// Walks a walk.
pub(crate) fn walk(walk: &Walk, ground: Ground) -> Result<Tally, Fault> {
    let place = Place::new(ground, walk.serves);
    let mut client = Client::new(&place, walk.abilities);
    let walked = catch_unwind(AssertUnwindSafe(|| {
        client.greet()?;
        for (number, step) in walk.steps.iter().enumerate() {
            client.step(number, step)?;
        }
        client.end(walk.end)
    }));
    let result = walked.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    });
    match result {
        Ok(()) => Ok(client.tally),
        Err(why) => Err(Fault { why, log: client.log }),
    }
}

/// Walks so many walks, some at a time; the tally of all, or a report of the first that failed.
pub(crate) fn hunt(first: u64, count: u64, at_once: usize, ground: Ground) -> Result<Tally, String> {
    let one = |seed| {
        let path = generate(seed, ground);
        walk(&path, ground).map_err(|fault| (path, fault))
    };
    all(first, count, at_once, &one).map_err(|(path, fault)| report(path, fault, ground))
}

/// Walks the walks of so many seeds, some at a time; the tally of all, or what the first said that failed.
pub(crate) fn all<E: Send>(
    first: u64,
    count: u64,
    at_once: usize,
    walk: &(impl Fn(u64) -> Result<Tally, E> + Sync),
) -> Result<Tally, E> {
    let next = AtomicU64::new(0);
    let found = Mutex::new((Tally::default(), None));
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || lock().1.is_some() {
                return;
            }
            match walk(first.wrapping_add(number)) {
                Ok(tally) => lock().0.add(&tally),
                Err(fault) => {
                    lock().1.get_or_insert(fault);
                }
            }
        }
    };
    thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    let (tally, fault) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    fault.map_or(Ok(tally), Err)
}

/// What there is to say of a walk that failed.
fn report(path: Walk, fault: Fault, ground: Ground) -> String {
    let seed = path.seed;
    let first = fault.why.clone();
    let (path, fault) = shrink(path, fault, ground);
    let Fault { why, log } = fault;
    let said = log[log.len().saturating_sub(SHOWN)..].iter();
    let said: Vec<String> = said.map(|line| line.chars().take(WIDTH).collect()).collect();
    let said = said.join("\n");
    format!("WALK_SEED={seed} ({ground:?}): {first}\nIn fewer steps: {why}\n{path}\nWhat was said last:\n{said}")
}

/// Drops steps for as long as the rest still fails: halves first, single ones last.
fn shrink(mut path: Walk, mut fault: Fault, ground: Ground) -> (Walk, Fault) {
    let mut tries = 0;
    loop {
        let before = path.steps.len();
        let mut size = path.steps.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < path.steps.len() {
                let mut fewer = path.clone();
                fewer.steps.drain(from..(from + size).min(path.steps.len()));
                tries += LUCK;
                match (0..LUCK).find_map(|_| walk(&fewer, ground).err()) {
                    Some(same) => (path, fault) = (fewer, same),
                    None => from += size,
                }
                if tries > TRIES {
                    return (path, fault);
                }
            }
            size /= 2;
        }
        if path.steps.len() == before {
            return (path, fault);
        }
    }
}
