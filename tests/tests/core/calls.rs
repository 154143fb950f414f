//! Calls of tools: in which order they run, and which never do.

use agent_core::approval::{OptionKind, UserAnswer};
use agent_core::event::CallInput;
use agent_core::script::{ScriptReply, ScriptStep};
use serde_json::json;
use talaria_tests::stage::Stage;

use crate::{answering, creates, nothing, runs, says};

#[test]
fn reads_run_side_by_side_and_changes_in_the_models_order() {
    let mut stage = Stage::new(vec![
        ScriptReply::new([
            ScriptStep::call("read_file", json!({"path": "a.txt"})),
            runs("echo one > b.txt"),
            ScriptStep::call("read_file", json!({"path": "b.txt"})),
        ]),
        says("done"),
    ]);
    stage.file("a.txt", "a\n");
    let lines = stage.turn("go", answering(UserAnswer::Chose(OptionKind::AllowOnce)));
    let ends: Vec<&str> = lines.lines().filter(|line| line.starts_with("end ")).collect();
    assert_eq!(ends.len(), 3, "{lines}");
    assert!(
        ends[2].starts_with("end c3: Completed") && ends[2].contains("one"),
        "{lines}"
    );
}

#[test]
fn calls_that_cannot_run_fail_and_say_why() {
    let malformed = ScriptStep::Call {
        id: None,
        name: "read_file".into(),
        input: CallInput::Malformed("{\"p\":".into()),
    };
    let mut stage = Stage::new(vec![
        ScriptReply::new([ScriptStep::call("no_such_tool", json!({})), malformed]),
        says("sorry"),
    ]);
    let lines = stage.turn("go", nothing);
    assert!(
        lines.contains("end c1: Failed There is no tool `no_such_tool`"),
        "{lines}"
    );
    assert!(
        lines.contains("end c2: Failed The arguments of `read_file` are not valid JSON"),
        "{lines}"
    );
    assert!(lines.ends_with("turn: EndTurn\n"), "{lines}");
}

#[test]
fn a_reply_of_endless_calls_fails_its_turn_and_runs_none() {
    let calls: Vec<ScriptStep> = (0..30_000).map(|_| creates("a.txt")).collect();
    let mut stage = Stage::new(vec![ScriptReply::new(calls), says("fine")]);
    let lines = stage.turn("go", nothing);
    assert!(
        lines.contains("turn failed: Protocol: the model made 30000 calls"),
        "{lines}"
    );
    assert!(!lines.contains("call c"), "{lines}");
    assert!(stage.turn("again", nothing).ends_with("turn: EndTurn\n"));
}
