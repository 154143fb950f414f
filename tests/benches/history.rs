//! How fast a long session is loaded through the binary's pipe, and how long a page of a long list of sessions takes.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::time::{Duration, Instant};

use agent_core::store::Store;
use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times, time};
use talaria_tests::stored;

const EVENTS: u64 = 10_000;
/// Sessions in the list; `HISTORY_SESSIONS` has it otherwise.
const SESSIONS: u64 = 100_000;
const ROUNDS: usize = 15;

fn main() {
    let mut table = Table::new("History");
    load(&mut table);
    list(&mut table);
    println!("{table}");
}

/// Each load is by a new process, whose store is open already.
fn load(table: &mut Table) {
    let home = Home::new();
    let store = Store::open(&home.state()).expect("a store can be made");
    let session = stored::session(&store, &home.workspace(), EVENTS);
    store.close();
    let params = json!({"sessionId": session.as_str(), "cwd": home.workspace(), "mcpServers": []});
    let times = (0..ROUNDS).map(|_| {
        let mut pipe = opened(&home);
        let began = Instant::now();
        pipe.request("session/load", params.clone());
        began.elapsed()
    });
    let times = Times::of(times.collect());
    let rate = EVENTS as f64 / times.best().as_secs_f64();
    table.goal(
        &format!("a session of {EVENTS} events loaded"),
        &times,
        format!("{rate:.0} events/s"),
        ">= 200,000/s",
        rate >= 200_000.0,
    );
}

fn list(table: &mut Table) {
    let sessions = std::env::var("HISTORY_SESSIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(SESSIONS);
    let home = Home::new();
    let store = Store::open(&home.state()).expect("a store can be made");
    let elsewhere = home.state();
    let began = Instant::now();
    for number in 0..sessions {
        // Every tenth is of the folder that is asked for.
        let cwd = if number % 10 == 0 {
            home.workspace()
        } else {
            elsewhere.clone()
        };
        let session = stored::session(&store, &cwd, 1);
        store.release(&session);
    }
    store.close();
    table.figure(&format!("{sessions} sessions stored"), time(began.elapsed()), "");
    let mut pipe = opened(&home);
    let middle = middle(&mut pipe, sessions / 2);
    for (what, params) in [
        ("the first page of the list", json!({})),
        ("a page in the middle", json!({ "cursor": middle })),
        ("the first page of one folder", json!({ "cwd": home.workspace() })),
    ] {
        let times = (0..ROUNDS).map(|_| {
            let began = Instant::now();
            pipe.request("session/list", params.clone());
            began.elapsed()
        });
        let times = Times::of(times.collect());
        let reached = times.best() < Duration::from_millis(5);
        table.goal(what, &times, "", "< 5 ms", reached);
    }
}

/// An agent that has its store open.
fn opened(home: &Home) -> Pipe {
    let mut pipe = Pipe::start(home.command(&["acp"]));
    pipe.initialize();
    pipe.request("session/list", json!({}));
    pipe
}

/// The cursor after so many sessions.
fn middle(pipe: &mut Pipe, count: u64) -> Value {
    let (mut cursor, mut seen) = (Value::Null, 0);
    while seen < count {
        let params = if cursor.is_null() {
            json!({})
        } else {
            json!({ "cursor": cursor })
        };
        let answer: Value = serde_json::from_str(&pipe.request("session/list", params)).expect("an answer is JSON");
        seen += answer["result"]["sessions"].as_array().map_or(0, Vec::len) as u64;
        cursor = answer["result"]["nextCursor"].clone();
        assert!(!cursor.is_null(), "the list ends after {seen} sessions");
    }
    cursor
}
