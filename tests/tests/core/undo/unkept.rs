//! What can't be stored is not overwritten by an undo, and what a turn overwrites then is told.

use std::sync::Arc;

use agent_core::approval::Mode;
use agent_core::config::Config;
use agent_core::script::{Script, ScriptReply};
use agent_core::store::Store;
use rusqlite::Connection;
use talaria_tests::stage::Stage;
use talaria_tests::start::wait_until;
use tempfile::TempDir;

use super::{read, replace, says_of, told, write};
use crate::{nothing, says};

/// A session with two turns that change a file, and the folder of its store.
fn stage() -> (Stage, TempDir) {
    let disk = tempfile::tempdir().unwrap();
    let turns = [vec![replace("a", "0", "1")], vec![read("a"), write("a", "2")]];
    let replies = turns
        .into_iter()
        .flat_map(|calls| [ScriptReply::new(calls), says("done")]);
    let script = Script::from_replies(replies.collect());
    let mut config = Config::default();
    config.agent.mode = Mode::DontAsk;
    let mut stage = Stage::with(Arc::new(script), config, Store::open(disk.path()).unwrap());
    stage.file("a", "0");
    stage.turn("go", nothing);
    (stage, disk)
}

/// Another program that holds the store.
fn hold(disk: &TempDir) -> Connection {
    let other = Connection::open(disk.path().join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

fn let_go(stage: &Stage, other: &Connection) {
    other.execute_batch("ROLLBACK").unwrap();
    wait_until("all is stored", || !stage.store.is_behind(&stage.session));
}

#[test]
fn an_undo_touches_nothing_while_what_it_overwrites_is_not_safe() {
    for command in ["/undo force", "/rewind 1 force", "/redo force"] {
        let (mut stage, disk) = stage();
        if command == "/redo force" {
            told(&mut stage, "/undo");
        }
        stage.file("a", "theirs");
        let other = hold(&disk);
        says_of(
            &mut stage,
            command,
            &["Nothing was changed", "again", "another program is writing"],
        );
        assert_eq!(stage.read("a"), "theirs", "{command}");
        let_go(&stage, &other);
        says_of(&mut stage, command.split(" f").next().unwrap(), &["has changed since"]);
        says_of(&mut stage, command, &["Files put back"]);
        assert_ne!(stage.read("a"), "theirs", "{command}");
        if command != "/redo force" {
            told(&mut stage, "/redo");
            assert_eq!(stage.read("a"), "theirs", "{command}");
        }
    }
}

#[test]
fn a_turn_goes_on_and_tells_that_what_it_overwrites_is_not_kept_yet() {
    let (mut stage, disk) = stage();
    let other = hold(&disk);
    let lines = stage.turn("go", nothing);
    assert_eq!(stage.read("a"), "2");
    assert_eq!(lines.matches("is not kept yet").count(), 1, "{lines}");
    let_go(&stage, &other);
    says_of(&mut stage, "/undo", &["Files put back"]);
    assert_eq!(stage.read("a"), "1");
}
