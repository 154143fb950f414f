//! A session between two turns: what is kept of its history is what is stored, and one that nobody uses makes room
//! for another process.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use agent_core::approval::Mode;
use agent_core::config::Config;
use agent_core::event::{ErrorClass, Event, Failure};
use agent_core::id::{SessionId, TurnId};
use agent_core::provider::Finish;
use agent_core::runtime::{Runtime, SetOption};
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use serde_json::json;
use talaria_tests::client::{Home, run};
use talaria_tests::heard::Heard;
use talaria_tests::stage::{Stage, local};
use talaria_tests::start::wait_until;

fn says(text: &str) -> ScriptReply {
    ScriptReply::new([ScriptStep::text(text)])
}

fn nothing(_: &Runtime, _: &SessionId, _: &Event) {}

/// Cancels as soon as something was said.
fn cancelling(runtime: &Runtime, session: &SessionId, event: &Event) {
    if matches!(event, Event::AgentText { .. }) {
        runtime.cancel(session);
    }
}

/// Turns of all kinds: their prompts, and the model's replies.
fn turns() -> (Vec<&'static str>, Vec<ScriptReply>) {
    let todo = ScriptStep::call(
        "todo",
        json!({"items": [{"id": "1", "content": "Look", "status": "pending"}]}),
    );
    let failure = Failure::new(ErrorClass::Server, "it is down".to_owned());
    let refused = Failure::new(ErrorClass::ContentPolicy, "not this".to_owned());
    let mut cut = says("I was going to say");
    cut.finish = Some(Finish::Length);
    let mut refusal = says("I'd rather not.");
    refusal.finish = Some(Finish::Refusal);
    let replies = vec![
        says("One."),
        ScriptReply::new([ScriptStep::thought("hm"), ScriptStep::text("First this."), todo.clone()]),
        says("Two."),
        ScriptReply::new([ScriptStep::text("I fai"), ScriptStep::Fail(Box::new(failure))]),
        cut,
        refusal,
        says("Six."),
        ScriptReply::new([ScriptStep::Fail(Box::new(refused))]),
        says("Seven."),
        ScriptReply::new([todo]),
        says("Eight."),
        says("After clearing."),
    ];
    let prompts = vec![
        "one",
        "two with a call",
        "three fails",
        "four is cut",
        "/title A name",
        "five is refused",
        "six",
        "not this",
        "",
        "seven",
        "/context",
        "eight",
        "/clear",
        "nine",
    ];
    (prompts, replies)
}

#[test]
fn what_a_session_keeps_of_its_history_is_what_is_stored() {
    let (prompts, replies) = turns();
    let (kept, stored) = (Heard::new(replies.clone()), Heard::new(replies));
    let mut stage = Stage::stored_with(kept.clone());
    for prompt in &prompts {
        stage.turn(prompt, nothing);
    }
    let mut stage = Stage::stored_with(stored.clone());
    for prompt in &prompts {
        stage.turn(prompt, nothing);
        stage = stage.restart_with(stored.clone());
        stage.replay();
    }
    let (kept, stored) = (kept.requests(), stored.requests());
    assert_eq!(kept.len(), 12);
    for (kept, stored) in kept.iter().zip(stored.iter()) {
        assert_eq!(kept, stored);
    }
    assert_eq!(kept.len(), stored.len());
}

#[test]
fn a_cancelled_turn_is_in_what_a_session_keeps() {
    let heard = Heard::new(vec![
        ScriptReply::new([ScriptStep::text("I begin"), ScriptStep::WaitCancel]),
        says("Yes."),
    ]);
    let mut stage = Stage::stored_with(heard.clone());
    stage.turn("one", cancelling);
    stage.turn("two", nothing);
    let last = heard.requests().last().cloned().unwrap();
    assert!(
        last.contains("I begin") && last.contains("[The user cancelled this turn.]"),
        "{last}"
    );
}

/// A session of a process whose sessions rest after this time, in a store of a home.
fn resting(home: &Home, replies: Vec<ScriptReply>, after: Duration) -> Stage {
    let store = Store::open(&home.state()).unwrap();
    let model = Arc::new(Script::from_replies(replies));
    Stage::resting_after(model, Config::default(), store, local(), after)
}

#[test]
fn a_session_that_rests_can_be_used_by_another_process_and_then_here_again() {
    let home = Home::new();
    let mut stage = resting(&home, vec![says("One."), says("Three.")], Duration::from_millis(1));
    stage.turn("one", nothing);
    let session = stage.session.to_string();
    // Until the lease is let go it is refused.
    wait_until("the session rests", || {
        let two = home.command(&["run", "--session", &session, "say two."]);
        run(two, "").0.success()
    });
    let lines = stage.turn("three", nothing);
    assert!(
        lines.contains("another process has gone on with this session"),
        "{lines}"
    );
    assert!(lines.contains("Three."), "{lines}");
    assert!(
        stage
            .turn("/context", nothing)
            .contains("Messages: 3 of yours, 3 of the model")
    );
    let replay = stage.replay();
    for said in ["one", "say two.", "two.", "three", "Three."] {
        assert!(replay.contains(said), "{said}: {replay}");
    }
}

#[test]
fn a_mode_that_is_set_here_holds_though_another_process_has_gone_on_in_another() {
    let home = Home::new();
    let mut stage = resting(&home, vec![says("One."), says("Three.")], Duration::from_millis(1));
    stage.turn("one", nothing);
    let session = stage.session.to_string();
    wait_until("the session rests", || {
        let two = home.command(&["run", "--session", &session, "--mode", "plan", "say two."]);
        run(two, "").0.success()
    });
    let stored = |stage: &Stage| stage.store.session(&stage.session).unwrap().unwrap().mode;
    assert_eq!(stored(&stage), Mode::Plan);
    let set = stage
        .runtime
        .set_option(stage.session.clone(), SetOption::Mode("accept_edits".into()));
    assert!(stage.answer(set).is_ok());
    stage.turn("three", nothing);
    assert_eq!(stored(&stage), Mode::AcceptEdits);
}

#[test]
fn the_newest_mode_is_stored_however_it_meets_the_rest_of_the_session() {
    let home = Home::new();
    let mut stage = resting(&home, vec![says("One.")], Duration::from_micros(100));
    stage.turn("one", nothing);
    for round in 0..40 {
        let mode = if round % 2 == 0 { Mode::Plan } else { Mode::AcceptEdits };
        let set = stage
            .runtime
            .set_option(stage.session.clone(), SetOption::Mode(mode.id().into()));
        stage.prompt("/help");
        assert!(stage.answer(set).is_ok());
        // Whenever it was set, it is stored with the next turn at the latest.
        stage.turn("/version", nothing);
        let record = stage.store.session(&stage.session).unwrap().unwrap();
        assert_eq!(record.mode, mode, "{round}");
    }
}

#[test]
fn prompts_that_come_while_a_session_lies_down_are_run() {
    const PROMPTS: usize = 60;
    let home = Home::new();
    let replies = (0..PROMPTS).map(|_| says("Yes.")).collect();
    let mut stage = resting(&home, replies, Duration::from_micros(100));
    for number in 0..PROMPTS / 2 {
        let lines = stage.turn(&format!("prompt {number}"), nothing);
        assert!(lines.contains("Yes."), "{number}: {lines}");
        let lines = stage.turn("/version", nothing);
        assert!(lines.contains("Talaria"), "{number}: {lines}");
    }
    let queued: Vec<TurnId> = (PROMPTS / 2..PROMPTS)
        .map(|number| stage.prompt(&format!("prompt {number}")))
        .collect();
    let last = queued.last().copied();
    stage.until(nothing, |envelope| envelope.turn == last && envelope.event.ends_turn());
    let expect = format!("Messages: {PROMPTS} of yours, {PROMPTS} of the model");
    let lines = stage.turn("/context", nothing);
    assert!(lines.contains(&expect), "{lines}");
}

#[test]
fn a_session_can_be_closed_while_it_rests_and_while_it_lies_down() {
    let home = Home::new();
    for _ in 0..20 {
        let mut stage = resting(&home, vec![says("Yes.")], Duration::from_micros(100));
        stage.turn("one", nothing);
        let call = stage.runtime.close(stage.session.clone());
        assert!(stage.answer(call).is_ok());
        assert!(stage.runtime.prompt(&stage.session, Vec::new()).is_err());
        stage.runtime.shutdown();
    }
}
