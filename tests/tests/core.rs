//! The core with its real tools and store, driven by scripts and seen through its events.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use agent_core::approval::{Mode, OptionKind, UserAnswer};
use agent_core::config::{ApprovalConfig, Config};
use agent_core::content::{Content, plain_text};
use agent_core::event::{CallInput, ErrorClass, Event, Failure, SessionChange};
use agent_core::id::SessionId;
use agent_core::outward::{Answer, CallError, Outward};
use agent_core::provider::Finish;
use agent_core::runtime::{Runtime, SetOption};
use agent_core::script::{Script, ScriptReply, ScriptStep};
use agent_core::store::Store;
use serde_json::json;
use talaria_tests::heard::Heard;
use talaria_tests::stage::Stage;

fn says(text: &str) -> ScriptReply {
    ScriptReply::new([ScriptStep::text(text)])
}

fn creates(path: &str) -> ScriptStep {
    ScriptStep::call("write_file", json!({"path": path, "content": "x\n"}))
}

fn runs(command: &str) -> ScriptStep {
    ScriptStep::call("terminal", json!({"command": command}))
}

fn nothing(_: &Runtime, _: &SessionId, _: &Event) {}

/// Answers each question in the same way.
fn answering(answer: UserAnswer) -> impl FnMut(&Runtime, &SessionId, &Event) {
    move |runtime, session, event| {
        if let Event::ApprovalRequested { approval } = event {
            runtime.decide(session, &approval.id, answer.clone());
        }
    }
}

/// Cancels at the first event that is meant.
fn cancelling(is_meant: impl Fn(&Event) -> bool) -> impl FnMut(&Runtime, &SessionId, &Event) {
    move |runtime, session, event| {
        if is_meant(event) {
            runtime.cancel(session);
        }
    }
}

#[track_caller]
fn check(got: &str, expect: &str) {
    let expect: Vec<&str> = expect.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(got.lines().collect::<Vec<_>>(), expect);
}

#[test]
fn a_turn_of_text_is_one_message() {
    let mut stage = Stage::new(vec![ScriptReply::new([
        ScriptStep::thought("hm"),
        ScriptStep::text("Hel"),
        ScriptStep::text("lo"),
    ])]);
    check(
        &stage.turn("hi there", nothing),
        "user: hi there
         title: hi there
         thought m1: hm
         text m1: Hello
         step 1: Stop
         turn: EndTurn",
    );
}

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
fn where_nobody_can_be_asked_the_model_hears_of_no_refusal() {
    let mut stage = Stage::new(vec![ScriptReply::new([creates("a.txt")]), says("ok")]);
    let lines = stage.turn("go", answering(UserAnswer::Nobody));
    assert!(lines.contains("decided q1: Unanswered by Default"), "{lines}");
    assert!(lines.contains("That is no refusal by the user"), "{lines}");
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
fn an_empty_prompt_ends_without_the_model() {
    let mut stage = Stage::new(vec![]);
    assert_eq!(stage.turn("", nothing), "user: \nturn: EndTurn\n");
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
fn a_failed_turn_tells_and_the_next_prompt_works() {
    let failure = Failure::new(ErrorClass::Overloaded, "the service is overloaded; try again later");
    let reply = ScriptReply::new([ScriptStep::text("par"), ScriptStep::Fail(Box::new(failure))]);
    let mut stage = Stage::new(vec![reply, says("fine")]);
    let lines = stage.turn("go", nothing);
    assert!(
        lines.ends_with("text m1: par\nturn failed: Overloaded: the service is overloaded; try again later\n"),
        "{lines}"
    );
    assert!(stage.turn("again", nothing).ends_with("turn: EndTurn\n"));
}

#[test]
fn a_refusal_leaves_the_history() {
    let refusal = ScriptReply {
        finish: Some(Finish::Refusal),
        ..says("I can't")
    };
    let mut stage = Stage::new(vec![refusal, says("fine")]);
    let lines = stage.turn("go", nothing);
    assert!(
        lines.ends_with("text m1: I can't\nstep 1: Refusal\nhistory moved: Refusal\nturn: Refusal\n"),
        "{lines}"
    );
    stage.turn("again", nothing);
    assert_eq!(
        stage
            .turn("/context", nothing)
            .matches("1 of yours, 1 of the model")
            .count(),
        1
    );
}

#[test]
fn a_reply_cut_by_its_length_ends_with_max_tokens() {
    let reply = ScriptReply {
        finish: Some(Finish::Length),
        ..says("half a sen")
    };
    assert!(
        Stage::new(vec![reply])
            .turn("go", nothing)
            .ends_with("turn: MaxTokens\n")
    );
}

#[test]
fn an_empty_reply_is_asked_once_more_and_then_told() {
    let thought = || ScriptReply::new([ScriptStep::thought("hm")]);
    let mut stage = Stage::new(vec![thought(), thought(), thought(), says("now")]);
    let lines = stage.turn("go", nothing);
    assert!(
        lines.ends_with("notice Warning: the model gave no answer, twice\nturn: EndTurn\n"),
        "{lines}"
    );
    assert!(
        stage
            .turn("again", nothing)
            .ends_with("text m4: now\nstep 2: Stop\nturn: EndTurn\n")
    );
}

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

#[test]
fn a_load_after_clear_shows_the_command_and_what_follows() {
    let mut stage = Stage::new(vec![says("One."), says("Two.")]);
    stage.turn("one", nothing);
    assert!(
        stage
            .turn("/clear the cache", nothing)
            .contains("nothing was forgotten")
    );
    assert!(stage.replay().contains("One."));
    let cleared = stage.turn("/clear", nothing);
    let after = stage.turn("two", nothing);
    assert_eq!(stage.replay(), cleared.split_once('\n').unwrap().1.to_owned() + &after);
}

#[test]
fn a_load_sends_a_very_long_message_in_pieces() {
    let mut stage = Stage::new(vec![says(&"é".repeat(500_000)), says("y")]);
    let text = "x".repeat(3_000_000);
    stage.turn(&text, nothing);
    let call = stage.runtime.open(stage.session.clone(), None, None, true);
    let (mut asked, mut said) = (String::new(), 0);
    loop {
        match stage.next() {
            Outward::Replay(envelope) => {
                if let Event::UserMessage { content, .. } = &envelope.event {
                    let piece = plain_text(content);
                    assert!(piece.len() <= 64 * 1024, "{}", piece.len());
                    asked.push_str(&piece);
                }
                if let Event::AgentText { text, .. } = &envelope.event {
                    assert!(text.len() <= 64 * 1024, "{}", text.len());
                    said += text.len();
                }
            }
            Outward::Answer { call: answered, .. } if answered == call => break,
            Outward::Live(_)
            | Outward::OptionChanged { .. }
            | Outward::Ask(_)
            | Outward::TakeBack(_)
            | Outward::Answer { .. } => {}
        }
    }
    assert_eq!((asked == text, said), (true, 1_000_000));
}

#[test]
fn a_load_shows_what_happened_in_the_same_order() {
    let mut stage = Stage::stored(vec![
        ScriptReply::new([
            ScriptStep::text("Let me see."),
            ScriptStep::call("read_file", json!({"path": "a.txt"})),
        ]),
        says("It holds a."),
    ]);
    stage.file("a.txt", "a\n");
    let live = stage.turn("what is in a.txt?", nothing);
    assert_eq!(stage.replay(), live);
    let mut stage = stage.restart(vec![says("go on")]);
    assert_eq!(stage.replay(), live);
    assert!(stage.turn("again", nothing).ends_with("turn: EndTurn\n"));
}

#[test]
fn prompts_beyond_what_a_queue_holds_are_refused_until_it_is_shorter() {
    let mut stage = Stage::new(vec![ScriptReply::new([ScriptStep::WaitCancel]), says("Yes.")]);
    let large = || vec![Content::text("x".repeat(40 << 20))];
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
fn a_load_in_mid_turn_shows_what_was_said_so_far_and_goes_on() {
    let reply = ScriptReply::new([ScriptStep::text("so "), ScriptStep::text("far"), ScriptStep::WaitCancel]);
    let mut stage = Stage::new(vec![reply]);
    let turn = stage.prompt("go");
    stage.until(
        nothing,
        |envelope| matches!(&envelope.event, Event::AgentText { text, .. } if text == "far"),
    );
    check(&stage.replay(), "user: go\ntitle: go\ntext m1: so far");
    stage.runtime.cancel(&stage.session);
    let rest = stage.until(nothing, |envelope| {
        envelope.turn == Some(turn) && envelope.event.ends_turn()
    });
    check(&rest, "turn: Cancelled");
    check(&stage.replay(), "user: go\ntitle: go\ntext m1: so far\nturn: Cancelled");
}

#[test]
fn a_command_beside_a_turn_does_not_cut_it_in_a_load() {
    let mut stage = Stage::new(vec![ScriptReply::new([
        ScriptStep::text("busy"),
        ScriptStep::WaitCancel,
    ])]);
    let turn = stage.prompt("go");
    stage.until(nothing, |envelope| matches!(envelope.event, Event::AgentText { .. }));
    stage.turn("/version", nothing);
    stage.runtime.cancel(&stage.session);
    stage.until(nothing, |envelope| {
        envelope.turn == Some(turn) && envelope.event.ends_turn()
    });
    let replayed = stage.replay();
    assert_eq!(replayed.matches("turn").count(), 2, "{replayed}");
    assert!(!replayed.contains("turn failed"), "{replayed}");
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
