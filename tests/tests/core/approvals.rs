//! Questions about a call, and what becomes of it.

use std::sync::Arc;

use agent_core::approval::{Mode, OptionKind, UserAnswer};
use agent_core::config::{ApprovalConfig, Config};
use agent_core::event::{Event, SessionChange};
use agent_core::runtime::SetOption;
use agent_core::script::{Script, ScriptReply};
use agent_core::store::Store;
use talaria_tests::stage::Stage;

use crate::{answering, check, creates, nothing, runs, says};

#[test]
fn an_edit_is_shown_asked_and_made() {
    let mut stage = Stage::new(vec![ScriptReply::new([creates("a.txt")]), says("done")]);
    let lines = stage.turn("go", answering(UserAnswer::Chose(OptionKind::AllowOnce)));
    assert_eq!(stage.read("a.txt"), "x\n");
    let lines: Vec<&str> = lines
        .lines()
        .filter(|line| !line.starts_with("end c1: Completed"))
        .collect();
    check(
        &lines.join("\n"),
        r#"user: go
           title: go
           step 1: ToolCalls
           call c1: write_file "Write a.txt"
           plan c1: change nothing -> "x\n"
           ask q1 about c1: allow_once allow_always reject_once
           decided q1: Allowed by User
           kept 1
           text m1: done
           step 2: Stop
           turn: EndTurn"#,
    );
}

#[test]
fn a_refused_edit_changes_nothing_and_the_model_goes_on() {
    for answer in [UserAnswer::Chose(OptionKind::RejectOnce), UserAnswer::Invalid] {
        let mut stage = Stage::new(vec![ScriptReply::new([creates("a.txt")]), says("as you wish")]);
        let lines = stage.turn("go", answering(answer));
        assert_eq!(stage.read("a.txt"), "");
        assert!(lines.contains("decided q1: Rejected"), "{lines}");
        assert!(lines.contains("end c1: Denied"), "{lines}");
        assert!(
            lines.ends_with("text m1: as you wish\nstep 2: Stop\nturn: EndTurn\n"),
            "{lines}"
        );
    }
}

#[test]
fn a_closed_question_ends_the_turn_and_the_rest_of_the_reply() {
    let reply = ScriptReply::new([creates("a.txt"), creates("b.txt"), runs("touch c.txt")]);
    let mut stage = Stage::new(vec![reply, says("never asked")]);
    let lines = stage.turn("go", answering(UserAnswer::Cancelled));
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(!stage.folder.path().join(name).exists(), "{name}");
    }
    assert_eq!(lines.matches("Cancelled Not run").count(), 3, "{lines}");
    assert!(lines.ends_with("turn: Cancelled\n"), "{lines}");
    assert!(!lines.contains("never asked"), "{lines}");
}

#[test]
fn allow_always_for_edits_holds_for_the_session() {
    let mut stage = Stage::new(vec![
        ScriptReply::new([creates("a.txt"), creates("b.txt")]),
        says("done"),
        ScriptReply::new([creates("c.txt")]),
        says("done"),
    ]);
    let first = stage.turn("go", answering(UserAnswer::Chose(OptionKind::AllowAlways)));
    assert_eq!(first.matches("ask q").count(), 1, "{first}");
    let second = stage.turn("again", nothing);
    assert_eq!(second.matches("ask q").count(), 0, "{second}");
    assert_eq!(stage.read("c.txt"), "x\n");
}

#[test]
fn where_nobody_can_be_asked_the_model_hears_of_no_refusal() {
    let mut stage = Stage::new(vec![ScriptReply::new([creates("a.txt")]), says("ok")]);
    let lines = stage.turn("go", answering(UserAnswer::Nobody));
    assert!(lines.contains("decided q1: Unanswered by Default"), "{lines}");
    assert!(lines.contains("That is no refusal by the user"), "{lines}");
}

#[test]
fn a_question_nobody_answers_is_denied_after_its_time() {
    let config = Config {
        approvals: ApprovalConfig {
            timeout_s: 1,
            deny: Vec::new(),
        },
        ..Config::default()
    };
    let replies = vec![ScriptReply::new([creates("a.txt")]), says("on my own then")];
    let script = Script::from_replies(replies);
    let mut stage = Stage::with(Arc::new(script), config, Store::memory());
    let lines = stage.turn("go", nothing);
    assert!(lines.contains("decided q1: Unanswered by Timeout"), "{lines}");
    assert!(lines.contains("Denied Not run: nobody answered"), "{lines}");
    assert!(!stage.folder.path().join("a.txt").exists());
}

#[test]
fn the_mode_can_be_set_during_a_turn() {
    let mut stage = Stage::new(vec![
        ScriptReply::new([creates("a.txt"), creates("b.txt")]),
        says("done"),
    ]);
    let mut question = None;
    let lines = stage.turn("go", |runtime, session, event| {
        if let Event::ApprovalRequested { approval } = event {
            question = Some(approval.id.clone());
            runtime.set_option(session.clone(), SetOption::Mode(Mode::AcceptEdits.id().into()));
        }
        if let (Event::SessionChanged { .. }, Some(question)) = (event, question.take_if(|_| is_mode(event))) {
            runtime.decide(session, &question, UserAnswer::Chose(OptionKind::AllowOnce));
        }
    });
    assert_eq!(lines.matches("ask q").count(), 1, "{lines}");
    assert_eq!(stage.read("b.txt"), "x\n");
}

fn is_mode(event: &Event) -> bool {
    matches!(
        event,
        Event::SessionChanged {
            change: SessionChange::Mode(_)
        }
    )
}
