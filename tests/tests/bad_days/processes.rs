//! Several processes on one home, one of them killed: nothing that was answered is lost or mixed up.

use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
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
