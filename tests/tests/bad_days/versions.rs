//! Stores of older and newer versions.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{asked, initialized, load, with_mounts};

use crate::disk::check_spoiled;

/// A store of the first version, with the session `old` of one prompt.
pub(crate) fn make_old_store(home: &Home) {
    fs::create_dir_all(home.state()).unwrap();
    let old = Connection::open(home.state().join("state.db")).unwrap();
    old.execute_batch(include_str!("../../../agent_core/src/store/schema_1.sql"))
        .unwrap();
    let cwd = home.workspace();
    old.execute(
        "INSERT INTO sessions (id, source, cwd, real_cwd, extra_roots, model, origin, mode, system, created_ms, \
         updated_ms, messages, last_seq, last_turn, activity) VALUES ('old', 'acp', ?1, ?1, '[]', 'offline/offline', \
         '{\"api\":\"offline\",\"base_url\":\"\",\"model\":\"offline\"}', 'default', 'You help.', 1, 1, 1, 2, 1, 2)",
        [cwd.to_str().unwrap()],
    )
    .unwrap();
    let rows = [
        r#"{"event":"user_message","id":"m","content":[{"type":"text","text":"say before."}]}"#,
        r#"{"event":"turn_finished","stop":"end_turn","usage":{}}"#,
    ];
    for (seq, kind, body) in [(1, "user_message", rows[0]), (2, "turn_finished", rows[1])] {
        let row = "INSERT INTO events (session_id, seq, turn, at_ms, kind, body) VALUES ('old', ?1, 1, 1, ?2, ?3)";
        old.execute(row, (seq, kind, body)).unwrap();
    }
    old.execute_batch("PRAGMA application_id = 0x54414c41; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;")
        .unwrap();
}

#[test]
fn an_update_needs_the_room_of_its_own_copy_and_gets_it() {
    let home = Home::new();
    make_old_store(&home);
    let path = home.state().join("state.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO events (session_id, seq, at_ms, kind, body)
         SELECT 'old', i, 1, 'agent_text', json_object('event', 'agent_text', 'id', 'm', 'text', hex(zeroblob(500))) FROM n;
         INSERT INTO blobs VALUES ('0', zeroblob(9000000));
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    drop(old);
    let room = fs::metadata(&path).unwrap().len() * 2 / 1024 + 400;
    let saved = home.workspace().join("saved");
    fs::rename(&path, &saved).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={room}k,mode=700 tmpfs \"$TALARIA_HOME\" && \
         cp '{}' \"$TALARIA_HOME/state.db\" && \"$1\" sessions list && ls \"$TALARIA_HOME\"",
        saved.display()
    );
    let Some(command) = with_mounts(&home, &script) else {
        return;
    };
    let (status, shown, stderr) = run(command, "");
    assert!(status.success() && shown.contains("old"), "{shown} {stderr}");
    assert!(!shown.contains(".bak") && !shown.contains(".part"), "{shown}");
}

#[test]
fn a_store_of_an_older_version_goes_on_with_its_sessions() {
    let home = Home::new();
    make_old_store(&home);
    let cwd = home.workspace();
    let mut command = home.command(&["acp"]);
    command.env("RUST_LOG", "trace");
    // The client takes nothing on stdout but whole JSON-RPC messages.
    let mut client = initialized(command);
    let new = client.new_session(&cwd);
    assert_eq!(client.prompt(&new, "say new."), "end_turn");
    let from = load(&mut client, "old", &cwd).unwrap();
    assert_eq!(asked(&client, from), ["say before."]);
    assert_eq!(client.prompt("old", "say after."), "end_turn");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, "old", &cwd).unwrap();
    assert_eq!(asked(&client, from), ["say before.", "say after."]);
}

#[test]
fn a_store_of_a_newer_version_is_told_and_left_alone() {
    let newer = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
    };
    check_spoiled(newer, &["has schema 99", "update this program"]);
}
