//! Many agents on one store, each in a session of its own; every now and then one of them is killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::ledger::{Ledger, brief};
use super::mortal::{Died, Mortal};
use super::tally::Tally;
use super::{agent_of, check_store, end, prompt};
use crate::client::Home;
use crate::process::signal;

/// The process of a worker while it may be killed; none as soon as it was.
type Pid = Mutex<Option<u32>>;

fn held(pid: &Pid) -> MutexGuard<'_, Option<u32>> {
    pid.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many agents at once, with so many answered turns each; one of them is killed after each `pause`.
pub fn crowd(agents: usize, turns: usize, pause: Duration, seed: u64) -> (Tally, Vec<Duration>) {
    let home = Home::new();
    let mut tally = Tally::new(format!(
        "{agents} processes x {turns} turns, a kill every {} ms, seed {seed}",
        pause.as_millis()
    ));
    let pids: Vec<Pid> = (0..agents).map(|_| Mutex::new(None)).collect();
    let times = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let mut ledgers = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..agents)
            .map(|number| {
                let (home, pid, times) = (&home, &pids[number], &times);
                let random = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
                scope.spawn(move || work(home, number, turns, pid, random, times))
            })
            .collect();
        let killer = scope.spawn(|| murder(&pids, pause, seed, &over));
        for worker in workers {
            let (ledger, own) = worker.join().expect("a worker does not panic");
            ledgers.push(ledger);
            tally.add(own);
        }
        over.store(true, Ordering::Relaxed);
        killer.thread().unpark();
    });
    if last_look(&home, &mut ledgers, &mut tally).is_err() {
        tally.fault("an agent died that nobody had killed".into());
    }
    end(home, &mut tally);
    let mut times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    times.sort();
    (tally, times)
}

fn murder(pids: &[Pid], pause: Duration, seed: u64, over: &AtomicBool) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut next = Instant::now() + pause;
    while !over.load(Ordering::Relaxed) {
        let left = next.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::park_timeout(left);
            continue;
        }
        next += pause;
        let mut pid = held(&pids[random.usize(..pids.len())]);
        if let Some(pid) = pid.take() {
            signal(pid, "KILL");
        }
    }
}

/// Works until so many turns are done, by one process after another.
fn work(
    home: &Home,
    number: usize,
    turns: usize,
    pid: &Pid,
    mut random: fastrand::Rng,
    times: &Mutex<Vec<Duration>>,
) -> (Ledger, Tally) {
    let mut tally = Tally::default();
    let mut ledger = None;
    loop {
        let mut agent = Mortal::start(agent_of(home));
        *held(pid) = Some(agent.pid());
        let lived = live(
            home,
            number,
            turns,
            &mut agent,
            &mut ledger,
            &mut random,
            &mut tally,
            times,
        );
        // From here on its number may be another process's.
        let was_killed = held(pid).take().is_none();
        agent.count(&mut tally);
        match lived {
            Ok(()) => {
                agent.kill();
                return (ledger.expect("it has worked"), tally);
            }
            Err(Died) => {
                tally.kills += 1;
                if !was_killed {
                    tally.fault("an agent died that nobody had killed".into());
                }
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of one worker")]
fn live(
    home: &Home,
    number: usize,
    turns: usize,
    agent: &mut Mortal,
    kept: &mut Option<Ledger>,
    random: &mut fastrand::Rng,
    tally: &mut Tally,
    times: &Mutex<Vec<Duration>>,
) -> Result<(), Died> {
    let cwd = home.workspace();
    agent.greet()?;
    if let Some(ledger) = kept {
        ledger.load(agent, &cwd, tally)?;
    }
    if kept.as_ref().is_none_or(|ledger| ledger.done() == 0) {
        *kept = Some(Ledger::begin(agent, &cwd)?);
    }
    let ledger = kept.as_mut().expect("it was just begun");
    while ledger.done() < turns {
        let name = format!("p{number}t{}", ledger.asked());
        let text = prompt(random, &name);
        let began = Instant::now();
        if let Err(error) = ledger.prompt(agent, &text)? {
            tally.fault(format!("{} is answered by {error}", brief(&text)));
            return Ok(());
        }
        let took = began.elapsed();
        tally.answered += 1;
        tally.longest = tally.longest.max(took);
        times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
    }
    Ok(())
}

fn last_look(home: &Home, ledgers: &mut [Ledger], tally: &mut Tally) -> Result<(), Died> {
    let mut agent = Mortal::start(agent_of(home));
    agent.greet()?;
    for ledger in ledgers {
        ledger.load(&mut agent, &home.workspace(), tally)?;
    }
    check_store(home, tally);
    if !agent.close() {
        tally.fault("the last agent did not end well".into());
    }
    Ok(())
}
