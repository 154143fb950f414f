//! The process dies at the worst moment; the next one finds its way.

use std::fs;

use agent_core::change::FileChange;
use agent_core::event::{Envelope, Event, Hash, KeptFile, OldFile, ToolOutcome, ToolOutput, ToolStatus};
use agent_core::id::TurnId;
use agent_core::plan::{Place, Plan};
use agent_core::script::ScriptReply;
use agent_core::store::Durability;
use talaria_tests::stage::Stage;

use super::{again, patch, replace, says_of, stage, told, tree, write};
use crate::{nothing, says};

/// A file that was about to change from this to that.
fn old(stage: &Stage, name: &str, before: Option<&str>, after: Option<&str>) -> OldFile {
    let path = stage.folder.path().canonicalize().unwrap().join(name);
    let place = Place {
        path: stage.folder.path().join(name),
        real: path,
    };
    let before = before.map(|text| (text.as_bytes().into(), Some(0o644)));
    OldFile::new(place, before, after.map(|text| Hash::of(text.as_bytes())))
}

/// Stores what a process that died has kept, as the turn's last word.
fn keep(stage: &Stage, turn: Option<TurnId>, files: Vec<OldFile>) {
    let events = stage.store.events(&stage.session, 0, usize::MAX).unwrap();
    let last = events.last().unwrap();
    let bytes = files.iter().filter_map(|file| file.bytes.clone()).collect();
    let files: Vec<KeptFile> = files.into_iter().map(|file| file.file).collect();
    let envelope = Envelope {
        session: stage.session.clone(),
        turn: turn.or(last.turn),
        seq: last.seq + 1,
        event: Event::FilesKept { call: None, files },
    };
    stage.store.keep(&stage.session, envelope, bytes, u64::MAX);
}

#[test]
fn an_edit_that_was_kept_may_have_been_made_or_not() {
    for was_made in [false, true] {
        let mut stage = stage(vec![vec![replace("a", "0", "1")]]);
        stage.file("a", "0");
        stage.turn("go", nothing);
        let stage = stage.restart(vec![]);
        keep(
            &stage,
            None,
            vec![
                old(&stage, "a", Some("1"), Some("2")),
                old(&stage, "b", None, Some("b")),
            ],
        );
        if was_made {
            stage.file("a", "2").file("b", "b");
        }
        let mut stage = stage;
        stage.replay();
        says_of(&mut stage, "/undo", &["Files put back"]);
        assert_eq!(stage.read("a"), "0");
        assert!(!stage.folder.path().join("b").exists());
    }
}

#[test]
fn a_change_of_which_nothing_was_kept_is_told() {
    let mut stage = stage(vec![vec![]]);
    stage.file("a", "1");
    stage.turn("go", nothing);
    let mut stage = stage.restart(vec![]);
    let place = old(&stage, "a", None, None).file.place;
    let plan = Plan::Change {
        changes: vec![FileChange::new(place, Some("0"), Some("1"))],
    };
    let planned = Event::ToolPlanned {
        id: "c".into(),
        plan,
        locations: Vec::new(),
        runs: true,
    };
    let outcome = ToolOutcome {
        status: ToolStatus::Completed,
        output: ToolOutput::text("done"),
    };
    let finished = Event::ToolFinished {
        id: "c".into(),
        outcome,
    };
    let events = stage.store.events(&stage.session, 0, usize::MAX).unwrap();
    let last = events.last().unwrap();
    let envelope = |(seq, event)| Envelope {
        seq,
        event,
        ..last.clone()
    };
    let envelopes = (last.seq + 1..).zip([planned, finished]).map(envelope).collect();
    stage.store.append(&stage.session, envelopes, Durability::Disk);
    stage.replay();
    says_of(
        &mut stage,
        "/undo",
        &["was not kept when it was changed", "`/undo keep`"],
    );
    says_of(&mut stage, "/undo keep", &["Taken back: `go`", "was not kept"]);
    assert_eq!(stage.read("a"), "1");
}

#[test]
fn an_undo_that_broke_off_is_carried_on() {
    // Bit by bit what it had come to when the process died.
    for done in 0..8 {
        let mut stage = stage(vec![vec![
            replace("a", "0", "1"),
            write("b", "b"),
            patch(&["*** Delete File: c"]),
        ]]);
        stage.file("a", "0").file("c", "c");
        let before = tree(stage.folder.path());
        stage.turn("go", nothing);
        let after = tree(stage.folder.path());
        let stage = stage.restart(vec![]);
        let files = vec![
            old(&stage, "a", Some("1"), Some("0")),
            old(&stage, "b", Some("b"), None),
            old(&stage, "c", None, Some("c")),
        ];
        keep(&stage, Some(TurnId(1000)), files);
        if done & 1 > 0 {
            stage.file("a", "0");
        }
        if done & 2 > 0 {
            fs::remove_file(stage.folder.path().join("b")).unwrap();
        }
        if done & 4 > 0 {
            stage.file("c", "c");
        }
        let mut stage = stage;
        stage.replay();
        says_of(&mut stage, "/undo", &["Taken back: `go`"]);
        assert_eq!(tree(stage.folder.path()), before, "{done}");
        let mut stage = again(stage, vec![]);
        says_of(&mut stage, "/redo", &["There again: `go`"]);
        assert_eq!(tree(stage.folder.path()), after, "{done}");
        says_of(&mut stage, "/undo", &["Taken back: `go`"]);
        assert_eq!(tree(stage.folder.path()), before, "{done}");
    }
}

#[test]
fn a_forced_undo_that_broke_off_still_knows_what_others_wrote() {
    let mut stage = stage(vec![vec![replace("a", "0", "1")]]);
    stage.file("a", "0");
    stage.turn("go", nothing);
    let stage = stage.restart(vec![]);
    keep(
        &stage,
        Some(TurnId(1000)),
        vec![old(&stage, "a", Some("theirs"), Some("0"))],
    );
    stage.file("a", "0");
    let mut stage = stage;
    stage.replay();
    says_of(&mut stage, "/undo", &["held that already"]);
    told(&mut stage, "/redo");
    assert_eq!(stage.read("a"), "theirs");
}

#[test]
fn a_redo_that_broke_off_is_carried_on_or_taken_back() {
    for command in ["/redo", "/undo"] {
        let mut stage = stage(vec![vec![replace("a", "0", "1")], vec![replace("a", "1", "2")]]);
        stage.file("a", "0");
        stage.turn("one", nothing);
        stage.turn("two", nothing);
        told(&mut stage, "/undo");
        let stage = stage.restart(vec![]);
        keep(&stage, Some(TurnId(1000)), vec![old(&stage, "a", Some("1"), Some("2"))]);
        stage.file("a", "2");
        let mut stage = stage;
        stage.replay();
        let says = if command == "/redo" {
            "There again: `two`"
        } else {
            "Taken back: `one`"
        };
        says_of(&mut stage, command, &[says]);
        assert_eq!(stage.read("a"), if command == "/redo" { "2" } else { "0" });
    }
}

#[test]
fn what_a_redo_that_broke_off_has_overwritten_comes_back_with_the_next_undo() {
    for (has_other_turn, goes_on) in [(false, true), (true, false), (true, true)] {
        let mut turns = vec![
            vec![replace("a", "0", "1"), replace("b", "0", "1")],
            vec![write("c", "c")],
        ];
        if has_other_turn {
            turns.insert(0, vec![replace("d", "0", "1")]);
        }
        let mut stage = stage(turns);
        stage.file("a", "0").file("b", "0").file("d", "0");
        let before = tree(stage.folder.path());
        if has_other_turn {
            stage.turn("other", nothing);
        }
        stage.turn("go", nothing);
        told(&mut stage, "/undo");
        let stage = stage.restart(vec![ScriptReply::new(vec![write("c", "c")]), says("done")]);
        let files = vec![
            old(&stage, "a", Some("theirs"), Some("1")),
            old(&stage, "b", Some("0"), Some("1")),
        ];
        keep(&stage, Some(TurnId(1000)), files);
        stage.file("a", "1");
        let mut stage = stage;
        stage.replay();
        stage.turn("/mode dont_ask", nothing);
        if goes_on {
            stage.turn("go on", nothing);
            told(&mut stage, "/undo");
        }
        if has_other_turn {
            says_of(&mut stage, "/undo", &["Taken back: `other`", "`a`"]);
        }
        assert_eq!((stage.read("a"), stage.read("b")), ("theirs".into(), "0".into()));
        stage.file("a", "0");
        assert_eq!(tree(stage.folder.path()), before);
    }
}
