//! A session that is loaded: what is shown of it again.

use agent_core::content::plain_text;
use agent_core::event::Event;
use agent_core::outward::{CallError, Outward};
use agent_core::script::{ScriptReply, ScriptStep};
use serde_json::json;
use talaria_tests::stage::Stage;

use crate::{check, nothing, says};

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
            Outward::Replay { envelope, .. } => {
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
            | Outward::ContextChanged { .. }
            | Outward::Ask(_)
            | Outward::TakeBack(_)
            | Outward::Answer { .. } => {}
        }
    }
    assert_eq!((asked == text, said), (true, 1_000_000));
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
fn a_load_in_mid_message_shows_a_command_beside_it_behind_it() {
    let mut stage = Stage::new(vec![ScriptReply::new([
        ScriptStep::text("busy"),
        ScriptStep::WaitCancel,
    ])]);
    stage.prompt("go");
    stage.until(nothing, |envelope| matches!(envelope.event, Event::AgentText { .. }));
    let beside = stage.turn("/version", nothing);
    let replayed = stage.replay();
    assert!(replayed.ends_with(&format!("text m1: busy\n{beside}")), "{replayed}");
}

#[test]
fn a_session_that_is_deleted_during_a_turn_is_never_opened_again() {
    // The load meets the session at some point of its way out.
    for _ in 0..50 {
        let mut stage = Stage::new(vec![ScriptReply::new([
            ScriptStep::text("busy"),
            ScriptStep::WaitCancel,
        ])]);
        stage.prompt("go");
        stage.until(nothing, |envelope| matches!(envelope.event, Event::AgentText { .. }));
        stage.runtime.delete(stage.session.clone());
        stage.until(nothing, |envelope| envelope.event.ends_turn());
        let call = stage.runtime.open(stage.session.clone(), None, None, true);
        let unknown = CallError::UnknownSession(stage.session.clone());
        assert_eq!(stage.answer(call), Err(unknown));
    }
}
