//! What is left of servers when their session or the agent ends: nothing.

use std::time::{Duration, Instant};

use serde_json::json;
use talaria_tests::mock::Reply;
use talaria_tests::process::{is_alive, signal, wait_gone};

use crate::play::{Play, note, noted, pids, server, stubborn};

#[test]
fn a_server_is_asked_to_end_by_the_end_of_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let script = format!(
        "trap 'echo asked >> {0}' TERM; {1} --note {0}; echo ended by itself >> {0}",
        note.display(),
        crate::play::PROGRAM
    );
    let servers = json!([crate::play::program("t", "/bin/sh", &["-c", &script])]);
    let mut play = Play::new(vec![Reply::text("done")], servers);
    play.prompt();
    let pid = pids(&note, 1)[0];
    play.client
        .request("session/close", json!({"sessionId": play.session}))
        .unwrap();
    wait_gone(pid);
    talaria_tests::start::wait_until("its shell", || noted(&note).contains("ended by itself"));
    assert!(!noted(&note).contains("asked"));
}

#[test]
fn a_stubborn_server_ends_with_its_session_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    let mut play = Play::new(vec![Reply::text("done")], json!([stubborn("t", &first)]));
    let session = play.session.clone();
    play.session = crate::play::begin(&mut play.client, &play.home, json!([stubborn("t", &second)]));
    play.prompt();
    let (one, other) = (pids(&first, 1)[0], pids(&second, 1)[0]);
    let begun = Instant::now();
    play.client
        .request("session/close", json!({"sessionId": session}))
        .unwrap();
    wait_gone(one);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(is_alive(other));
    assert!(play.client.close().success());
    assert!(!is_alive(other), "the agent's end is the end of all");
}

#[test]
fn a_killed_agent_leaves_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let plain = server("p", &["--note", &note.display().to_string()]);
    let mut play = Play::new(vec![Reply::text("done")], json!([stubborn("s", &note), plain]));
    play.prompt();
    let pids = pids(&note, 2);
    play.client.kill();
    pids.into_iter().for_each(wait_gone);
}

#[test]
fn an_agent_that_is_asked_to_end_while_a_server_starts_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let silent = server("t", &["--silent", "--stay", "--note", &note.display().to_string()]);
    let mut play = Play::new(vec![Reply::text("done")], json!([silent]));
    let pid = pids(&note, 1)[0];
    let begun = Instant::now();
    signal(play.client.pid(), "TERM");
    play.client.wait();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    wait_gone(pid);
}

#[test]
fn what_a_server_has_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let script = format!(
        "setsid sh -c 'echo pid $$ >> {0}; trap \"\" TERM; while true; do sleep 100; done' & exec {1} --note {0}",
        note.display(),
        crate::play::PROGRAM
    );
    let servers = json!([crate::play::program("t", "/bin/sh", &["-c", &script])]);
    let mut play = Play::new(vec![Reply::text("done")], servers);
    play.prompt();
    let pids = pids(&note, 2);
    play.client
        .request("session/close", json!({"sessionId": play.session}))
        .unwrap();
    pids.into_iter().for_each(wait_gone);
}
