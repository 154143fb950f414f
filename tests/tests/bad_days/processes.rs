//! Several processes on one home, one of them killed: nothing that was answered is lost or mixed up.

use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{asked, load};

fn check_integrity(home: &Home) {
    let connection = Connection::open(home.state().join("state.db")).unwrap();
    let answer: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(answer, "ok");
}

/// Works on 20 turns in a session of its own; its id comes back.
fn work(home: &Home, name: &str) -> String {
    let (mut client, session) = Client::with_session(home);
    for turn in 0..20 {
        assert_eq!(client.prompt(&session, &format!("say {name}-{turn}.")), "end_turn");
    }
    let log = Value::from(client.log.clone()).to_string();
    assert!(!log.contains("locked") && !log.contains("ot saved"), "{log}");
    assert!(client.close().success());
    session
}

#[test]
fn many_processes_that_start_at_once_update_an_old_store_once() {
    let home = Home::new();
    crate::versions::make_old_store(&home);
    let home = &home;
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let (status, listed, stderr) = run(home.command(&["sessions", "list"]), "");
                assert!(status.success() && listed.contains("old"), "{listed} {stderr}");
            });
        }
    });
    let connection = Connection::open(home.state().join("state.db")).unwrap();
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM events"), 2);
    assert_eq!(count("SELECT count(*) FROM sessions WHERE key = 1"), 1);
    assert!(count("PRAGMA user_version") > 1);
    check_integrity(home);
    let copy = home.state().join("state.db.schema-1.bak");
    let mode = std::os::unix::fs::PermissionsExt::mode(&copy.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let copy = Connection::open(copy).unwrap();
    let version: i64 = copy.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1, "it is as it was before");
    let body: String = copy
        .query_row("SELECT body FROM events WHERE seq = 1", [], |row| row.get(0))
        .unwrap();
    assert!(body.contains("say before."), "{body}");
}

#[test]
fn two_processes_work_at_once_on_one_home() {
    let home = Home::new();
    let home = &home;
    let sessions = thread::scope(|scope| {
        let workers = ["one", "two"].map(|name| scope.spawn(move || (name, work(home, name))));
        workers.map(|worker| worker.join().unwrap())
    });
    let mut client = Client::initialized(home, json!({}));
    let page = client.request("session/list", json!({})).unwrap();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 2, "{page}");
    for (name, session) in sessions {
        let from = load(&mut client, &session, &home.workspace()).unwrap();
        let expect: Vec<String> = (0..20).map(|turn| format!("say {name}-{turn}.")).collect();
        assert_eq!(asked(&client, from), expect);
        let said = client.said(from);
        let all = (0..20).all(|turn| said.contains(&format!("{name}-{turn}.")));
        assert!(all, "{said}");
    }
    check_integrity(home);
}

#[test]
fn a_session_that_another_process_works_in_can_be_read_and_not_prompted() {
    let home = Home::new();
    let (mut first, session) = Client::with_session(&home);
    assert_eq!(first.prompt(&session, "say one"), "end_turn");
    let mut second = Client::initialized(&home, json!({}));
    let from = load(&mut second, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&second, from), ["say one"]);
    let prompt = second.begin_prompt(&session, "say two");
    let error = second.response(prompt).unwrap_err();
    let message = error["message"].as_str().unwrap();
    let ways = [
        format!("process {}", first.pid()),
        "`session/fork`".to_owned(),
        format!("`agent sessions fork {session}`"),
    ];
    for part in ways {
        assert!(message.contains(&part), "{message}");
    }
    assert_eq!(error["data"]["class"], "held", "{error}");
    // What is set there is for there, as long as the session is another's.
    let params = json!({"sessionId": session, "modeId": "plan"});
    second.request("session/set_mode", params).unwrap();
    let elsewhere = home.workspace().join("sub");
    std::fs::create_dir(&elsewhere).unwrap();
    load(&mut second, &session, &elsewhere).unwrap();
    assert_eq!(first.prompt(&session, "say three"), "end_turn");
    let log = Value::from(first.log.clone()).to_string();
    assert!(!log.contains("ot saved"), "{log}");

    let pid = first.pid();
    first.kill();
    let from = load(&mut second, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&second, from), ["say one", "say three"]);
    assert_eq!(second.prompt(&session, "say four"), "end_turn", "process {pid} is dead");
    let mut third = Client::initialized(&home, json!({}));
    let from = load(&mut third, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&third, from), ["say one", "say three", "say four"]);
}
