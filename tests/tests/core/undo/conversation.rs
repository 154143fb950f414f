//! The conversation goes back with the files, for the model and for who loads it.

use agent_core::event::{ErrorClass, Failure, Hash};
use agent_core::outward::Answer;
use agent_core::runtime::Folders;
use agent_core::script::{ScriptReply, ScriptStep};
use talaria_tests::stage::Stage;

use super::{again, replace, says_of, stage, told, write};
use crate::{nothing, says};

/// A prompt a turn, each of which changes the file on.
fn three_turns() -> Stage {
    let turn = |old: &str, new: &str| vec![replace("a", old, new)];
    let mut stage = stage(vec![turn("0", "1"), turn("1", "2"), turn("2", "3")]);
    stage.file("a", "0");
    for prompt in ["one", "two", "three"] {
        stage.turn(prompt, nothing);
    }
    stage
}

/// What the user said, as a load shows it.
fn asked(stage: &mut Stage) -> Vec<String> {
    let lines = stage.replay();
    let asked = lines.lines().filter_map(|line| line.strip_prefix("user: "));
    asked
        .map(|line| line.replace(" (command)", "").replace(" + 1 for the model", ""))
        .collect()
}

#[test]
fn a_load_shows_what_stands() {
    let mut stage = three_turns();
    let mut check = |command: &str, expect: &[&str]| {
        told(&mut stage, command);
        assert_eq!(asked(&mut stage), expect, "{command}");
    };
    check("/undo", &["/mode dont_ask", "one", "two", "/undo"]);
    check("/help", &["/mode dont_ask", "one", "two", "/undo", "/help"]);
    check("/undo", &["/mode dont_ask", "one", "/undo"]);
    check("/redo", &["/mode dont_ask", "one", "two", "/undo", "/help", "/redo"]);
    check("/redo", &["/mode dont_ask", "one", "two", "three", "/redo"]);
    check("/rewind 2", &["/mode dont_ask", "one", "/rewind 2"]);
    check("/redo", &["/mode dont_ask", "one", "two", "three", "/redo", "/redo"]);
    let mut stage = again(stage, vec![]);
    told(&mut stage, "/undo");
    assert_eq!(asked(&mut stage).last().unwrap(), "/undo");
}

#[test]
fn the_model_is_told_of_what_stands() {
    let mut stage = three_turns();
    let mut check = |command: &str, expect: &str| {
        told(&mut stage, command);
        let counts = told(&mut stage, "/context");
        assert!(counts.contains(expect), "{command}: {counts}");
    };
    check("/version", "3 of yours, 6 of the model, 3 results of tools");
    check("/undo", "2 of yours, 4 of the model, 2 results of tools");
    check("/rewind 2", "0 of yours, 0 of the model, 0 results of tools");
    check("/redo", "2 of yours, 4 of the model, 2 results of tools");
    check("/redo", "3 of yours, 6 of the model, 3 results of tools");
}

#[test]
fn a_new_prompt_ends_what_can_be_redone() {
    let mut stage = again(three_turns(), vec![says("four"), says("five")]);
    told(&mut stage, "/undo");
    stage.turn("four", nothing);
    says_of(&mut stage, "/redo", &["nothing to redo"]);
    assert_eq!(stage.read("a"), "2");
    says_of(&mut stage, "/undo", &["Taken back: `four`", "No file was changed"]);
    says_of(&mut stage, "/redo", &["There again: `four`"]);
    says_of(&mut stage, "/rewind 3", &["the last 3 turns"]);
    assert_eq!(stage.read("a"), "0");
}

#[test]
fn a_summary_in_between_is_taken_back_too() {
    let mut stage = again(three_turns(), vec![says("a summary"), says("four")]);
    says_of(&mut stage, "/compact", &["summarised"]);
    let counts = |stage: &mut Stage| told(stage, "/context").split("Messages: ").nth(1).unwrap().to_owned();
    let short = counts(&mut stage);
    told(&mut stage, "/undo");
    assert_eq!(stage.read("a"), "2");
    assert_eq!(counts(&mut stage), "2 of yours, 4 of the model, 2 results of tools.");
    told(&mut stage, "/redo");
    assert_eq!(counts(&mut stage), short);
    stage.turn("four", nothing);
    told(&mut stage, "/undo");
    assert_eq!(
        counts(&mut stage),
        short,
        "what came before the summary stays summarised"
    );
}

#[test]
fn what_was_cleared_is_not_taken_back() {
    let mut stage = three_turns();
    told(&mut stage, "/undo");
    told(&mut stage, "/clear");
    says_of(&mut stage, "/undo", &["no turn to take back"]);
    says_of(&mut stage, "/redo", &["nothing to redo"]);
    assert_eq!(stage.read("a"), "2");
}

#[test]
fn a_turn_that_failed_is_taken_back_as_any_other() {
    let failure = Failure::new(ErrorClass::BadRequest, "no");
    let failure = ScriptReply::new([ScriptStep::Fail(Box::new(failure))]);
    let edit = ScriptReply::new([replace("a", "0", "1")]);
    let mut stage = again(stage(vec![]), vec![edit, failure]);
    stage.file("a", "0");
    let lines = stage.turn("go", nothing);
    assert!(lines.contains("turn failed"), "{lines}");
    assert_eq!(stage.read("a"), "1");
    says_of(&mut stage, "/undo", &["Taken back: `go`"]);
    assert_eq!(stage.read("a"), "0");
}

#[test]
fn an_undo_waits_for_the_turn_that_runs() {
    let mut stage = stage(vec![vec![write("a", "x")]]);
    stage.prompt("go");
    let undo = stage.prompt("/undo");
    stage.until(nothing, |envelope| {
        envelope.turn == Some(undo) && envelope.event.ends_turn()
    });
    assert!(!stage.folder.path().join("a").exists());
}

#[test]
fn a_fork_takes_back_what_it_has_of_the_other() {
    let mut stage = three_turns();
    told(&mut stage, "/undo");
    let parent = stage.session.clone();
    let folders = Folders {
        cwd: stage.folder.path().to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    let call = stage.runtime.fork(parent.clone(), folders, None);
    match stage.answer(call) {
        Ok(Answer::Created(view)) => stage.session = view.id,
        other => panic!("{other:?}"),
    }
    says_of(&mut stage, "/redo", &["nothing to redo"]);
    says_of(
        &mut stage,
        "/undo",
        &["Taken back: `two`", "forked from", parent.as_str()],
    );
    says_of(&mut stage, "/undo", &["Taken back: `one`"]);
    assert_eq!(stage.read("a"), "0");
    // There the file has changed since.
    let fork = std::mem::replace(&mut stage.session, parent);
    says_of(&mut stage, "/undo", &["`a` has changed since"]);
    stage.session = fork;
    says_of(&mut stage, "/redo", &["There again: `one`"]);
    says_of(&mut stage, "/redo", &["There again: `two`"]);
    assert_eq!(stage.read("a"), "2");
}

#[test]
fn what_was_kept_goes_with_the_last_session_that_has_it() {
    let mut stage = three_turns();
    let kept = Hash::of(b"0");
    assert_eq!(stage.store.kept(&kept).unwrap().as_deref(), Some(b"0".as_slice()));
    let call = stage.runtime.delete(stage.session.clone());
    stage.answer(call).unwrap();
    assert_eq!(stage.store.kept(&kept).unwrap(), None);
}
