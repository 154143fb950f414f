//! What is kept has a limit, and what is beyond it is told.

use std::sync::Arc;

use agent_core::approval::Mode;
use agent_core::config::Config;
use agent_core::event::Hash;
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use talaria_tests::stage::Stage;

use super::{patch, read, says_of, told, write};
use crate::{nothing, says};

/// A session that keeps so many MiB.
fn stage(max_mb: u64, turns: Vec<Vec<ScriptStep>>) -> Stage {
    let reply = |calls| [ScriptReply::new(calls), says("done")];
    let script = Script::from_replies(turns.into_iter().flat_map(reply).collect());
    let mut config = Config::default();
    config.undo.max_mb = max_mb;
    config.agent.mode = Mode::DontAsk;
    Stage::with(Arc::new(script), config, Store::memory())
}

fn text(letter: &str, kib: usize) -> String {
    letter.repeat(kib * 1024)
}

#[test]
fn the_oldest_goes_first() {
    let turn = |letter: &str| vec![read("a"), write("a", &text(letter, 400))];
    let mut stage = stage(1, vec![turn("1"), turn("2"), turn("3"), turn("4")]);
    stage.file("a", &text("0", 400));
    for prompt in ["1", "2", "3", "4"] {
        stage.turn(prompt, nothing);
    }
    let mut kept = |letter: &str| {
        stage
            .store
            .kept(&Hash::of(text(letter, 400).as_bytes()))
            .unwrap()
            .is_some()
    };
    assert_eq!(["0", "1", "2", "3"].map(&mut kept), [false, false, true, true]);
    says_of(&mut stage, "/rewind 3", &["is not kept any more", "undo.max_mb"]);
    assert!(stage.read("a") == text("4", 400), "nothing is touched");
    says_of(&mut stage, "/rewind 2", &["Files put back"]);
    assert!(stage.read("a") == text("2", 400));
    says_of(&mut stage, "/redo", &["Files put back"]);
    assert!(stage.read("a") == text("4", 400));
}

#[test]
fn the_same_bytes_are_kept_once() {
    let go = |letter: &str| vec![read("a"), write("a", &text(letter, 400))];
    let turns = ["1", "0", "1", "0", "1", "0"].map(go).to_vec();
    let count = turns.len();
    let mut stage = stage(1, turns);
    stage.file("a", &text("0", 400));
    for _ in 0..count {
        stage.turn("go", nothing);
    }
    says_of(&mut stage, &format!("/rewind {count}"), &["Files put back"]);
    assert!(stage.read("a") == text("0", 400));
}

#[test]
fn a_file_beyond_the_limit_is_told_of_once_a_turn() {
    let calls = vec![
        read("a"),
        write("a", "small"),
        read("b"),
        write("b", "small"),
        read("c"),
        write("c", "small"),
    ];
    let mut stage = stage(1, vec![calls]);
    stage
        .file("a", &text("0", 1100))
        .file("b", &text("1", 1100))
        .file("c", "c");
    let lines = stage.turn("go", nothing);
    assert_eq!(
        lines.matches("is not kept, and /undo can't put it back").count(),
        1,
        "{lines}"
    );
    says_of(&mut stage, "/undo", &["is not kept any more"]);
    assert_eq!((stage.read("a"), stage.read("c")), ("small".into(), "small".into()));
    says_of(&mut stage, "/undo keep", &["Left as they are"]);
    assert_eq!((stage.read("a"), stage.read("c")), ("small".into(), "c".into()));
}

#[test]
fn nothing_is_kept_where_the_user_wants_that() {
    let mut stage = stage(0, vec![vec![patch(&["*** Delete File: a"])]]);
    stage.file("a", "x");
    let lines = stage.turn("go", nothing);
    assert!(!lines.contains("notice"), "{lines}");
    says_of(&mut stage, "/undo", &["is not kept any more"]);
    told(&mut stage, "/undo keep");
    assert!(!stage.folder.path().join("a").exists());
}

#[test]
fn a_picture_of_the_conversation_never_goes() {
    let picture = include_bytes!("picture.png");
    let mut stage = stage(
        1,
        vec![
            vec![read("a.png")],
            vec![patch(&["*** Delete File: a.png"])],
            vec![read("b"), write("b", &text("1", 900))],
            vec![read("b"), write("b", &text("2", 900))],
            vec![],
        ],
    );
    std::fs::write(stage.folder.path().join("a.png"), picture).unwrap();
    stage.file("b", &text("0", 900));
    for _ in 0..4 {
        stage.turn("go", nothing);
    }
    let kept = stage.store.kept(&Hash::of(picture)).unwrap();
    assert_eq!(kept.as_deref(), Some(picture.as_slice()));
}

#[test]
fn what_an_undo_overwrites_is_kept_within_the_limit_but_for_the_last_one() {
    let mut stage = stage(1, vec![vec![read("a"), write("a", "1")]]);
    stage.file("a", "0");
    stage.turn("go", nothing);
    let letters = ["a", "b", "c", "d"];
    for letter in letters {
        stage.file("a", &text(letter, 1100));
        says_of(&mut stage, "/undo force", &["Files put back"]);
        told(&mut stage, "/redo");
        assert!(stage.read("a") == text(letter, 1100), "what was overwritten comes back");
    }
    let kept = letters.map(|letter| {
        let hash = Hash::of(text(letter, 1100).as_bytes());
        stage.store.kept(&hash).unwrap().is_some()
    });
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 0, "{kept:?}");
}
