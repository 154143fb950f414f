//! Several agents that open one database at the same moment: an old one, or one that a newer version takes over.

use std::fs::{self, File};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::json;

use super::ledger::{Ledger, load};
use super::mortal::{Died, Mortal};
use super::tally::Tally;
use super::{agent_of, check_store, end};
use crate::client::Home;

const SCHEMA_1: &str = include_str!("../../../agent_core/src/store/schema_1.sql");

/// Turns in the old database.
const TURNS: i64 = 300;

/// The schema of a version that does not exist yet.
const NEWER: i64 = 99;

/// A home whose store is of the first version, with one session.
fn old_home() -> rusqlite::Result<Home> {
    let home = Home::with_config("");
    let mut old = Connection::open(home.state().join("state.db"))?;
    old.pragma_update(None, "journal_mode", "WAL")?;
    let old = old.transaction()?;
    old.execute_batch(SCHEMA_1)?;
    let cwd = home.workspace().display().to_string();
    old.execute(
        "INSERT INTO sessions (id, source, cwd, real_cwd, extra_roots, model, origin, mode, system, created_ms, \
         updated_ms, messages, last_seq, last_turn, activity) VALUES ('old', 'acp', ?1, ?1, '[]', 'offline/offline', \
         '{\"api\":\"offline\",\"base_url\":\"\",\"model\":\"offline\"}', 'default', 'You help.', 1, 1, ?2, ?3, ?2, ?3)",
        params![cwd, TURNS, 2 * TURNS],
    )?;
    for turn in 1..=TURNS {
        let content = json!([{"type": "text", "text": said(turn)}]);
        let message = json!({"event": "user_message", "id": format!("m{turn}"), "content": content});
        let finished = json!({"event": "turn_finished", "stop": "end_turn", "usage": {}});
        for (seq, kind, body) in [
            (2 * turn - 1, "user_message", message),
            (2 * turn, "turn_finished", finished),
        ] {
            old.execute(
                "INSERT INTO events (session_id, seq, turn, at_ms, kind, body) VALUES ('old', ?1, ?2, 1, ?3, ?4)",
                params![seq, turn, kind, body.to_string()],
            )?;
        }
    }
    old.execute_batch("PRAGMA application_id = 0x54414c41; PRAGMA user_version = 1;")?;
    old.commit()?;
    Ok(home)
}

fn said(turn: i64) -> String {
    format!("say before-{turn}.")
}

fn check_old(agent: &mut Mortal, home: &Home, tally: &mut Tally) -> Result<(), Died> {
    match load(agent, "old", &home.workspace())? {
        Ok(turns) if turns.iter().map(|turn| turn.0.clone()).eq((1..=TURNS).map(said)) => {}
        Ok(turns) => {
            tally.lost += 1;
            tally.fault(format!("the old session has {} turns, or others", turns.len()));
        }
        Err(error) => {
            tally.lost += 1;
            tally.fault(format!("the old session can't be loaded: {error}"));
        }
    }
    Ok(())
}

/// Opens an old store by so many agents at the same moment, again and again. Each of them shows the old session and has
/// a turn in a new one; both are there afterwards.
pub fn old_store_opened_at_once(agents: usize, rounds: usize) -> Tally {
    let mut tally = Tally::new(format!("{agents} processes open an old store at once, {rounds} times"));
    for _ in 0..rounds {
        let home = old_home().expect("a new database can be filled");
        let (mut ledgers, died) = at_once(&home, agents, &mut tally, || {});
        if died {
            tally.fault("an agent died that nobody had killed".into());
        }
        let mut agent = Mortal::start(agent_of(&home));
        if last_look(&mut agent, &home, &mut ledgers, &mut tally).is_err() {
            tally.fault("the last agent died".into());
        }
        agent.close();
        end(home, &mut tally);
    }
    tally
}

/// The same with a newer version that takes the store over at that moment. An agent that came first goes on, one that
/// came later says that nothing is saved; what was not said to be unsaved is there.
pub fn newer_beside(agents: usize, rounds: usize) -> Tally {
    let mut tally = Tally::new(format!(
        "{agents} processes and a newer version at once, {rounds} times"
    ));
    for round in 0..rounds {
        let home = Home::with_config("");
        let mut first = Mortal::start(agent_of(&home));
        let begun = first
            .greet()
            .and_then(|()| Ledger::begin(&mut first, &home.workspace()));
        let mut ledger = begun.expect("nobody kills it");
        let answer = ledger.prompt(&mut first, "say first").expect("nobody kills it");
        answer.expect("a prompt is answered");
        first.close();
        let now = version(&home).expect("the version can be read");
        let newer = || {
            // So that it comes before some and after others.
            thread::sleep(Duration::from_millis(20 * (round as u64 % 8)));
            take_over(&home).expect("the newer version can write");
        };
        let (mut ledgers, died) = at_once(&home, agents, &mut tally, newer);
        if died {
            tally.fault("an agent died that nobody had killed".into());
        }
        ledgers.push(ledger);
        let back = Connection::open(home.state().join("state.db"))
            .and_then(|connection| connection.pragma_update(None, "user_version", now));
        back.expect("the version can be set back");
        let mut agent = Mortal::start(agent_of(&home));
        let mut look = || -> Result<(), Died> {
            agent.greet()?;
            for ledger in &mut ledgers {
                ledger.load(&mut agent, &home.workspace(), &mut tally)?;
            }
            check_store(&home, &mut tally);
            Ok(())
        };
        if look().is_err() {
            tally.fault("the last agent died".into());
        }
        agent.close();
        end(home, &mut tally);
    }
    tally
}

/// The schema of a home's store.
fn version(home: &Home) -> rusqlite::Result<i64> {
    Connection::open(home.state().join("state.db"))?.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// What a newer version does: takes the lock under which stores are opened, and raises the schema.
fn take_over(home: &Home) -> Result<(), Box<dyn std::error::Error>> {
    let lock = File::options()
        .read(true)
        .write(true)
        .open(home.state().join("state.lock"))?;
    lock.lock()?;
    let mut connection = Connection::open(home.state().join("state.db"))?;
    connection.busy_timeout(Duration::from_secs(10))?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch("CREATE TABLE newer (id INTEGER PRIMARY KEY)")?;
    transaction.pragma_update(None, "user_version", NEWER)?;
    transaction.commit()?;
    Ok(())
}

/// Starts agents at the same moment; `beside` is done at that moment too. The sessions of those that were told of
/// nothing, and whether any has died.
fn at_once(home: &Home, agents: usize, tally: &mut Tally, beside: impl FnOnce() + Send) -> (Vec<Ledger>, bool) {
    let start = Barrier::new(agents + 1);
    let is_old =
        fs::exists(home.state().join("state.db")).unwrap_or(false) && !home.state().join("state.lock").exists();
    let mut ledgers = Vec::new();
    let mut died = false;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..agents)
            .map(|number| {
                let start = &start;
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    let mut agent = Mortal::start(agent_of(home));
                    let work = visit(&mut agent, home, number, is_old, start, &mut tally);
                    agent.count(&mut tally);
                    (work, tally)
                })
            })
            .collect();
        let beside = scope.spawn(|| {
            start.wait();
            beside();
        });
        for worker in workers {
            let (work, own) = worker.join().expect("a worker does not panic");
            let was_told = own.unsaved > 0;
            tally.add(own);
            match work {
                Ok(ledger) if !was_told => ledgers.push(ledger),
                Ok(_) => {}
                Err(Died) => died = true,
            }
        }
        beside.join().expect("it does not panic");
    });
    (ledgers, died)
}

fn visit(
    agent: &mut Mortal,
    home: &Home,
    number: usize,
    is_old: bool,
    start: &Barrier,
    tally: &mut Tally,
) -> Result<Ledger, Died> {
    agent.greet().inspect_err(|_| {
        start.wait();
    })?;
    start.wait();
    if is_old {
        check_old(agent, home, tally)?;
    }
    let mut ledger = Ledger::begin(agent, &home.workspace())?;
    for turn in 0..2 {
        match ledger.prompt(agent, &format!("say new-{number}-{turn}"))? {
            Ok(()) => tally.answered += 1,
            Err(error) => tally.fault(format!("a prompt is answered by {error}")),
        }
    }
    if is_old && !agent.unsaved().is_empty() {
        tally.fault(format!("nothing is in the way, but: {}", agent.unsaved()[0]));
    }
    Ok(ledger)
}

fn last_look(agent: &mut Mortal, home: &Home, ledgers: &mut [Ledger], tally: &mut Tally) -> Result<(), Died> {
    agent.greet()?;
    check_old(agent, home, tally)?;
    for ledger in ledgers {
        ledger.load(agent, &home.workspace(), tally)?;
    }
    check_store(home, tally);
    Ok(())
}
