//! Agents that are killed at any moment, many of them on one store, and clocks that jump: the short forms of what
//! `examples/reliability.rs` does at length. `docs/reliability.md` has its figures.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::search::{Query, Search};
use agent_core::store::Store;
use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::reliability::{
    Clock, Ledger, Mortal, POINTS, Tally, at_points, contest, crowd, foreign_rows_beside_a_turn, library,
    lists_beside_a_turn, newer_beside, old_store_opened_at_once, random_kills, snapshots,
};
use talaria_tests::start::{asked, initialized, load, skip};

fn check(tally: &Tally) {
    assert!(
        tally.faults.is_empty(),
        "{}\n{tally}\n{:#?}",
        Tally::head(),
        tally.faults
    );
    assert!(tally.checks > 0, "nothing was checked");
}

fn seed() -> u64 {
    fastrand::u64(..1_000_000)
}

/// The tests below would see it if something were lost.
#[test]
fn a_turn_that_is_not_there_or_another_is_counted() {
    let home = Home::new();
    let cwd = home.workspace();
    let mut agent = Mortal::start(home.command(&["acp"]));
    agent.greet().unwrap();
    let mut ledger = Ledger::begin(&mut agent, &cwd).unwrap();
    for prompt in ["say one", "say two", "say three"] {
        ledger.prompt(&mut agent, prompt).unwrap().unwrap();
    }
    agent.kill();
    let spoil = |sql: &str| {
        let connection = Connection::open(home.state().join("state.db")).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1);
        let mut agent = Mortal::start(home.command(&["acp"]));
        agent.greet().unwrap();
        let mut tally = Tally::new("spoiled");
        ledger.clone().load(&mut agent, &cwd, &mut tally).unwrap();
        (tally.lost, tally.doubled, tally.faults.len())
    };
    let other = spoil("UPDATE events SET body = replace(body, 'two', 'twO') WHERE kind = 'agent_text' AND turn = 2");
    assert_eq!(other, (1, 0, 1));
    let twice =
        spoil("UPDATE events SET body = replace(body, 'three', 'one') WHERE kind = 'user_message' AND turn = 3");
    assert_eq!(
        twice,
        (3, 1, 4),
        "one is there twice and ends otherwise, three is lost, and two is as before"
    );
}

#[test]
fn what_was_answered_survives_a_kill_at_any_moment() {
    let tally = random_kills(20, seed());
    check(&tally);
    assert!(tally.kills == 20 && tally.answered > 0, "{tally}");
}

#[test]
fn what_was_answered_survives_a_kill_at_each_step_of_a_commit() {
    let Some(library) = library() else {
        return skip("there is no C compiler, or this is not Linux");
    };
    // Some points are reached only by a process that ends.
    let points: Vec<_> = POINTS
        .into_iter()
        .filter(|point| !point.place.starts_with("log "))
        .collect();
    let tally = at_points(library, &points, seed());
    check(&tally);
    assert!(tally.kills >= 10, "{tally}");
}

#[test]
fn agents_on_one_store_lose_and_double_nothing_when_some_are_killed() {
    let (tally, _) = crowd(3, 15, Duration::from_millis(300), seed());
    check(&tally);
    assert!(tally.kills > 0 && tally.answered > 0, "{tally}");
}

#[test]
fn two_agents_that_prompt_one_session_have_one_order() {
    // A quick machine may be done before its first kill.
    let mut tallies = (0..20).map(|_| contest(20, seed())).inspect(check);
    assert!(tallies.any(|tally| tally.kills > 0), "nobody was killed in 20 contests");
}

#[test]
fn an_old_store_that_several_agents_open_at_once_is_migrated_once() {
    check(&old_store_opened_at_once(3, 3));
}

#[test]
fn a_newer_version_that_takes_the_store_over_harms_nobody() {
    check(&newer_beside(3, 2));
}

#[test]
fn lists_that_come_and_go_during_a_turn_leave_its_log_alone() {
    check(&lists_beside_a_turn(50));
}

#[test]
fn a_program_that_writes_to_the_store_during_a_turn_harms_nothing() {
    check(&foreign_rows_beside_a_turn(20));
}

#[test]
fn a_copy_of_the_files_at_any_moment_is_whole_and_has_what_was_answered() {
    match snapshots(15, seed()) {
        Some(tally) => {
            check(&tally);
            assert!(tally.answered > 0 && tally.checks >= 15, "{tally}");
        }
        None => skip("nobody sees here whether a process stands still"),
    }
}

/// So often a connection comes and goes in the process that works in a session.
const CONNECTIONS: usize = 300;

#[test]
fn connections_that_come_and_go_in_one_process_leave_its_session_to_it() {
    let home = Home::with_config("");
    let cwd = home.workspace();
    let store = Store::open(&home.state()).unwrap();
    let session = talaria_tests::stored::session(&store, &cwd, 4);
    let other = stored_by_another(&home);
    for number in 0..CONNECTIONS {
        let connection = Connection::open(home.state().join("state.db")).unwrap();
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
            .unwrap();
        assert!(rows > 0);
        if number.is_multiple_of(10) {
            let second = Store::open(&home.state()).unwrap();
            second.session(&session).unwrap().unwrap();
            second.close();
        }
    }
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session.to_string(), &cwd).unwrap();
    let prompt = client.begin_prompt(&session.to_string(), "say no");
    assert!(is_held(client.response(prompt)), "the session is this process's");
    // Were the locks gone, the last agent would take the log away, and with it whatever this process writes.
    load(&mut client, &other, &cwd).unwrap();
    assert_eq!(client.prompt(&other, "say more"), "end_turn");
    assert!(client.close().success());
    store.rename(&session, "Kept").unwrap();
    let second = talaria_tests::stored::session(&store, &cwd, 4);
    store.close();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session.to_string(), &cwd).unwrap();
    assert_eq!(asked(&client, from).len(), 1);
    assert!(listed(&mut client).contains(&second.to_string()));
    assert!(column(&mut client, "title").contains(&"Kept".to_owned()));
    assert_eq!(client.prompt(&session.to_string(), "say yes"), "end_turn");
}

/// A session that an agent has made and let go.
fn stored_by_another(home: &Home) -> String {
    let (mut client, session) = Client::with_session(home);
    assert_eq!(client.prompt(&session, "say other"), "end_turn");
    assert!(client.close().success());
    session
}

const HOUR: i64 = 3600;

/// What a list says of each session, in its order.
fn column(client: &mut Client, name: &str) -> Vec<String> {
    let page = client.request("session/list", json!({})).unwrap();
    let sessions = page["sessions"].as_array().unwrap().iter();
    sessions
        .map(|session| session[name].as_str().unwrap().to_owned())
        .collect()
}

fn listed(client: &mut Client) -> Vec<String> {
    column(client, "sessionId")
}

/// The agent with a clock of its own.
fn with_clock(home: &Home, clock: &Clock) -> Client {
    let mut command = home.command(&["acp"]);
    clock.give(&mut command);
    initialized(command)
}

fn is_held(answer: Result<Value, Value>) -> bool {
    answer.is_err_and(|error| error["data"]["class"] == "held")
}

/// A clock that jumps by so many seconds while an agent works and another one waits for its session.
fn check_jump(seconds: i64) {
    let (Some(clock), Some(other)) = (Clock::new(), Clock::new()) else {
        return skip("there is no C compiler, or this is not Linux");
    };
    let home = Home::new();
    let mut client = with_clock(&home, &clock);
    let [a, b] = [0, 1].map(|_| client.new_session(&home.workspace()));
    assert_eq!(client.prompt(&a, "say first"), "end_turn");
    clock.set(seconds);
    assert_eq!(client.prompt(&b, "say second"), "end_turn");
    assert_eq!(listed(&mut client), [b.clone(), a.clone()]);
    let times = column(&mut client, "updatedAt");
    assert_eq!(times[0] < times[1], seconds < 0, "the clock has jumped: {times:?}");
    assert_eq!(client.prompt(&a, "say third"), "end_turn");
    assert_eq!(listed(&mut client), [a.clone(), b.clone()]);

    // Another process holds the same opinion, whatever its own clock says.
    other.set(-seconds);
    let mut second = with_clock(&home, &other);
    assert_eq!(listed(&mut second), [a.clone(), b.clone()]);
    let from = load(&mut second, &a, &home.workspace()).unwrap();
    assert_eq!(asked(&second, from), ["say first", "say third"]);
    for jump in [-seconds, 0, seconds] {
        other.set(jump);
        let prompt = second.begin_prompt(&a, "say no");
        assert!(is_held(second.response(prompt)), "clock at {jump}");
    }
    client.kill();
    assert_eq!(
        second.prompt(&a, "say fourth"),
        "end_turn",
        "a dead holder's session is free"
    );
    clock.set(0);
    let mut third = with_clock(&home, &clock);
    let from = load(&mut third, &a, &home.workspace()).unwrap();
    assert_eq!(asked(&third, from), ["say first", "say third", "say fourth"]);
    assert!(second.close().success() && third.close().success());
    check_found(&home, &[&a, &b]);
}

/// A search finds something in each of these sessions.
fn check_found(home: &Home, sessions: &[&String]) {
    let store = Store::open(&home.state()).unwrap();
    let search = Search {
        query: Query::read("role:user say"),
        except: None,
        archived: false,
        all_hits: false,
        offset: 0,
        limit: 20,
    };
    let found = store.search(&search, &Cancel::new()).unwrap();
    let mut found: Vec<String> = found.hits.iter().map(|hit| hit.session.as_str().to_owned()).collect();
    found.sort();
    let mut sessions: Vec<String> = sessions.iter().map(|session| (*session).clone()).collect();
    sessions.sort();
    assert_eq!(found, sessions);
}

#[test]
fn a_clock_that_goes_back_an_hour_changes_no_order_and_frees_no_session() {
    check_jump(-HOUR);
}

#[test]
fn a_clock_that_leaps_ten_years_changes_no_order_and_frees_no_session() {
    check_jump(10 * 365 * 24 * HOUR);
}
