//! A cancel at each moment of a turn.

use agent_core::approval::{OptionKind, UserAnswer};
use agent_core::config::Config;
use agent_core::event::Event;
use agent_core::id::SessionId;
use agent_core::runtime::Runtime;
use agent_core::script::{ScriptReply, ScriptStep};
use agent_core::store::Store;
use talaria_tests::heard::Heard;
use talaria_tests::stage::Stage;

use crate::{answering, check, creates, nothing, runs, says};

#[test]
fn cancel_while_waiting_for_the_model_ends_the_turn() {
    let model = Heard::new(vec![ScriptReply::new([ScriptStep::WaitCancel]), says("next")]);
    let mut stage = Stage::with(model.clone(), Config::default(), Store::memory());
    let turn = stage.prompt("go");
    model.wait_requests(1);
    stage.runtime.cancel(&stage.session);
    let lines = stage.until(nothing, |envelope| {
        envelope.turn == Some(turn) && envelope.event.ends_turn()
    });
    check(&lines, "user: go\ntitle: go\nturn: Cancelled");
    let lines = stage.turn("again", nothing);
    assert!(lines.ends_with("turn: EndTurn\n"), "{lines}");
}

#[test]
fn cancel_in_mid_stream_keeps_what_was_said() {
    let reply = ScriptReply::new([ScriptStep::text("so far"), ScriptStep::WaitCancel]);
    let mut stage = Stage::new(vec![reply, says("next")]);
    let lines = stage.turn("go", cancelling(|event| matches!(event, Event::AgentText { .. })));
    check(&lines, "user: go\ntitle: go\ntext m1: so far\nturn: Cancelled");
    assert!(stage.replay().contains("text m1: so far\nturn: Cancelled"));
}

#[test]
fn cancel_while_a_tool_runs_ends_its_call() {
    let mut stage = Stage::new(vec![ScriptReply::new([runs("sleep 600")]), says("next")]);
    let running = |event: &Event| matches!(event, Event::ApprovalDecided { .. });
    let mut answer = answering(UserAnswer::Chose(OptionKind::AllowOnce));
    let mut cancel = cancelling(running);
    let lines = stage.turn("go", |runtime, session, event| {
        answer(runtime, session, event);
        cancel(runtime, session, event);
    });
    assert!(lines.contains("end c1: Cancelled"), "{lines}");
    assert!(lines.ends_with("turn: Cancelled\n"), "{lines}");
}

#[test]
fn cancel_while_asking_denies_and_a_late_answer_is_ignored() {
    let mut stage = Stage::new(vec![ScriptReply::new([creates("a.txt")]), says("next")]);
    let mut question = None;
    let lines = stage.turn("go", |runtime, session, event| {
        if let Event::ApprovalRequested { approval } = event {
            runtime.cancel(session);
            question = Some(approval.id.clone());
        }
    });
    assert!(
        lines.contains("decided q1: Cancelled by Cancel\nend c1: Cancelled"),
        "{lines}"
    );
    let allow = UserAnswer::Chose(OptionKind::AllowOnce);
    stage.runtime.decide(&stage.session, &question.unwrap(), allow);
    let lines = stage.turn("again", nothing);
    assert!(lines.ends_with("turn: EndTurn\n"), "{lines}");
    assert_eq!(stage.read("a.txt"), "");
}

#[test]
fn cancel_right_behind_the_prompt_always_cancels() {
    let replies = (0..200).map(|_| says("full turn")).collect();
    let mut stage = Stage::new(replies);
    for _ in 0..200 {
        let turn = stage.prompt("go");
        stage.runtime.cancel(&stage.session);
        let lines = stage.until(nothing, |envelope| {
            envelope.turn == Some(turn) && envelope.event.ends_turn()
        });
        assert!(lines.ends_with("turn: Cancelled\n"), "{lines}");
    }
}

#[test]
fn cancel_while_idle_does_nothing_to_the_next_prompt() {
    let mut stage = Stage::new(vec![says("hello")]);
    stage.runtime.cancel(&stage.session);
    stage.runtime.cancel(&SessionId::from("no such session"));
    assert!(stage.turn("go", nothing).ends_with("turn: EndTurn\n"));
}

/// Cancels at the first event that is meant.
fn cancelling(is_meant: impl Fn(&Event) -> bool) -> impl FnMut(&Runtime, &SessionId, &Event) {
    move |runtime, session, event| {
        if is_meant(event) {
            runtime.cancel(session);
        }
    }
}
