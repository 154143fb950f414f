//! A store whose sessions can't be read, or that takes no more of them: what is told instead of a denial.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{load, times_told, wait_until, with_mounts};

/// A home with one session.
fn with_session() -> (Home, String) {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say kept"), "end_turn");
    assert!(client.close().success());
    (home, session)
}

fn is_told(answer: Result<Value, Value>, says: &[&str]) {
    let error = answer.unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["class"]),
        (&json!(-32603), &json!("store")),
        "{error}"
    );
    for part in says {
        assert!(error["message"].as_str().unwrap().contains(part), "{part} in {error}");
    }
}

/// No way to the session that is in the store says that there is none; each says what is wrong with the store.
fn check_told(home: &Home, mut client: Client, session: &str, says: &[&str]) {
    let own = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&own, "say hi"), "end_turn", "work goes on");
    is_told(client.request("session/list", json!({})), says);
    let from = client.log.len();
    assert_eq!(client.prompt(&own, "/search kept"), "end_turn");
    let answer = client.said(from);
    assert!(answer.starts_with("Can't search: "), "{answer}");
    assert!(says.iter().all(|part| answer.contains(part)), "{says:?} in {answer}");
    let opens = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    for method in ["session/load", "session/resume", "session/fork", "session/delete"] {
        is_told(client.request(method, opens.clone()), says);
    }
    load(&mut client, &own, &home.workspace()).unwrap();
    client.request("session/delete", json!({"sessionId": own})).unwrap();
}

#[test]
fn a_store_that_can_not_be_opened_denies_none_of_its_sessions() {
    let newer = |path: &Path| {
        Connection::open(path)
            .unwrap()
            .pragma_update(None, "user_version", 99)
            .unwrap();
    };
    let garbage = |path: &Path| fs::write(path, "no database at all\n".repeat(500)).unwrap();
    let cut = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(300).unwrap();
    let check = |spoil: &dyn Fn(&Path), advice: &str| {
        let (home, session) = with_session();
        let path = home.state().join("state.db");
        spoil(&path);
        let says = [path.to_str().unwrap(), advice];
        check_told(&home, Client::initialized(&home, json!({})), &session, &says);
        let (status, _, stderr) = run(home.command(&["run", "--session", &session, "say on"]), "");
        assert_eq!(status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(advice), "{stderr}");
    };
    check(&newer, "update this program");
    check(&garbage, "agent doctor --repair");
    check(&cut, "agent doctor --repair");
}

#[test]
fn a_store_that_can_only_be_read_denies_none_of_its_sessions() {
    let (home, session) = with_session();
    let script = "mount --bind \"$TALARIA_HOME\" \"$TALARIA_HOME\" && mount -o remount,bind,ro \"$TALARIA_HOME\" && \
                  exec \"$@\"";
    let Some(command) = with_mounts(&home, script) else {
        return;
    };
    let says = [
        home.state().to_str().unwrap().to_owned(),
        "check that it can be written".to_owned(),
    ];
    let client = talaria_tests::start::initialized(command);
    check_told(&home, client, &session, &[&says[0], &says[1]]);
}

#[test]
fn that_a_store_refuses_rows_is_told_once_a_turn() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    let other = Connection::open(home.state().join("state.db")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no more'); END";
    other.execute_batch(refuse).unwrap();
    for _ in 0..2 {
        let from = client.log.len();
        assert_eq!(client.prompt(&session, "list\nsay two"), "end_turn");
        assert_eq!(
            times_told(&client, from, "part of this session is lost"),
            1,
            "{}",
            client.said(from)
        );
    }
}

#[test]
fn a_session_stays_open_while_nobody_can_say_who_else_writes_to_it() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    let other = Connection::open(home.state().join("state.db")).unwrap();
    other.execute_batch("ALTER TABLE leases RENAME TO elsewhere").unwrap();
    let delete = client.request("session/delete", json!({"sessionId": session}));
    is_told(delete, &["the history can't be read"]);
    other.execute_batch("ALTER TABLE elsewhere RENAME TO leases").unwrap();
    assert_eq!(client.prompt(&session, "say two"), "end_turn", "it was not closed");
    client.request("session/delete", json!({"sessionId": session})).unwrap();
}

#[test]
fn a_session_goes_on_where_the_store_is_damaged_under_it() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say one"), "end_turn");
    // What is in the log is read before the database.
    let path = home.state().join("state.db");
    wait_until("the log is in the database", || {
        Connection::open(&path)
            .and_then(|connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)))
            .is_ok_and(|busy: i64| busy == 0)
    });
    let database = OpenOptions::new().write(true).open(&path).unwrap();
    let pages = database.metadata().unwrap().len() / 4096;
    for page in 1..pages {
        database.write_all_at(&[0xee; 4096], page * 4096).unwrap();
    }
    let from = client.log.len();
    for text in ["say two", "say three"] {
        assert_eq!(client.prompt(&session, text), "end_turn");
    }
    let said = client.said(from);
    assert!(said.contains("two") && said.contains("three"), "{said}");
    assert_eq!(times_told(&client, from, "doctor --repair"), 1, "{said}");
}
