//! `docs/run.md` and the output for programs say the same: every event, every field, every fixed word.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use agent_core::approval::{Approval, ApprovalOption, DecidedBy, Decision, Grant, Mode, OptionKind};
use agent_core::change::FileChange;
use agent_core::content::{Blob, Content};
use agent_core::event::{
    CallInput, Compaction, ContextUse, Display, Envelope, ErrorClass, Event, Failure, HistoryMove, PlanEntry,
    PlanStatus, Progress, SessionChange, Severity, StopReason, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
use agent_core::id::TurnId;
use agent_core::plan::{CommandFacts, CommandPlan, ExactCommand, Location, Place, Plan};
use agent_core::provider::{Finish, ModelRef, Native, Origin, Usage};
use serde::Serialize;
use serde_json::{Value, json};

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/run.md");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_once("\n## JSON\n").unwrap().1.to_owned()
}

/// What stands between single backticks.
fn terms(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn place() -> Place {
    Place {
        path: "/w/a".into(),
        real: "/w/a".into(),
    }
}

/// A place whose path is no text.
fn nameless() -> Place {
    let path = PathBuf::from(OsStr::from_bytes(b"/w/\xff"));
    Place {
        real: path.clone(),
        path,
    }
}

fn exact() -> ExactCommand {
    ExactCommand {
        program: "/bin/ls".into(),
        args: vec!["-l".into()],
    }
}

fn usage() -> Usage {
    Usage {
        input: Some(1),
        cached_read: Some(1),
        cached_write: Some(1),
        output: Some(1),
        reasoning: Some(1),
        cost_nano_usd: Some(1),
    }
}

fn full() -> ContextUse {
    ContextUse {
        used: 1,
        window: Some(2),
        cost_nano_usd: Some(3),
    }
}

fn content() -> Vec<Content> {
    vec![
        Content::text("t"),
        Content::Image {
            mime_type: "image/png".into(),
            data: Blob::Inline(b"abc".as_slice().into()),
            uri: Some("file:///a.png".into()),
        },
        Content::Resource {
            uri: "file:///a".into(),
            mime_type: Some("text/plain".into()),
            text: "t".into(),
        },
        Content::Link {
            uri: "file:///a".into(),
            name: "a".into(),
        },
    ]
}

fn tool_started() -> Event {
    Event::ToolStarted {
        call: ToolCall {
            id: "c".into(),
            given_id: "g".into(),
            name: "n".into(),
            title: "t".into(),
            kind: ToolKind::Read,
            input: CallInput::Json(json!({})),
        },
    }
}

fn tool_planned() -> Event {
    Event::ToolPlanned {
        id: "c".into(),
        plan: Plan::Inward,
        locations: vec![Location {
            path: "/w/a".into(),
            line: Some(1),
        }],
        runs: true,
    }
}

fn tool_finished() -> Event {
    Event::ToolFinished {
        id: "c".into(),
        outcome: ToolOutcome {
            status: ToolStatus::Completed,
            output: ToolOutput {
                text: "t".into(),
                images: content(),
                display: Display::Prose,
                raw: Some(json!({})),
            },
        },
    }
}

fn approval_requested() -> Event {
    let option = ApprovalOption {
        kind: OptionKind::AllowAlways,
        name: "n".into(),
        grant: Some(Grant::Command {
            command: exact(),
            root: "/w".into(),
        }),
    };
    Event::ApprovalRequested {
        approval: Approval {
            id: "a".into(),
            call: "c".into(),
            reason: "r".into(),
            options: vec![option],
            shown: None,
        },
    }
}

fn approval_decided() -> Event {
    Event::ApprovalDecided {
        id: "a".into(),
        call: "c".into(),
        decision: Decision::Allowed,
        by: DecidedBy::User,
    }
}

fn plan_updated() -> Event {
    Event::PlanUpdated {
        entries: vec![PlanEntry {
            id: "1".into(),
            content: "c".into(),
            status: PlanStatus::Pending,
        }],
    }
}

fn step_finished() -> Event {
    let origin = Origin {
        api: "a".into(),
        base_url: "u".into(),
        model: "m".into(),
    };
    Event::StepFinished {
        step: 1,
        usage: usage(),
        context: full(),
        finish: Finish::Stop,
        native: Some(Native {
            origin,
            item: "{}".into(),
        }),
    }
}

fn turn_failed() -> Event {
    Event::TurnFailed {
        failure: Failure {
            provider: Some("p".into()),
            status: Some(500),
            retry_after_ms: Some(1),
            ..Failure::new(ErrorClass::Server, "m")
        },
    }
}

/// The event after this one, with all its fields. A new event must be put in, or this does not compile.
fn next(event: Option<&Event>) -> Option<Event> {
    let (id, text) = ("m".into(), "t".into());
    Some(match event {
        None => Event::UserMessage {
            id,
            content: content(),
            context: content(),
            command: true,
        },
        Some(Event::UserMessage { .. }) => Event::UserSteered {
            id,
            content: content(),
            context: content(),
        },
        Some(Event::UserSteered { .. }) => Event::AgentText { id, text },
        Some(Event::AgentText { .. }) => Event::AgentThought { id, text },
        Some(Event::AgentThought { .. }) => tool_started(),
        Some(Event::ToolStarted { .. }) => tool_planned(),
        Some(Event::ToolPlanned { .. }) => Event::ToolProgress {
            id: "c".into(),
            progress: Progress {
                tail: text,
                total: 1,
                lines: 1,
                terminal: None,
            },
        },
        Some(Event::ToolProgress { .. }) => tool_finished(),
        Some(Event::ToolFinished { .. }) => approval_requested(),
        Some(Event::ApprovalRequested { .. }) => approval_decided(),
        Some(Event::ApprovalDecided { .. }) => plan_updated(),
        Some(Event::PlanUpdated { .. }) => step_finished(),
        Some(Event::StepFinished { .. }) => Event::Notice {
            severity: Severity::Info,
            title: text,
            detail: Some("d".into()),
        },
        Some(Event::Notice { .. }) => Event::Compacted {
            before: 1,
            what: Compaction::Summary { text },
            context: full(),
        },
        Some(Event::Compacted { .. }) => Event::HistoryMoved {
            keep_upto: 1,
            why: HistoryMove::Clear,
        },
        Some(Event::HistoryMoved { .. }) => Event::SessionChanged {
            change: SessionChange::Title(text),
        },
        Some(Event::SessionChanged { .. }) => Event::TurnFinished {
            stop: StopReason::EndTurn,
            usage: usage(),
        },
        Some(Event::TurnFinished { .. }) => turn_failed(),
        Some(Event::TurnFailed { .. }) => return None,
    })
}

fn every_event() -> Vec<Event> {
    std::iter::successors(next(None), |event| next(Some(event))).collect()
}

fn json_of(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap()
}

/// The names of all fields in a document, at any depth.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            names.insert(name.clone());
            fields(value, names);
        }),
        Value::Array(array) => array.iter().for_each(|value| fields(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_event_stands_in_its_row_with_its_fields() {
    let document = document();
    let mut rows: BTreeSet<&str> = document
        .lines()
        .skip_while(|line| *line != "### Events")
        .take_while(|line| *line != "### What is in them")
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| *name != "event")
        .collect();
    for event in every_event() {
        let event = json_of(&event);
        let name = event["event"].as_str().unwrap();
        assert!(rows.remove(name), "`{name}` has no row");
        let row = document.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let said = terms(row.unwrap());
        for field in event.as_object().unwrap().keys().filter(|field| *field != "event") {
            assert!(said.contains(field.as_str()), "`{field}` of `{name}` is not in its row");
        }
    }
    assert!(rows.is_empty(), "there is no event {rows:?}");
}

#[test]
fn every_field_of_every_part_is_named() {
    let command = CommandPlan {
        command: "ls".into(),
        cwd: place(),
        background: true,
        facts: CommandFacts {
            read_only: true,
            exact: Some(exact()),
            forbidden: Some("f".into()),
        },
    };
    let input = Plan::Input {
        process: "p".into(),
        command: "c".into(),
        text: "t".into(),
        forbidden: Some("f".into()),
    };
    let change = FileChange::new(place(), Some("old"), Some("new"));
    let plans = [
        Plan::Read {
            places: vec![place(), nameless()],
        },
        Plan::Change { changes: vec![change] },
        Plan::Command(command),
        input,
    ];
    let mut names = BTreeSet::new();
    plans.iter().for_each(|plan| fields(&json_of(plan), &mut names));
    for event in every_event() {
        let envelope = Envelope {
            session: "s".into(),
            turn: Some(TurnId(1)),
            seq: 1,
            event,
        };
        fields(&json_of(&envelope), &mut names);
    }
    let document = document();
    let said = terms(&document);
    let missing: Vec<&String> = names.iter().filter(|name| !said.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The word that a value is, or that it is tagged with.
fn word(value: &Value) -> &str {
    match value {
        Value::String(word) => word,
        Value::Object(object) => object.keys().next().unwrap(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => panic!("{value} is no word"),
    }
}

#[test]
fn every_fixed_word_is_named() {
    use ErrorClass as Class;
    use ToolKind::{Edit, Execute, Fetch, Other, Read, Search, Think};
    let text = || "t".to_owned();
    let model = ModelRef::offline();
    let words = [
        json!([Read, Edit, Search, Execute, Fetch, Think, Other]),
        json!([
            ToolStatus::Completed,
            ToolStatus::Failed,
            ToolStatus::Denied,
            ToolStatus::Cancelled
        ]),
        json!([
            Display::Prose,
            Display::Verbatim,
            Display::Instead(text()),
            Display::AsPlanned
        ]),
        json!([CallInput::Json(Value::Null), CallInput::Malformed(text())]),
        json!([
            PlanStatus::Pending,
            PlanStatus::InProgress,
            PlanStatus::Completed,
            PlanStatus::Cancelled
        ]),
        json!([Severity::Info, Severity::Warning, Severity::Error]),
        json!([HistoryMove::Clear, HistoryMove::Refusal]),
        json!([
            StopReason::EndTurn,
            StopReason::MaxTokens,
            StopReason::MaxSteps,
            StopReason::Refusal
        ]),
        json!([StopReason::Budget]),
        json!([StopReason::Cancelled, Finish::Stop, Finish::ToolCalls, Finish::Length]),
        json!([Finish::ContentFilter, Finish::Refusal]),
        json!([
            SessionChange::Title(text()),
            SessionChange::Mode(Mode::Plan),
            SessionChange::Model(model)
        ]),
        json!([SessionChange::Cwd("/".into()), SessionChange::Thought(None)]),
        json!([
            OptionKind::AllowOnce,
            OptionKind::AllowAlways,
            OptionKind::RejectOnce,
            Grant::EditsThisSession
        ]),
        json!([
            Decision::Allowed,
            Decision::AllowedAlways,
            Decision::Rejected,
            Decision::Unanswered
        ]),
        json!([
            Decision::Cancelled,
            DecidedBy::User,
            DecidedBy::Timeout,
            DecidedBy::Cancel,
            DecidedBy::Default
        ]),
        json!([
            Class::Auth,
            Class::Billing,
            Class::RateLimit,
            Class::Overloaded,
            Class::Server,
            Class::Timeout
        ]),
        json!([
            Class::Network,
            Class::Tls,
            Class::ContextOverflow,
            Class::PayloadTooLarge,
            Class::ImageRejected
        ]),
        json!([
            Class::ModelNotFound,
            Class::ContentPolicy,
            Class::BadRequest,
            Class::Protocol,
            Class::Config
        ]),
        json!([
            Class::Internal,
            "inward",
            "read",
            "change",
            "command",
            "input",
            "text",
            "image",
            "resource",
            "link"
        ]),
    ];
    let document = document();
    let said = terms(&document);
    let all = words.iter().flat_map(|words| words.as_array().unwrap()).map(word);
    let missing: Vec<&str> = all.filter(|word| !said.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
