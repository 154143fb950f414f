//! Pasts as chance makes them: every dialect is asked something that its service takes, whatever came before.

use agent_core::content::Content;
use agent_core::event::{CallInput, Compaction, ErrorClass, StopReason, ToolOutcome, ToolStatus};
use agent_core::provider::{Finish, ThoughtLevel};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use providers::Dialect;
use serde_json::json;
use talaria_tests::spoken::DIALECTS;

use crate::past::{Past, outcome, picture, with_picture};
use crate::valid::judge;

/// Something that happens in a session.
#[derive(Clone, Debug)]
enum Happening {
    Turn(Vec<Content>, Vec<Step>, End),
    Command,
    Clear,
    /// Room is made, so many rows back.
    Compaction(u64, Compaction),
}

/// One reply of a model.
#[derive(Clone, Debug)]
struct Step {
    thought: &'static str,
    text: &'static str,
    /// Where it came from, if its service wants something of it back.
    from: Option<Dialect>,
    /// Id, tool, arguments and end.
    calls: Vec<(String, String, CallInput, Option<ToolOutcome>)>,
    between: Option<Box<Happening>>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Stop(StopReason),
    Failure(ErrorClass),
    Refusal,
    /// The process is killed.
    Kill,
}

fn words() -> impl Strategy<Value = &'static str> {
    select(vec!["", " ", "\n\n", "Let me see.", "ü", "Hello.\n"])
}

fn content() -> impl Strategy<Value = Vec<Content>> {
    let link = Content::Link {
        uri: "file:///a.rs".into(),
        name: "@a.rs".into(),
    };
    let resource = |text: &str| Content::Resource {
        uri: "file:///b.rs".into(),
        mime_type: None,
        text: text.into(),
    };
    let text = words().prop_map(Content::text);
    let others = select(vec![link, resource(""), resource("fn b() {}"), picture()]);
    vec(prop_oneof![text, others], 0..3)
}

fn call() -> impl Strategy<Value = (String, String, CallInput, Option<ToolOutcome>)> {
    let long = "x".repeat(100);
    let ids = ["a", "b", "call_0", "functions.read:0", "functions_read_0", "ü", &long].map(str::to_owned);
    let names = ["read_file", "two words", "ü", "1st", "a.b", &long].map(str::to_owned);
    let inputs = vec![
        CallInput::Json(json!({"path": "a"})),
        CallInput::Json(json!([1])),
        CallInput::Json(json!(null)),
        CallInput::Malformed("{".into()),
        CallInput::Malformed(String::new()),
    ];
    let ends = vec![
        None,
        Some(outcome(ToolStatus::Completed, "alpha")),
        Some(outcome(ToolStatus::Completed, "")),
        Some(outcome(ToolStatus::Failed, " ")),
        Some(outcome(ToolStatus::Denied, "The user said no.")),
        Some(outcome(ToolStatus::Cancelled, "")),
        Some(with_picture()),
    ];
    (
        select(ids.to_vec()),
        select(names.to_vec()),
        select(inputs),
        select(ends),
    )
}

fn step() -> impl Strategy<Value = Step> {
    let from = option::of(select(DIALECTS.to_vec()));
    let between = option::weighted(0.1, beside().prop_map(Box::new));
    let step = |(thought, text, from, mut calls, between): (_, _, _, Vec<(String, _, _, _)>, _)| {
        // Within a reply ids are each given once.
        calls.sort_by(|one, other| one.0.cmp(&other.0));
        calls.dedup_by(|one, other| one.0 == other.0);
        Step {
            thought,
            text,
            from,
            calls,
            between,
        }
    };
    (words(), words(), from, vec(call(), 0..3), between).prop_map(step)
}

fn end() -> impl Strategy<Value = End> {
    use ErrorClass::{Auth, ContentPolicy, ImageRejected, Network, PayloadTooLarge};
    use StopReason::{Budget, Cancelled, EndTurn, MaxSteps, MaxTokens};
    prop_oneof![
        4 => Just(End::Stop(EndTurn)),
        2 => select(vec![MaxTokens, MaxSteps, Budget, Cancelled]).prop_map(End::Stop),
        2 => select(vec![Auth, ContentPolicy, ImageRejected, Network, PayloadTooLarge]).prop_map(End::Failure),
        1 => Just(End::Refusal),
        2 => Just(End::Kill),
    ]
}

/// What may happen while a turn goes on, too.
fn beside() -> impl Strategy<Value = Happening> {
    let summary = Compaction::Summary {
        text: "What was done.".into(),
    };
    let kinds = select(vec![Compaction::Outputs, Compaction::Pictures, summary]);
    prop_oneof![
        Just(Happening::Command),
        (0_u64..12, kinds).prop_map(|(back, what)| Happening::Compaction(back, what)),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    let turn = (content(), vec(step(), 0..4), end());
    prop_oneof![
        6 => turn.prop_map(|(content, steps, end)| Happening::Turn(content, steps, end)),
        2 => beside(),
        1 => Just(Happening::Clear),
    ]
}

fn live(past: Past, happening: Happening) -> Past {
    match happening {
        Happening::Turn(content, steps, end) => {
            // A turn goes on after calls, and once after a reply that says nothing.
            let last = steps
                .iter()
                .position(|step| step.calls.is_empty() && !step.text.is_empty());
            let steps = steps.into_iter().take(last.map_or(usize::MAX, |last| last + 1));
            let past = steps.fold(past.prompt(content), take_step);
            match end {
                End::Stop(stop) => past.ends(stop),
                End::Failure(class) => past.fails(class),
                End::Refusal => past.refuses(),
                End::Kill => past.dies(),
            }
        }
        Happening::Command => past.commands("/help"),
        Happening::Clear => past.commands("/clear").clears(),
        Happening::Compaction(back, what) => {
            let before = (past.len() + 1).saturating_sub(back);
            past.compacts(before, what)
        }
    }
}

fn take_step(mut past: Past, step: Step) -> Past {
    if !step.thought.is_empty() {
        past = past.thinks(step.thought);
    }
    if !step.text.is_empty() {
        past = past.says(step.text);
    }
    past = past.step(Finish::Stop, step.from);
    for (id, name, input, end) in step.calls {
        past = past.calls(&id, &name, input, end);
    }
    step.between
        .into_iter()
        .fold(past, |past, between| live(past, *between))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_came_before_the_next_request_is_one_that_the_service_takes(
        happenings in vec(happening(), 0..6),
        thinks: bool,
    ) {
        let past = happenings.into_iter().fold(Past::default(), live);
        let thought = thinks.then_some(ThoughtLevel::High);
        for dialect in DIALECTS {
            let verdict = judge(dialect, &past.ask(dialect, thought));
            prop_assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
        }
    }
}
