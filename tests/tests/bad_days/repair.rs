//! `agent doctor --repair` on the built binary: alone or not at all, in plain words, and killed at any moment.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::store::Store;
use rusqlite::Connection;
use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::stored;

/// Overwrites the header of a database.
fn spoil(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0x55; 90], 0).unwrap();
}

fn rows(home: &Home) -> i64 {
    let connection = Connection::open(home.state().join("state.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap()
}

fn repaired(home: &Home) -> String {
    let (status, stdout, stderr) = run(home.command(&["doctor", "--repair"]), "");
    assert!(status.success(), "{stdout} {stderr}");
    stdout
}

#[test]
fn a_damaged_store_is_repaired_and_told_in_plain_words() {
    let home = Home::new();
    assert!(repaired(&home).contains("nothing to repair"));
    assert!(!home.state().exists(), "nothing is made");
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say kept"), "end_turn");
    assert!(client.close().success());
    let before = rows(&home);
    let path = home.state().join("state.db");
    let bytes = fs::read(&path).unwrap();
    assert!(repaired(&home).contains("is whole: nothing was changed"));
    assert!(fs::read(&path).unwrap() == bytes);

    spoil(&path);
    let (status, shown, _) = run(home.command(&["doctor", "--offline"]), "");
    assert_eq!(status.code(), Some(1));
    assert!(shown.contains("`agent doctor --repair`"), "{shown}");
    let said = repaired(&home);
    for part in [
        &format!("Kept: 1 session with {before} rows."),
        "Lost: nothing that is known of.",
        "The old database is",
        "state.db.damaged-",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(rows(&home), before);
    assert!(repaired(&home).contains("is whole: nothing was changed"));
    let mut client = Client::initialized(&home, json!({}));
    let from = talaria_tests::start::load(&mut client, &session, &home.workspace()).unwrap();
    assert!(client.said(from).contains("kept"));
    assert_eq!(client.prompt(&session, "say on"), "end_turn");
}

#[test]
fn a_store_that_an_agent_holds_is_not_touched() {
    for damage in [false, true] {
        let home = Home::new();
        let (mut client, session) = Client::with_session(&home);
        assert_eq!(client.prompt(&session, "say one"), "end_turn");
        let path = home.state().join("state.db");
        if damage {
            spoil(&path);
        }
        let before = fs::read(&path).unwrap();
        let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
        let log = path.with_extension("db-wal");
        let (inode_before, log_before) = (inode(&path), inode(&log));
        let (status, stdout, stderr) = run(home.command(&["doctor", "--repair"]), "");
        assert_eq!(status.code(), Some(1), "{stdout}");
        let pid = format!("in use by process {}", client.pid());
        assert!(
            stderr.contains(&pid) && stderr.contains("close the editors"),
            "{stderr}"
        );
        assert!(fs::read(&path).unwrap() == before, "damage {damage}");
        assert_eq!((inode(&path), inode(&log)), (inode_before, log_before));
        let names = fs::read_dir(home.state())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.filter(|name| name.to_string_lossy().contains("db.")).collect();
        assert!(names.is_empty(), "{names:?}");
        if !damage {
            assert_eq!(client.prompt(&session, "say two"), "end_turn");
            assert!(client.close().success());
            let connection = Connection::open(&path).unwrap();
            let turns = "SELECT count(*) FROM events WHERE kind = 'turn_finished'";
            assert_eq!(connection.query_row(turns, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        }
    }
}

#[test]
fn a_repair_that_is_killed_loses_nothing() {
    const ROWS: i64 = 4000;
    let base = tempfile::tempdir().unwrap();
    let store = Store::open(base.path()).unwrap();
    stored::session(&store, Path::new("/"), ROWS as u64);
    store.close();
    let bad = base.path().join("state.db");
    spoil(&bad);
    let home = || {
        let home = Home::new();
        fs::create_dir_all(home.state()).unwrap();
        fs::copy(&bad, home.state().join("state.db")).unwrap();
        home
    };
    let begun = Instant::now();
    let first = home();
    repaired(&first);
    let whole = begun.elapsed();
    assert_eq!(rows(&first), ROWS);
    for round in 0..20 {
        let home = home();
        let mut command = home.command(&["doctor", "--repair"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        // What it does has no message to wait for: the moment is the test's choice.
        thread::park_timeout(whole.mul_f64(f64::from(round) / 19.0) + Duration::from_millis(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(home.state().join("state.db").exists(), "round {round}");
        repaired(&home);
        assert_eq!(rows(&home), ROWS, "round {round}");
        assert!(repaired(&home).contains("nothing was changed"), "round {round}");
        let left = fs::read_dir(home.state())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains(".repair")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
