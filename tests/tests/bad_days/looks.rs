//! A history that can't be written, or is gone, is looked at: what can be shown is, and what is wrong is told once.

use std::fs;

use rusqlite::Connection;
use serde_json::json;
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{load, times_told, with_mounts};

use crate::full_disk::on_a_full_disk;

/// Mounts the home so that nothing in it can be written, and goes on with a script.
fn read_only(home: &Home, script: &str) -> Option<std::process::Command> {
    let mounts = "mount --bind \"$TALARIA_HOME\" \"$TALARIA_HOME\" && \
                  mount -o remount,bind,ro \"$TALARIA_HOME\" && ";
    with_mounts(home, &format!("{mounts}{{ {script}; }}"))
}

const LOOKS: &str = "\"$1\" sessions list && \"$1\" sessions search quince && \"$1\" sessions show \"$SESSION\"";

fn check_looks(command: std::process::Command) {
    let (status, out, errors) = run(command, "");
    assert!(status.success(), "{out} {errors}");
    assert_eq!(out.matches("TITLE").count(), 1, "{out}");
    assert!(
        out.contains("say **quince**") && out.contains("> say quince\n"),
        "{out}"
    );
    assert_eq!(errors, "");
}

#[test]
fn a_history_that_can_only_be_read_is_listed_searched_and_shown() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say quince"), "end_turn");
    assert!(client.close().success());
    let Some(mut command) = read_only(&home, LOOKS) else {
        return;
    };
    command.env("SESSION", &session);
    check_looks(command);

    // An agent that died has left its log. What is only in there is read, or it is said that it can't be.
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(client.prompt(&session, "say medlar"), "end_turn");
    client.kill();
    let log = home.state().join("state.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    let last = "\"$1\" sessions search medlar";
    let (status, out, errors) = run(read_only(&home, last).unwrap(), "");
    assert!(status.success() && out.contains("say **medlar**"), "{out} {errors}");
    fs::remove_file(home.state().join("state.db-shm")).unwrap();
    let (status, out, errors) = run(read_only(&home, "\"$1\" sessions list").unwrap(), "");
    assert_eq!((status.code(), out.as_str()), (Some(1), ""), "{errors}");
    assert!(
        errors.contains("state.db-wal holds what was said last") && errors.contains("its folder can't be written"),
        "{errors}"
    );
}

#[test]
fn a_history_that_is_gone_is_told_once_with_its_copies() {
    let told = "is not there any more, and a new one begins";
    let list = |home: &Home| run(home.command(&["sessions", "list"]), "");

    let home = Home::new();
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "the first one is no loss: {errors}");
    run(home.command(&["run", "say one"]), "");
    let database = home.state().join("state.db");
    fs::remove_file(&database).unwrap();
    let (status, _, errors) = list(&home);
    assert!(status.success());
    assert!(
        errors.contains(&format!("warning: the history file {} {told}", database.display())),
        "{errors}"
    );
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "{errors}");

    fs::remove_file(&database).unwrap();
    let copies = ["state.db.schema-8.bak", "state.db.damaged-2026-11-30-181512Z"].map(|name| home.state().join(name));
    for copy in &copies {
        fs::write(copy, "a copy").unwrap();
    }
    let (_, shown, _) = run(home.command(&["doctor", "--offline"]), "");
    for part in [told, copies[0].to_str().unwrap(), copies[1].to_str().unwrap()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    fs::remove_file(&database).unwrap();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say two"), "end_turn");
    assert_eq!(client.prompt(&session, "say three"), "end_turn");
    assert_eq!(times_told(&client, 0, told), 1);

    // An older version, or a user, has made the folder and no more.
    let home = Home::new();
    fs::create_dir_all(home.state().join("logs")).unwrap();
    fs::write(home.state().join("state.lock"), "").unwrap();
    let (_, _, errors) = list(&home);
    assert!(!errors.contains(told), "{errors}");
}

#[test]
fn trouble_with_the_history_is_told_once_and_not_logged_on_a_terminal() {
    // Where the log is a file that can be read afterwards: another program keeps the database from being written.
    let home = Home::new();
    run(home.command(&["run", "say one"]), "");
    let other = Connection::open(home.state().join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (status, _, errors) = run(home.command(&["sessions", "prune", "--older-than", "0d", "--yes"]), "");
    assert_eq!(status.code(), Some(1), "{errors}");
    assert_eq!(errors.matches("another program is writing").count(), 1, "{errors}");
    assert!(!errors.contains("WARN") && !errors.contains("ERROR"), "{errors}");
    other.execute_batch("ROLLBACK").unwrap();
    let logs = fs::read_dir(home.state().join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let logged: String = logs.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(logged.contains("can't store now"), "{logged}");

    for spare in [0, 49_152] {
        let home = Home::with_config("");
        let turn = "\"$1\" run 'say two' > /dev/null";
        let Some(command) = on_a_full_disk(&home, spare, turn) else {
            return;
        };
        let (_, _, errors) = run(command, "");
        assert_eq!(errors.matches("Not saved yet").count(), 1, "{errors}");
        assert_eq!(errors.matches("was not saved").count(), 1, "{errors}");
        assert!(!errors.contains("WARN") && !errors.contains("ERROR"), "{errors}");
    }
}
