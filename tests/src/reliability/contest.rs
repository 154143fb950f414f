//! Two agents that prompt the same session; whoever holds it is killed at random.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ledger::{Ledger, Loaded, brief, load};
use super::mortal::{Died, Mortal};
use super::tally::Tally;
use super::{agent_of, check_store, end, prompt};
use crate::client::Home;

/// The longest that a process works once it holds the session.
const LONGEST: Duration = Duration::from_millis(300);

/// The shortest and the longest pause of a process that is told that another one holds the session.
const PAUSE: (u64, u64) = (2, 40);

/// What both know.
struct Shared {
    turns: usize,
    /// Prompts in the order of their answers.
    answered: Vec<String>,
    /// Prompts that were asked for, whatever became of them; none that was refused.
    asked: Vec<String>,
    tally: Tally,
}

impl Shared {
    /// The first turn is nobody's.
    fn is_over(&self) -> bool {
        self.answered.len() > self.turns
    }
}

/// Two processes until so many turns are answered.
pub fn contest(turns: usize, seed: u64) -> Tally {
    let home = Home::new();
    let session = match begin(&home) {
        Ok(session) => session,
        Err(Died) => panic!("nobody has killed the first agent"),
    };
    let shared = Mutex::new(Shared {
        turns,
        answered: vec!["say first".to_owned()],
        asked: vec!["say first".to_owned()],
        tally: Tally::new(format!("two processes, one session, {turns} turns, seed {seed}")),
    });
    thread::scope(|scope| {
        for number in 0..2u64 {
            let (home, session, shared) = (&home, &session, &shared);
            let random = fastrand::Rng::with_seed(seed.wrapping_mul(2).wrapping_add(number));
            scope.spawn(move || compete(home, session, number, random, shared));
        }
    });
    let mut shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if last_look(&home, &session, &mut shared).is_err() {
        shared.tally.fault("an agent died that nobody had killed".into());
    }
    end(home, &mut shared.tally);
    shared.tally
}

fn begin(home: &Home) -> Result<String, Died> {
    let mut agent = Mortal::start(agent_of(home));
    agent.greet()?;
    let mut ledger = Ledger::begin(&mut agent, &home.workspace())?;
    ledger.prompt(&mut agent, "say first")?.expect("nobody else is there");
    agent.kill();
    Ok(ledger.session)
}

fn compete(home: &Home, session: &str, number: u64, mut random: fastrand::Rng, shared: &Mutex<Shared>) {
    let mut count = 0;
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    while !lock().is_over() {
        let mut agent = Mortal::start(agent_of(home));
        let lived = live(home, session, number, &mut count, &mut agent, &mut random, shared);
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        agent.count(&mut shared.tally);
        shared.tally.kills += u64::from(lived.is_err());
    }
}

fn live(
    home: &Home,
    session: &str,
    number: u64,
    count: &mut u64,
    agent: &mut Mortal,
    random: &mut fastrand::Rng,
    shared: &Mutex<Shared>,
) -> Result<(), Died> {
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    agent.greet()?;
    if let Err(error) = load(agent, session, &home.workspace())? {
        lock().tally.fault(format!("the session can't be loaded: {error}"));
    }
    let mut holds = false;
    loop {
        if lock().is_over() {
            return Ok(());
        }
        *count += 1;
        let text = prompt(random, &format!("p{number}t{count}"));
        lock().asked.push(text.clone());
        let mut ledger = Ledger::of(session);
        let began = Instant::now();
        match ledger.prompt(agent, &text)? {
            Ok(()) => {
                let mut shared = lock();
                shared.answered.push(text);
                shared.tally.answered += 1;
                shared.tally.longest = shared.tally.longest.max(began.elapsed());
                if !holds {
                    holds = true;
                    agent.kill_at(Instant::now() + LONGEST.mul_f64(random.f64()));
                }
            }
            Err(error) => {
                let mut shared = lock();
                shared.asked.retain(|asked| *asked != text);
                if holds || error["data"]["class"] != "held" {
                    shared.tally.fault(format!("{} is answered by {error}", brief(&text)));
                    return Ok(());
                }
                drop(shared);
                thread::sleep(Duration::from_millis(random.u64(PAUSE.0..PAUSE.1)));
            }
        }
    }
}

/// Two processes load the same, everything that was answered is there once, in the order of the answers, and what else
/// is there was asked for.
fn last_look(home: &Home, session: &str, shared: &mut Shared) -> Result<(), Died> {
    let mut views: Vec<Loaded> = Vec::new();
    for _ in 0..2 {
        let mut agent = Mortal::start(agent_of(home));
        agent.greet()?;
        match load(&mut agent, session, &home.workspace())? {
            Ok(view) => views.push(view),
            Err(error) => shared.tally.fault(format!("the session can't be loaded: {error}")),
        }
        check_store(home, &mut shared.tally);
        check_list(&mut agent, &mut shared.tally)?;
    }
    let [one, two] = &views[..] else { return Ok(()) };
    if one != two {
        shared.tally.fault("two processes load it differently".into());
    }
    let mut seen = std::collections::HashSet::new();
    for (prompt, _) in one {
        if !seen.insert(prompt) {
            shared.tally.doubled += 1;
            shared.tally.fault(format!("{} is there twice", brief(prompt)));
        }
        if !shared.asked.contains(prompt) {
            shared.tally.fault(format!("nobody has asked {}", brief(prompt)));
        }
    }
    let order: Vec<&String> = one.iter().map(|(prompt, _)| prompt).collect();
    let order: Vec<&String> = order
        .into_iter()
        .filter(|prompt| shared.answered.contains(prompt))
        .collect();
    let lost = shared
        .answered
        .iter()
        .filter(|answered| !seen.contains(answered))
        .count();
    if lost > 0 {
        shared.tally.lost += lost as u64;
        shared.tally.fault(format!("{lost} answered turns are lost"));
    } else if !order.into_iter().eq(&shared.answered) {
        shared
            .tally
            .fault("the turns are not in the order of their answers".into());
    }
    Ok(())
}

fn check_list(agent: &mut Mortal, tally: &mut Tally) -> Result<(), Died> {
    let page = agent.request("session/list", &json!({}))?.unwrap_or(Value::Null);
    if page["sessions"].as_array().is_none_or(|sessions| sessions.len() != 1) {
        tally.fault(format!("one session is listed as {page}"));
    }
    Ok(())
}
