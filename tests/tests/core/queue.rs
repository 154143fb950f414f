//! Prompts that wait for a turn, and what does not wait.

use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::event::Event;
use agent_core::outward::{Answer, CallError};
use agent_core::script::{ScriptReply, ScriptStep};
use agent_core::store::Store;
use talaria_tests::heard::Heard;
use talaria_tests::stage::Stage;

use crate::{check, nothing, says};

#[test]
fn queued_prompts_run_in_order_and_a_cancel_ends_those_queued_by_then() {
    let model = Heard::new(vec![ScriptReply::new([ScriptStep::WaitCancel]), says("third")]);
    let mut stage = Stage::with(model.clone(), Config::default(), Store::memory());
    stage.prompt("one");
    stage.prompt("two");
    let lines = stage.until(nothing, |envelope| {
        matches!(envelope.event, Event::SessionChanged { .. })
    });
    check(&lines, "user: one\ntitle: one");
    model.wait_requests(1);
    stage.runtime.cancel(&stage.session);
    let third = stage.prompt("three");
    let lines = stage.until(nothing, |envelope| {
        envelope.turn == Some(third) && envelope.event.ends_turn()
    });
    check(
        &lines,
        "turn: Cancelled
         user: two
         turn: Cancelled
         user: three
         text m1: third
         step 1: Stop
         turn: EndTurn",
    );
}

#[test]
fn a_command_that_only_tells_does_not_wait_for_the_turn() {
    let mut stage = Stage::new(vec![ScriptReply::new([
        ScriptStep::text("busy"),
        ScriptStep::WaitCancel,
    ])]);
    let long = stage.prompt("go");
    stage.until(nothing, |envelope| matches!(envelope.event, Event::AgentText { .. }));
    let lines = stage.turn("/version", nothing);
    assert!(
        lines.starts_with("user: /version (command)\ntext m2: Talaria "),
        "{lines}"
    );
    stage.runtime.cancel(&stage.session);
    stage.until(nothing, |envelope| {
        envelope.turn == Some(long) && envelope.event.ends_turn()
    });
}

#[test]
fn prompts_beyond_what_a_queue_holds_are_refused_until_it_is_shorter() {
    let mut stage = Stage::new(vec![ScriptReply::new([ScriptStep::WaitCancel]), says("Yes.")]);
    // A little more than half. It is no text, which would be searched for a title and for commands, and indexed.
    let large = || {
        vec![Content::Resource {
            uri: "file:///large".into(),
            mime_type: None,
            text: "x".repeat(33 << 20),
        }]
    };
    let prompt = |stage: &Stage, content| stage.runtime.prompt(&stage.session, content);
    stage.prompt("wait");
    let queued = prompt(&stage, large()).unwrap();
    assert_eq!(prompt(&stage, large()), Err(CallError::QueueFull));
    assert!(prompt(&stage, vec![Content::text("small")]).is_ok());
    stage.runtime.cancel(&stage.session);
    stage.until(nothing, |envelope| {
        envelope.turn == Some(queued) && envelope.event.ends_turn()
    });
    assert!(prompt(&stage, large()).is_ok());
}

#[test]
fn closing_ends_the_turn_first() {
    let mut stage = Stage::new(vec![ScriptReply::new([ScriptStep::WaitCancel])]);
    let turn = stage.prompt("go");
    let call = stage.runtime.close(stage.session.clone());
    stage.until(nothing, |envelope| {
        envelope.turn == Some(turn) && envelope.event.ends_turn()
    });
    assert_eq!(stage.answer(call), Ok(Answer::Closed));
    assert!(stage.runtime.prompt(&stage.session, Vec::new()).is_err());
    assert!(stage.replay().ends_with("turn: Cancelled\n"));
}
