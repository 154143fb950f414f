//! A model's reply, and the end of the turn that it leads to.

use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::Finish;
use agent_core::script::{ScriptReply, ScriptStep};
use talaria_tests::stage::Stage;

use crate::{check, nothing, says};

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
fn an_empty_prompt_ends_without_the_model() {
    let mut stage = Stage::new(vec![]);
    assert_eq!(stage.turn("", nothing), "user: \nturn: EndTurn\n");
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
