//! One agent after another on the same home, each killed at a random moment or at a chosen call.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::ledger::{Ledger, brief};
use super::mortal::{Died, Mortal};
use super::preload::{self, Point};
use super::tally::Tally;
use super::{agent_of, check_store, end, prompt};
use crate::client::Home;

/// A session is followed by another one after so many processes.
const PROCESSES: u64 = 25;

/// Kills in one home: each is followed by a check of the whole database.
const OF_A_HOME: u64 = 50;

/// The longest from the load to the kill.
const LONGEST: Duration = Duration::from_millis(300);

/// Kills at calls of one kind.
const MOST: u64 = 250;

/// Turns of a process that is killed at a call.
const TURNS: usize = 3;

/// A home and what its sessions must show.
struct Series {
    home: Home,
    random: fastrand::Rng,
    past: Vec<Ledger>,
    ledger: Option<Ledger>,
    processes: u64,
    prompts: u64,
    tally: Tally,
}

impl Series {
    fn new(what: String, seed: u64) -> Self {
        Self {
            home: Home::new(),
            random: fastrand::Rng::with_seed(seed),
            past: Vec::new(),
            ledger: None,
            processes: 0,
            prompts: 0,
            tally: Tally::new(what),
        }
    }

    /// One process: greets it, looks at what the one before has left, and prompts until it dies.
    fn live(
        &mut self,
        command: Command,
        mut decide: impl FnMut(&mut fastrand::Rng, &mut Mortal, usize) -> bool,
    ) -> bool {
        self.processes += 1;
        if self.processes.is_multiple_of(PROCESSES) {
            self.past.extend(self.ledger.take());
        }
        let mut agent = Mortal::start(command);
        let died = self.work(&mut agent, &mut decide).is_err();
        agent.count(&mut self.tally);
        if died {
            self.tally.kills += 1;
            return true;
        }
        // A chosen call may come only at the end.
        let ended_well = agent.close();
        self.tally.kills += u64::from(!ended_well);
        !ended_well
    }

    fn work(
        &mut self,
        agent: &mut Mortal,
        decide: &mut impl FnMut(&mut fastrand::Rng, &mut Mortal, usize) -> bool,
    ) -> Result<(), Died> {
        let cwd = self.home.workspace();
        agent.greet()?;
        if self.ledger.is_none() {
            self.ledger = Some(Ledger::begin(agent, &cwd)?);
        } else if let Some(ledger) = &mut self.ledger
            && self.processes > 1
        {
            let unsettled = ledger.is_open();
            let begun = self.tally.absent;
            ledger.load(agent, &cwd, &mut self.tally)?;
            if unsettled && self.tally.absent > begun && ledger.done() == 0 {
                // It was never stored, and so its id is nobody's.
                self.ledger = Some(Ledger::begin(agent, &cwd)?);
            }
            check_store(&self.home, &mut self.tally);
        }
        let mut turn = 0;
        while decide(&mut self.random, agent, turn) {
            turn += 1;
            self.prompts += 1;
            let text = prompt(&mut self.random, &format!("w{}", self.prompts));
            let ledger = self.ledger.as_mut().expect("it was begun or loaded");
            let began = Instant::now();
            let answer = ledger.prompt(agent, &text)?;
            if let Err(error) = answer {
                self.tally.fault(format!("{} is answered by {error}", brief(&text)));
            }
            self.tally.answered += 1;
            self.tally.longest = self.tally.longest.max(began.elapsed());
        }
        Ok(())
    }

    /// A last look at all sessions by a process that nobody kills.
    fn end(mut self) -> Tally {
        let cwd = self.home.workspace();
        let mut agent = Mortal::start(agent_of(&self.home));
        let mut look = || -> Result<(), Died> {
            agent.greet()?;
            for ledger in self.past.iter_mut().chain(&mut self.ledger) {
                ledger.load(&mut agent, &cwd, &mut self.tally)?;
            }
            check_store(&self.home, &mut self.tally);
            Ok(())
        };
        if look().is_err() {
            self.tally.fault("an agent died that nobody had killed".into());
        }
        if !agent.close() {
            self.tally.fault("the last agent did not end well".into());
        }
        end(self.home, &mut self.tally);
        self.tally
    }
}

/// Kills so many processes, each up to 300 ms after it has begun to work.
pub fn random_kills(kills: u64, seed: u64) -> Tally {
    let mut tally = Tally::new(format!("kill -9 at random moments, seed {seed}"));
    let mut home = 0;
    while tally.kills < kills {
        let left = (kills - tally.kills).min(OF_A_HOME);
        tally.add(in_one_home(left, seed.wrapping_add(home)));
        home += 1;
    }
    tally
}

fn in_one_home(kills: u64, seed: u64) -> Tally {
    let mut series = Series::new(format!("home of seed {seed}"), seed);
    while series.tally.kills < kills {
        let command = agent_of(&series.home);
        series.live(command, |random, agent, turn| {
            if turn == 0 {
                agent.kill_at(Instant::now() + LONGEST.mul_f64(random.f64()));
            }
            true
        });
    }
    series.end()
}

/// Has a process die at the first call of this kind, the next one at a later one, until one ends without having come to
/// it, or [`MOST`] have died: what a checkpoint has to do grows as long as none comes to its end. Each is up to `stride`
/// calls later than the one before.
pub fn sweep(library: &Path, point: Point, stride: u64, seed: u64) -> Tally {
    let mut series = Series::new(format!("{} ({} {})", point.is, point.part, point.place), seed);
    let mut pass = 1;
    while series.tally.kills < MOST {
        let mut command = agent_of(&series.home);
        preload::die_at(&mut command, library, point, pass);
        if !series.live(command, |_, _, turn| turn < TURNS) {
            break;
        }
        pass += series.random.u64(1..=stride);
    }
    if series.tally.kills == 0 {
        let fault = format!(
            "no process has died {} {}: is the library loaded?",
            point.part, point.place
        );
        series.tally.fault(fault);
    }
    series.end()
}

/// Has a process die at each of these points once, at one of the first calls there.
pub fn at_points(library: &Path, points: &[Point], seed: u64) -> Tally {
    let mut series = Series::new(format!("each point once, seed {seed}"), seed);
    for point in points {
        let mut command = agent_of(&series.home);
        let pass = series.random.u64(1..=2);
        preload::die_at(&mut command, library, *point, pass);
        series.live(command, |_, _, turn| turn < 1);
    }
    series.end()
}
