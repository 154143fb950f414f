//! The files of a store as they are on the disk at some moment, opened elsewhere: what a copy has that was made without
//! the agent's knowledge, and, as far as all that was written has reached the disk, what a loss of power leaves.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::ledger::Ledger;
use super::mortal::{Died, Mortal};
use super::tally::Tally;
use super::{agent_of, check, end, prompt};
use crate::client::Home;

/// The longest from one copy to the next.
const LONGEST: Duration = Duration::from_millis(60);

/// How long a process may take to stand still.
const LIMIT: Duration = Duration::from_secs(20);

/// Lets an agent work, and stops it at so many random moments: each time the files are copied, and the copy must be whole
/// and have all that was answered before. None where a process can't be seen to stand still.
pub fn snapshots(number: u64, seed: u64) -> Option<Tally> {
    if !Path::new("/proc/self/task").exists() {
        return None;
    }
    let home = Home::new();
    let mut tally = Tally::new(format!("{number} copies of the files at random moments"));
    let mut agent = Mortal::start(agent_of(&home));
    let worked = work(&home, &mut agent, number, seed, &mut tally);
    if worked.is_err() {
        tally.fault("the agent has died".to_owned());
    }
    drop(agent);
    end(home, &mut tally);
    Some(tally)
}

fn work(home: &Home, agent: &mut Mortal, number: u64, seed: u64, tally: &mut Tally) -> Result<(), Died> {
    let cwd = home.workspace();
    agent.greet()?;
    let mut ledger = Ledger::begin(agent, &cwd)?;
    let mut random = fastrand::Rng::with_seed(seed);
    let answered = AtomicU64::new(0);
    let camera = Camera {
        home,
        pid: agent.pid(),
        answered: &answered,
    };
    let copied = thread::scope(|scope| -> Result<Tally, Died> {
        let copies = scope.spawn(|| camera.take(number, seed));
        let mut turn = 0;
        while !copies.is_finished() {
            turn += 1;
            let text = prompt(&mut random, &format!("copied-{turn}"));
            match ledger.prompt(agent, &text)? {
                Ok(()) => answered.fetch_add(1, Ordering::SeqCst),
                Err(error) => panic!("{text} was refused: {error}"),
            };
        }
        Ok(copies.join().expect("the copies are made without a panic"))
    })?;
    tally.add(copied);
    tally.answered = answered.load(Ordering::SeqCst);
    agent.count(tally);
    let mut other = Mortal::start(agent_of(home));
    other.greet()?;
    agent.kill();
    ledger.load(&mut other, &cwd, tally)
}

/// Makes the copies.
struct Camera<'a> {
    home: &'a Home,
    pid: u32,
    /// Turns whose answers have come.
    answered: &'a AtomicU64,
}

impl Camera<'_> {
    fn take(&self, number: u64, seed: u64) -> Tally {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut tally = Tally::default();
        for copy in 1..=number {
            thread::sleep(LONGEST.mul_f64(random.f64()));
            match self.take_one() {
                Ok(()) => {}
                Err(fault) => tally.fault(format!("copy {copy}: {fault}")),
            }
            tally.checks += 1;
        }
        tally
    }

    fn take_one(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let answered = self.answered.load(Ordering::SeqCst);
        self.signal("STOP")?;
        let copied = self.wait_for_stop().and_then(|()| copy(self.home, folder.path()));
        self.signal("CONT")?;
        copied?;
        let looked = Connection::open(folder.path().join("state.db"))
            .and_then(|connection| Ok((check(&connection)?, turns(&connection)?)));
        match looked {
            Ok((fault, _)) if !fault.is_empty() => Err(fault),
            Ok((_, found)) if found < answered => Err(format!("{answered} turns were answered, and it has {found}")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn signal(&self, signal: &str) -> Result<(), String> {
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(self.pid.to_string())
            .status();
        match sent {
            Ok(status) if status.success() => Ok(()),
            sent => Err(format!("no {signal} was sent: {sent:?}")),
        }
    }

    fn wait_for_stop(&self) -> Result<(), String> {
        let end = Instant::now() + LIMIT;
        while !is_still(self.pid) {
            if Instant::now() > end {
                return Err("the agent does not stand still".to_owned());
            }
            thread::yield_now();
        }
        Ok(())
    }
}

/// Whether none of a process's threads runs.
fn is_still(pid: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    tasks.filter_map(Result::ok).all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The name before it may hold anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

/// Copies the database and its log; the memory beside them is made anew.
fn copy(home: &Home, to: &Path) -> Result<(), String> {
    for name in ["state.db", "state.db-wal"] {
        let from = home.state().join(name);
        if from.exists() {
            fs::copy(&from, to.join(name)).map_err(|error| format!("{name} can't be copied: {error}"))?;
        }
    }
    Ok(())
}

/// The turns that are there from their prompt to their end.
fn turns(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM events AS last WHERE kind = 'turn_finished' AND EXISTS \
               (SELECT 1 FROM events WHERE session = last.session AND turn = last.turn AND kind = 'user_message')";
    connection
        .query_row(sql, [], |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
}
