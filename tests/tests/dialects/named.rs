//! The ends that a turn can have and that a next request must survive, by their names.

use agent_core::content::Content;
use agent_core::event::{CallInput, Compaction, ErrorClass, StopReason, ToolStatus};
use agent_core::provider::{Finish, ThoughtLevel};
use serde_json::json;
use talaria_tests::spoken::DIALECTS;

use crate::past::{Past, outcome, picture, with_picture};
use crate::valid::judge;

/// After this past, and after a turn before and behind it, every dialect is asked something that its service takes.
fn check(name: &str, odd: impl Fn(Past) -> Past) {
    let ordinary = |past: Past| {
        past.asks("first")
            .says("Hello.")
            .step(Finish::Stop, None)
            .ends(StopReason::EndTurn)
    };
    let pasts = [
        odd(ordinary(Past::default())),
        ordinary(odd(Past::default())),
        odd(odd(Past::default())),
    ];
    for (place, past) in pasts.iter().enumerate() {
        for dialect in DIALECTS {
            let thought = (place % 2 == 0).then_some(ThoughtLevel::High);
            let verdict = judge(dialect, &past.ask(dialect, thought));
            assert!(verdict.is_ok(), "{name} ({place}): {}", verdict.unwrap_err());
        }
    }
}

#[test]
fn a_turn_that_was_cancelled() {
    check("before the model spoke", |past| {
        past.asks("go").ends(StopReason::Cancelled)
    });
    check("while it spoke", |past| {
        past.asks("go").says("I wi").ends(StopReason::Cancelled)
    });
    check("while it thought", |past| {
        past.asks("go").thinks("hm").ends(StopReason::Cancelled)
    });
    for dialect in DIALECTS {
        check("in a tool", |past| {
            past.asks("go")
                .thinks("hm")
                .says("Let me see.")
                .step(Finish::ToolCalls, Some(dialect))
                .reads("a", Some(outcome(ToolStatus::Completed, "alpha")))
                .reads("b", Some(outcome(ToolStatus::Cancelled, "")))
                .ends(StopReason::Cancelled)
        });
    }
}

#[test]
fn a_turn_that_failed() {
    for class in [
        ErrorClass::Server,
        ErrorClass::ImageRejected,
        ErrorClass::PayloadTooLarge,
        ErrorClass::ContentPolicy,
        ErrorClass::ContextOverflow,
        ErrorClass::Held,
    ] {
        check("at once", |past| past.asks("go").fails(class));
        check("in the middle of a word", |past| {
            past.asks("go").says("I wi").fails(class)
        });
        check("with a picture", |past| {
            past.prompt(vec![picture()])
                .step(Finish::ToolCalls, None)
                .reads("a", Some(with_picture()))
                .fails(class)
        });
        check("after a thought alone", |past| {
            past.asks("go").thinks("hm").fails(class)
        });
    }
}

#[test]
fn a_process_that_was_killed() {
    check("before the model spoke", |past| past.asks("go").dies());
    check("while it spoke", |past| past.asks("go").says("I wi").dies());
    for dialect in DIALECTS {
        check("in a tool", |past| {
            past.asks("go")
                .says("Let me see.")
                .step(Finish::ToolCalls, Some(dialect))
                .reads("a", Some(outcome(ToolStatus::Completed, "alpha")))
                .reads("b", None)
                .dies()
        });
        // The second of the calls was never announced.
        check("between two calls", |past| {
            past.asks("go")
                .says("Let me see.")
                .step(Finish::ToolCalls, Some(dialect))
                .reads("a", None)
                .dies()
        });
        check("before a call", |past| {
            past.asks("go")
                .thinks("hm")
                .step(Finish::ToolCalls, Some(dialect))
                .dies()
        });
    }
}

#[test]
fn a_call_as_no_service_would_have_made_it() {
    let inputs = [
        CallInput::Malformed("{\"p\":".into()),
        CallInput::Malformed(String::new()),
        CallInput::Json(json!(null)),
        CallInput::Json(json!([1])),
        CallInput::Json(json!("text")),
        CallInput::Json(json!({})),
    ];
    let long = "x".repeat(300);
    let failed = || Some(outcome(ToolStatus::Failed, "It was not run."));
    for input in inputs {
        check("arguments", |past| {
            past.asks("go")
                .step(Finish::ToolCalls, None)
                .calls("a", "read_file", input.clone(), failed())
                .ends(StopReason::EndTurn)
        });
    }
    for name in ["two words", "functions.read", "ünï", "1st", "-", " ", &long] {
        check(name, |past| {
            past.asks("go")
                .step(Finish::ToolCalls, None)
                .calls("a", name, CallInput::Json(json!({})), failed())
                .says("Sorry.")
                .step(Finish::Stop, None)
                .ends(StopReason::EndTurn)
        });
    }
    for id in ["functions.read:0", "ünï", " ", "call_0", &long] {
        check(id, |past| {
            past.asks("go")
                .step(Finish::ToolCalls, None)
                .reads(id, failed())
                .reads("other", failed())
                .says("And once more.")
                .step(Finish::ToolCalls, None)
                .reads(id, failed())
                .says("Sorry.")
                .step(Finish::Stop, None)
                .ends(StopReason::EndTurn)
        });
    }
}

#[test]
fn a_call_that_was_denied() {
    for text in ["The user said no.", "", " "] {
        check("denied", |past| {
            past.asks("go")
                .step(Finish::ToolCalls, None)
                .reads("a", Some(outcome(ToolStatus::Denied, text)))
                .says("I leave it.")
                .step(Finish::Stop, None)
                .ends(StopReason::EndTurn)
        });
    }
}

#[test]
fn a_reply_that_says_nothing() {
    for dialect in DIALECTS {
        for finish in [Finish::Stop, Finish::Length] {
            check("nothing", |past| {
                past.asks("go").step(finish, Some(dialect)).ends(StopReason::EndTurn)
            });
            check("blanks", |past| {
                past.asks("go")
                    .says(" \n")
                    .step(finish, Some(dialect))
                    .ends(StopReason::EndTurn)
            });
            check("a thought alone", |past| {
                past.asks("go")
                    .thinks("hm")
                    .step(finish, Some(dialect))
                    .ends(StopReason::MaxTokens)
            });
            check("a thought, and then an answer", |past| {
                past.asks("go")
                    .thinks("hm")
                    .step(finish, Some(dialect))
                    .says("Here.")
                    .step(Finish::Stop, Some(dialect))
                    .ends(StopReason::EndTurn)
            });
            check("blanks before a call", |past| {
                past.asks("go")
                    .says("\n\n")
                    .step(Finish::ToolCalls, Some(dialect))
                    .reads("a", Some(with_picture()))
                    .reads("b", Some(with_picture()))
                    .says(" ")
                    .step(Finish::Stop, Some(dialect))
                    .ends(StopReason::EndTurn)
            });
        }
    }
    check("an empty prompt", |past| past.prompt(vec![]).ends(StopReason::EndTurn));
    check("a prompt of blanks", |past| past.asks(" \n").ends(StopReason::EndTurn));
    check("an empty resource", |past| {
        let resource = Content::Resource {
            uri: "file:///a".into(),
            mime_type: None,
            text: String::new(),
        };
        past.prompt(vec![resource]).dies()
    });
}

#[test]
fn a_refusal() {
    check("before anything else", |past| {
        past.asks("something foul")
            .says("I")
            .step(Finish::Refusal, None)
            .refuses()
    });
    check("after work", |past| {
        past.asks("something foul")
            .step(Finish::ToolCalls, None)
            .reads("a", Some(outcome(ToolStatus::Completed, "alpha")))
            .says("I")
            .step(Finish::ContentFilter, None)
            .refuses()
    });
}

#[test]
fn room_that_was_made() {
    let works = |past: Past| {
        past.asks("go")
            .says("Let me see.")
            .step(Finish::ToolCalls, None)
            .reads("a", Some(outcome(ToolStatus::Completed, &"alpha ".repeat(100))))
            .reads("b", Some(with_picture()))
    };
    let summary = || Compaction::Summary {
        text: "What was done.".into(),
    };
    for what in [Compaction::Outputs, Compaction::Pictures, summary()] {
        // Before every row of the turn, and before what is to come.
        for back in 0..9 {
            check("while the turn goes on", |past| {
                let past = works(past);
                let before = (past.len() + 1).saturating_sub(back);
                past.compacts(before, what.clone())
                    .says("There.")
                    .step(Finish::Stop, None)
                    .ends(StopReason::EndTurn)
            });
        }
        check("between turns", |past| {
            let past = works(past).ends(StopReason::MaxSteps);
            let before = past.len() + 1;
            past.compacts(before, what.clone())
        });
        check("before a kill", |past| {
            let past = works(past);
            let before = past.len() + 1;
            past.compacts(before, what.clone()).dies()
        });
    }
}

#[test]
fn slash_commands_between() {
    check("alone", |past| past.commands("/help"));
    check("beside a turn", |past| {
        past.asks("go")
            .step(Finish::ToolCalls, None)
            .commands("/status")
            .reads("a", Some(outcome(ToolStatus::Completed, "alpha")))
            .commands("/status")
            .says("There.")
            .step(Finish::Stop, None)
            .ends(StopReason::EndTurn)
    });
    check("that clear", |past| {
        past.asks("go")
            .says("Yes.")
            .ends(StopReason::EndTurn)
            .commands("/clear")
            .clears()
    });
}
