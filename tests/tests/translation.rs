//! From events to the protocol: a row for each event, live and replayed, and every message valid in the JSON schema
//! that the official TypeScript SDK ships (`@agentclientprotocol/sdk` 2.4.0, its `schema/v1/schema.json`). What that SDK
//! does not take for stable yet is checked against its `schema.unstable.json`: forks, plans by name, prompt usage.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use acp_adapter::agent::asks;
use acp_adapter::agent::to_acp::{self, Effect, view};
use acp_adapter::agent::{Client, Settings, TerminalAuth};
use agent_core::approval::{Approval, ApprovalOption, DecidedBy, Decision, Mode, OptionKind};
use agent_core::change::FileChange;
use agent_core::config::Config;
use agent_core::content::{Blob, Content};
use agent_core::event::{
    CallInput, Compaction, ContextUse, Display, Envelope, ErrorClass, Event, Failure, HistoryMove, PlanEntry,
    PlanStatus, PlannedCall, Progress, SessionChange, Severity, StopReason, ToolCall, ToolKind, ToolOutcome,
    ToolOutput, ToolStatus,
};
use agent_core::id::{AskId, SessionId};
use agent_core::outward::{SessionPage, SessionSummary, SessionView};
use agent_core::plan::{CommandFacts, CommandPlan, Location, Place, Plan};
use agent_core::prompt::{Facts, Prompted};
use agent_core::provider::{Finish, ModelRef, Provider, Usage};
use agent_core::setup::{Setup, SetupError};
use agent_core::slash::CommandInfo;
use agent_core::surface::{Ask, Form, NewTerminal, Request};
use agent_core::workspace::{RuleBook, Scope};
use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Value, json};

#[path = "translation/gates.rs"]
mod gates;

/// The schema's stable part, and the one with what is not stable yet.
static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [
        include_str!("../data/schema-v1.json"),
        include_str!("../data/schema-v1-unstable.json"),
    ]
    .map(|text| serde_json::from_str(text).unwrap())
});

/// Validators by the schema and the type.
type Validators = BTreeMap<(usize, String), Arc<Validator>>;

/// Those that were made.
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

fn validator(schema: usize, kind: &str) -> Arc<Validator> {
    let make = || {
        let all = &SCHEMAS[schema];
        let schema = json!({
            "$schema": all["$schema"],
            "$defs": all["$defs"],
            "$ref": format!("#/$defs/{kind}"),
        });
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    let mut validators = VALIDATORS.lock().unwrap();
    validators.entry((schema, kind.to_owned())).or_insert_with(make).clone()
}

/// Whether only the schema's other part knows this.
fn is_unstable(kind: &str, value: &Value) -> bool {
    let update = value["sessionUpdate"].as_str().unwrap_or_default();
    kind == "ForkSessionResponse" || ["plan_update", "plan_removed"].contains(&update)
}

/// Why a value is not of the schema's type; none if it is.
fn faults(kind: &str, value: &Value) -> Vec<String> {
    let first = usize::from(is_unstable(kind, value));
    let faults = (first..SCHEMAS.len()).flat_map(|schema| {
        let errors = validator(schema, kind);
        let errors = errors.iter_errors(value).map(|error| error.to_string());
        errors.collect::<Vec<_>>()
    });
    faults.collect()
}

/// The value as JSON, once the schema has found no fault in it.
#[track_caller]
fn valid(kind: &str, value: impl Serialize) -> Value {
    let value = serde_json::to_value(value).unwrap();
    assert_eq!(faults(kind, &value), Vec::<String>::new(), "{kind}: {value}");
    value
}

/// An effect as a short value, valid in the schema.
#[track_caller]
fn shown(effect: Effect) -> Value {
    match effect {
        Effect::Update(update) => valid("SessionUpdate", update),
        Effect::Note(update) => json!({ "note": valid("SessionUpdate", update)["content"]["text"] }),
        Effect::Ask { approval, request } => {
            json!({ "ask": valid("RequestPermissionRequest", request), "approval": approval.as_str() })
        }
        Effect::Decided(approval) => json!({ "decided": approval.as_str() }),
        Effect::EndTurn(Ok(response)) => valid("PromptResponse", response),
        Effect::EndTurn(Err(error)) => valid("Error", error),
    }
}

fn envelope(event: Event) -> Envelope {
    Envelope {
        session: "s".into(),
        turn: None,
        seq: 9,
        event,
    }
}

#[track_caller]
fn live(event: Event) -> Vec<Value> {
    let effects = to_acp::live(envelope(event), &Client::default());
    effects.into_iter().map(shown).collect()
}

#[track_caller]
fn replay(event: Event) -> Vec<Value> {
    let effects = to_acp::replay(envelope(event), &Client::default());
    effects.into_iter().map(shown).collect()
}

/// What an event leads to now, and in a replay.
struct Row {
    event: Event,
    live: Vec<Value>,
    replay: Vec<Value>,
}

fn same(event: Event, both: Vec<Value>) -> Row {
    Row {
        event,
        live: both.clone(),
        replay: both,
    }
}

fn only_live(event: Event, live: Vec<Value>) -> Row {
    Row {
        event,
        live,
        replay: Vec::new(),
    }
}

fn chunk(kind: &str, id: &str, content: Value) -> Value {
    json!({ "sessionUpdate": kind, "messageId": id, "content": content })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Text as a tool's content.
fn content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

fn call(name: &str, title: &str, kind: ToolKind, input: Value) -> ToolCall {
    ToolCall {
        id: "c".into(),
        given_id: "call_1".into(),
        name: name.into(),
        title: title.into(),
        kind,
        input: CallInput::Json(input),
    }
}

fn place(path: &str) -> Place {
    Place {
        path: path.into(),
        real: path.into(),
    }
}

fn edit() -> Plan {
    Plan::Change {
        changes: vec![FileChange::new(place("/w/a"), Some("1\n"), Some("2\n"))],
    }
}

fn command(command: &str) -> Plan {
    Plan::Command(CommandPlan {
        command: command.into(),
        cwd: place("/w"),
        background: false,
        facts: CommandFacts::default(),
    })
}

fn planned(plan: Plan) -> Event {
    Event::ToolPlanned {
        id: "c".into(),
        plan,
        locations: Vec::new(),
        runs: false,
    }
}

fn locations() -> Vec<Location> {
    vec![Location {
        path: "/w/a".into(),
        line: Some(3),
    }]
}

fn finished(status: ToolStatus, output: ToolOutput) -> Event {
    Event::ToolFinished {
        id: "c".into(),
        outcome: ToolOutcome { status, output },
    }
}

fn output(text: &str, display: Display) -> ToolOutput {
    ToolOutput {
        display,
        ..ToolOutput::text(text)
    }
}

fn question() -> Approval {
    let option = |kind: OptionKind, name: &str| ApprovalOption {
        kind,
        name: name.into(),
        grant: None,
    };
    let input = json!({ "path": "a", "content": "2\n" });
    Approval {
        id: "q".into(),
        call: "c".into(),
        reason: "outside the workspace".into(),
        options: vec![
            option(OptionKind::AllowOnce, "Allow"),
            option(OptionKind::RejectOnce, "Reject"),
        ],
        shown: Some(Arc::new(PlannedCall {
            call: call("write_file", "Edit a", ToolKind::Edit, input),
            plan: edit(),
            locations: locations(),
        })),
    }
}

fn decided(decision: Decision) -> Event {
    Event::ApprovalDecided {
        id: "q".into(),
        call: "c".into(),
        decision,
        by: DecidedBy::User,
    }
}

fn failure(class: ErrorClass) -> Event {
    Event::TurnFailed {
        failure: Failure {
            class,
            message: "the service does not answer".into(),
            provider: Some("local".into()),
            status: Some(503),
            retry_after_ms: Some(2000),
        },
    }
}

fn step(window: Option<u64>) -> Event {
    Event::StepFinished {
        step: 1,
        usage: Usage::default(),
        context: ContextUse {
            used: 100,
            window,
            cost_nano_usd: None,
        },
        finish: Finish::Stop,
        native: None,
    }
}

fn notice(severity: Severity) -> Event {
    Event::Notice {
        severity,
        title: "trying again".into(),
        detail: Some("in\n2 s".into()),
    }
}

fn changed(change: SessionChange) -> Event {
    Event::SessionChanged { change }
}

fn diff() -> Value {
    json!({ "type": "diff", "path": "/w/a", "oldText": "1\n", "newText": "2\n" })
}

fn rows() -> Vec<Row> {
    [message_rows(), tool_rows(), outcome_rows(), session_rows(), turn_rows()]
        .into_iter()
        .flatten()
        .collect()
}

fn message_rows() -> Vec<Row> {
    let pieces = vec![
        Content::text("hi"),
        Content::Image {
            mime_type: "image/png".into(),
            data: Blob::Inline(b"abc".as_slice().into()),
            uri: None,
        },
        Content::Resource {
            uri: "file:///w/a".into(),
            mime_type: Some("text/plain".into()),
            text: "t".into(),
        },
        Content::Link {
            uri: "file:///w/b".into(),
            name: "b".into(),
        },
    ];
    let resource = json!({ "uri": "file:///w/a", "mimeType": "text/plain", "text": "t" });
    let steered = Event::UserSteered {
        id: "u".into(),
        content: vec![Content::text("and faster")],
        context: vec![Content::text("for the model only")],
    };
    let replayed = [
        text("hi"),
        json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" }),
        json!({ "type": "resource", "resource": resource }),
        json!({ "type": "resource_link", "uri": "file:///w/b", "name": "b" }),
    ];
    let said = |id: &str, text: &str| Event::AgentText {
        id: id.into(),
        text: text.into(),
    };
    let thought = Event::AgentThought {
        id: "m".into(),
        text: "hm".into(),
    };
    vec![
        Row {
            event: Event::UserMessage {
                id: "u".into(),
                content: pieces,
                context: vec![Content::text("for the model only")],
                command: false,
            },
            live: Vec::new(),
            replay: replayed
                .map(|content| chunk("user_message_chunk", "u", content))
                .to_vec(),
        },
        Row {
            event: steered,
            live: Vec::new(),
            replay: vec![chunk("user_message_chunk", "u", text("and faster"))],
        },
        same(
            said("m", "hello"),
            vec![chunk("agent_message_chunk", "m", text("hello"))],
        ),
        same(said("m", ""), vec![]),
        same(thought, vec![chunk("agent_thought_chunk", "m", text("hm"))]),
    ]
}

/// A call's first status is the schema's default, `pending`, which is not written.
fn tool_rows() -> Vec<Row> {
    let update = |fields: Value| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c" });
        update
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        vec![update]
    };
    let started = |call: ToolCall| Event::ToolStarted { call };
    let malformed = ToolCall {
        input: CallInput::Malformed("{\"pa".into()),
        ..call("read_file", "", ToolKind::Read, Value::Null)
    };
    let progress = |tail: &str, total| Event::ToolProgress {
        id: "c".into(),
        progress: Progress {
            tail: tail.into(),
            total,
            lines: tail.matches('\n').count() as u64,
            terminal: None,
        },
    };
    let input = Plan::Input {
        process: "p1".into(),
        command: "python3".into(),
        text: "1 + 1\n".into(),
        forbidden: None,
    };
    vec![
        same(
            started(call("read_file", "Read a", ToolKind::Read, json!({ "path": "a" }))),
            vec![
                json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read a", "name": "read_file",
                "kind": "read", "rawInput": { "path": "a" } }),
            ],
        ),
        same(
            started(malformed),
            vec![
                json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "read_file", "name": "read_file",
                "kind": "read", "rawInput": "{\"pa" }),
            ],
        ),
        same(
            Event::ToolPlanned {
                id: "c".into(),
                plan: edit(),
                locations: locations(),
                runs: false,
            },
            update(json!({ "content": [diff()], "locations": [{ "path": "/w/a", "line": 3 }] })),
        ),
        same(
            planned(Plan::Change {
                changes: vec![FileChange::new(place("/w/a"), Some("1"), None)],
            }),
            update(json!({ "content": [
                { "type": "diff", "path": "/w/a", "oldText": "1", "newText": "" },
                content("/w/a: the file is deleted"),
            ] })),
        ),
        same(
            planned(command("echo '```'")),
            update(json!({ "content": [content("````sh\necho '```'\n````\nin /w")] })),
        ),
        same(
            planned(input),
            update(json!({ "content": [content("Input for p1 (python3):\n```\n1 + 1\n```")] })),
        ),
        same(
            planned(Plan::Read {
                places: vec![place("/w/a")],
            }),
            update(json!({})),
        ),
        same(planned(Plan::Inward), update(json!({}))),
        only_live(
            progress("one\n", 4),
            update(json!({ "status": "in_progress", "content": [content("```\none\n```")] })),
        ),
        only_live(
            progress("two", 9000),
            update(
                json!({ "status": "in_progress", "content": [content("```\ntwo\n```\n… the end of 9000 bytes so far")] }),
            ),
        ),
        only_live(
            Event::ApprovalRequested { approval: question() },
            vec![json!({ "approval": "q", "ask": { "sessionId": "s",
                "toolCall": { "toolCallId": "c", "title": "Edit a", "name": "write_file", "kind": "edit",
                    "status": "pending", "content": [diff(), content("outside the workspace")],
                    "locations": [{ "path": "/w/a", "line": 3 }], "rawInput": { "path": "a", "content": "2\n" } },
                "options": [
                    { "optionId": "allow_once", "name": "Allow", "kind": "allow_once" },
                    { "optionId": "reject_once", "name": "Reject", "kind": "reject_once" },
                ] } })],
        ),
        only_live(
            decided(Decision::Allowed),
            [
                vec![json!({ "decided": "q" })],
                update(json!({ "status": "in_progress" })),
            ]
            .concat(),
        ),
        only_live(decided(Decision::Rejected), vec![json!({ "decided": "q" })]),
        only_live(decided(Decision::Unanswered), vec![json!({ "decided": "q" })]),
        same(
            Event::ToolPlanned {
                id: "c".into(),
                plan: Plan::Inward,
                locations: Vec::new(),
                runs: true,
            },
            update(json!({ "status": "in_progress" })),
        ),
    ]
}

fn outcome_rows() -> Vec<Row> {
    let ended = |status: &str, raw: Value, shown: &[&str]| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status,
            "rawOutput": raw });
        if !shown.is_empty() {
            update["content"] = shown.iter().map(|text| content(text)).collect();
        }
        vec![update]
    };
    let of = |text: &str| json!({ "output": text });
    let exit = ToolOutput {
        raw: Some(json!({ "exitCode": 1 })),
        ..output("exit code 1\nboom", Display::Instead("boom".into()))
    };
    vec![
        same(
            finished(ToolStatus::Completed, output("**done**", Display::Prose)),
            ended("completed", of("**done**"), &["**done**"]),
        ),
        same(
            finished(ToolStatus::Completed, output("1 a ```", Display::Verbatim)),
            ended("completed", of("1 a ```"), &["````\n1 a ```\n````"]),
        ),
        same(
            finished(ToolStatus::Failed, exit),
            ended("failed", json!({ "exitCode": 1 }), &["```\nboom\n```"]),
        ),
        same(
            finished(ToolStatus::Completed, output("edited", Display::AsPlanned)),
            ended("completed", of("edited"), &[]),
        ),
        same(
            finished(ToolStatus::Failed, output("a has changed", Display::AsPlanned)),
            ended("failed", of("a has changed"), &["a has changed"]),
        ),
        same(
            finished(ToolStatus::Completed, ToolOutput::default()),
            ended("completed", of(""), &[]),
        ),
        same(
            finished(ToolStatus::Denied, ToolOutput::default()),
            ended("failed", of(""), &["Not run: it was not allowed."]),
        ),
        same(
            finished(ToolStatus::Cancelled, ToolOutput::default()),
            ended("failed", of(""), &["Stopped: the turn was cancelled."]),
        ),
    ]
}

fn session_rows() -> Vec<Row> {
    let entry = |content: &str, status| PlanEntry {
        id: content.into(),
        content: content.into(),
        status,
    };
    let entries = vec![
        entry("a", PlanStatus::Completed),
        entry("b", PlanStatus::InProgress),
        entry("c", PlanStatus::Cancelled),
        entry("d", PlanStatus::Pending),
    ];
    let planned = |content: &str, status: &str| json!({ "content": content, "priority": "medium", "status": status });
    let plan = [
        planned("a", "completed"),
        planned("b", "in_progress"),
        planned("d", "pending"),
    ];
    let note = json!({ "note": "Note: trying again: in 2 s" });
    let moved = Event::HistoryMoved {
        keep_upto: 1,
        why: HistoryMove::Clear,
    };
    let prompted = Prompted {
        instructions: None,
        system: "You are".into(),
        facts: facts(),
    };
    let compacted = Event::Compacted {
        before: 1,
        what: Compaction::Outputs,
        context: ContextUse {
            used: 100,
            window: Some(1000),
            cost_nano_usd: Some(12_500_000),
        },
    };
    vec![
        only_live(
            compacted,
            vec![
                json!({ "sessionUpdate": "usage_update", "used": 100, "size": 1000, "cost": { "amount": 0.0125, "currency": "USD" } }),
            ],
        ),
        same(
            Event::PlanUpdated { entries },
            vec![json!({ "sessionUpdate": "plan", "entries": plan })],
        ),
        only_live(
            step(Some(1000)),
            vec![json!({ "sessionUpdate": "usage_update", "used": 100, "size": 1000 })],
        ),
        only_live(step(None), vec![]),
        only_live(notice(Severity::Info), vec![]),
        only_live(notice(Severity::Warning), vec![note.clone()]),
        only_live(notice(Severity::Error), vec![note]),
        same(moved, vec![]),
        same(
            changed(SessionChange::Title("t".into())),
            vec![json!({ "sessionUpdate": "session_info_update", "title": "t" })],
        ),
        same(changed(SessionChange::Mode(Mode::Plan)), vec![]),
        same(changed(SessionChange::Model(ModelRef::offline())), vec![]),
        same(changed(SessionChange::Cwd("/w".into())), vec![]),
        same(changed(SessionChange::Told(facts())), vec![]),
        same(changed(SessionChange::Prompted(Box::new(prompted))), vec![]),
    ]
}

fn facts() -> Facts {
    let scope = Scope {
        session: SessionId::from("s"),
        cwd: "/w".into(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    Facts::new(Mode::Plan, ModelRef::offline(), &scope, &RuleBook::default())
}

fn turn_rows() -> Vec<Row> {
    let stops = [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::MaxSteps, "max_turn_requests"),
        (StopReason::Refusal, "refusal"),
        (StopReason::Cancelled, "cancelled"),
    ];
    let stopped = stops.map(|(stop, name)| {
        let usage = Usage::default();
        only_live(Event::TurnFinished { stop, usage }, vec![json!({ "stopReason": name })])
    });
    let failed = |class: ErrorClass, name: &str, code: i32| Row {
        event: failure(class),
        live: vec![json!({ "code": code, "message": "the service does not answer",
            "data": { "class": name, "provider": "local", "status": 503, "retryAfterMs": 2000 } })],
        replay: vec![chunk(
            "agent_message_chunk",
            "failure-9",
            text("This turn failed: the service does not answer"),
        )],
    };
    let failures = [
        failed(ErrorClass::Overloaded, "overloaded", -32603),
        failed(ErrorClass::Auth, "auth", -32000),
    ];
    stopped.into_iter().chain(failures).collect()
}

#[test]
fn each_event_leads_to_these_messages() {
    for row in rows() {
        assert_eq!(live(row.event.clone()), row.live, "live: {:?}", row.event);
        assert_eq!(replay(row.event.clone()), row.replay, "replay: {:?}", row.event);
    }
}

#[test]
fn a_question_holds_the_whole_command_and_nothing_hides_in_it() {
    let text = format!("{}\u{1b}]; touch HIDDEN ;\u{7}#", "a".repeat(100_000));
    let mut approval = question();
    let shown = PlannedCall {
        plan: Plan::Command(CommandPlan {
            command: text,
            cwd: place("/w/\u{202e}sub"),
            background: true,
            facts: CommandFacts::default(),
        }),
        ..approval.shown.as_deref().unwrap().clone()
    };
    approval.shown = Some(Arc::new(shown));
    approval.reason = "odd \u{1b}[8m".into();
    let asked = live(Event::ApprovalRequested { approval });
    let content = &asked[0]["ask"]["toolCall"]["content"];
    let command = content[0]["content"]["text"].as_str().unwrap();
    assert!(
        command.contains(r"\u{1b}]; touch HIDDEN ;\u{7}#"),
        "{}",
        &command[99_900..]
    );
    assert!(command.ends_with("\nin /w/\\u{202e}sub, in the background"));
    assert_eq!(content[1]["content"]["text"], r"odd \u{1b}[8m");
}

#[test]
fn a_question_says_that_a_change_is_too_large_to_show() {
    let mut approval = question();
    let large = "x".repeat(600 * 1024);
    let shown = PlannedCall {
        plan: Plan::Change {
            changes: vec![FileChange {
                old: None,
                new: Some(large),
                ..FileChange::new(place("/w/a"), None, Some(""))
            }],
        },
        ..approval.shown.as_deref().unwrap().clone()
    };
    approval.shown = Some(Arc::new(shown));
    let asked = live(Event::ApprovalRequested { approval });
    let said = &asked[0]["ask"]["toolCall"]["content"][0]["content"]["text"];
    assert!(said.as_str().unwrap().contains("a change that you can't see"), "{said}");
}

/// The event's number. A new event has none, which this match tells at compile time.
fn number(event: &Event) -> usize {
    match event {
        Event::UserMessage { .. } => 0,
        Event::AgentText { .. } => 1,
        Event::AgentThought { .. } => 2,
        Event::ToolStarted { .. } => 3,
        Event::ToolPlanned { .. } => 4,
        Event::ToolProgress { .. } => 5,
        Event::ToolFinished { .. } => 6,
        Event::ApprovalRequested { .. } => 7,
        Event::ApprovalDecided { .. } => 8,
        Event::PlanUpdated { .. } => 9,
        Event::StepFinished { .. } => 10,
        Event::Notice { .. } => 11,
        Event::Compacted { .. } => 16,
        Event::HistoryMoved { .. } => 12,
        Event::SessionChanged { .. } => 13,
        Event::TurnFinished { .. } => 14,
        Event::TurnFailed { .. } => 15,
        Event::UserSteered { .. } => 17,
    }
}

#[test]
fn every_event_has_a_row() {
    let covered: BTreeSet<usize> = rows().iter().map(|row| number(&row.event)).collect();
    assert_eq!(covered, (0..18).collect());
}

#[test]
fn a_client_that_shows_notices_gets_all_of_them_as_such() {
    let client = Client {
        notices: true,
        ..Client::default()
    };
    for (severity, name) in [
        (Severity::Info, "info"),
        (Severity::Warning, "warning"),
        (Severity::Error, "error"),
    ] {
        let effects = to_acp::live(envelope(notice(severity)), &client);
        let notice = json!({ "sessionUpdate": "notice", "severity": name, "title": "trying again",
            "description": "in\n2 s" });
        assert_eq!(effects.into_iter().map(shown).collect::<Vec<_>>(), [notice]);
    }
}

#[test]
fn notes_of_two_notices_are_two_messages() {
    let id = || match to_acp::live(envelope(notice(Severity::Error)), &Client::default()).remove(0) {
        Effect::Note(update) => serde_json::to_value(update).unwrap()["messageId"].clone(),
        other @ (Effect::Update(_) | Effect::Ask { .. } | Effect::Decided(_) | Effect::EndTurn(_)) => {
            panic!("a note was expected: {other:?}")
        }
    };
    assert_ne!(id(), id());
}

#[test]
fn long_text_is_split_and_nothing_of_it_lost() {
    let long = "€".repeat(10_000);
    let event = Event::AgentText {
        id: "m".into(),
        text: long.clone(),
    };
    let updates = live(event);
    let texts: Vec<&str> = updates
        .iter()
        .map(|update| update["content"]["text"].as_str().unwrap())
        .collect();
    assert!(texts.iter().all(|text| text.len() <= 4096));
    assert_eq!(texts.concat(), long);
}

#[test]
fn a_tools_text_is_cut_with_its_true_length() {
    let long = "x".repeat(100_000);
    for display in [Display::Prose, Display::Verbatim] {
        let update = live(finished(ToolStatus::Completed, output(&long, display))).remove(0);
        let text = update["content"][0]["content"]["text"].as_str().unwrap();
        assert!(text.ends_with("… 100000 bytes in all; the rest is not shown"));
        assert!(text.len() < 33 * 1024);
    }
}

#[test]
fn no_update_is_larger_than_a_megabyte() {
    let huge = "x".repeat(3_000_000);
    let image = Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline(vec![0; 300_000].into()),
        uri: None,
    };
    let pictures = ToolOutput {
        images: vec![image; 9],
        raw: Some(json!({ "all": huge })),
        ..output(&huge, Display::Verbatim)
    };
    let change = FileChange::new(place("/w/new"), None, Some(&huge));
    let mut asked = question();
    let shown = Arc::make_mut(asked.shown.as_mut().unwrap());
    shown.call.input = CallInput::Json(json!({ "content": huge }));
    shown.plan = Plan::Change {
        changes: vec![change; 3],
    };
    let planned = planned(shown.plan.clone());
    let started = Event::ToolStarted {
        call: shown.call.clone(),
    };
    let asked = Event::ApprovalRequested { approval: asked };
    let user = Event::UserMessage {
        id: "u".into(),
        content: vec![Content::Resource {
            uri: "file:///w/a".into(),
            mime_type: None,
            text: huge,
        }],
        context: Vec::new(),
        command: false,
    };
    for event in [finished(ToolStatus::Completed, pictures), planned, started, asked, user] {
        for message in live(event.clone()).into_iter().chain(replay(event)) {
            assert!(message.to_string().len() < 1_000_000);
        }
    }
}

fn session_view() -> SessionView {
    SessionView {
        id: "s".into(),
        title: None,
        mode: Mode::Default,
        thought: None,
        model: ModelRef::offline(),
        models: vec![ModelRef::offline(), "local/a/b".parse().unwrap()],
        commands: vec![
            CommandInfo {
                name: "help",
                description: "Shows help",
                hint: None,
            },
            CommandInfo {
                name: "mode",
                description: "Sets the mode",
                hint: Some("a mode"),
            },
        ],
        context: Some(ContextUse {
            used: 5,
            window: Some(10),
            cost_nano_usd: None,
        }),
    }
}

#[test]
fn a_session_is_answered_with_its_modes_and_options() {
    let view = session_view();
    let created = valid("NewSessionResponse", view::created(&view));
    assert_eq!(created["sessionId"], "s");
    assert_eq!(created["modes"]["currentModeId"], "default");
    let options = &created["configOptions"];
    assert_eq!(
        (&options[0]["id"], &options[0]["category"]),
        (&json!("mode"), &json!("mode"))
    );
    assert_eq!(
        (&options[1]["id"], &options[1]["category"]),
        (&json!("model"), &json!("model"))
    );
    assert_eq!(options[1]["currentValue"], "offline/offline");
    assert_eq!(options[1]["options"][1]["value"], "local/a/b");
    assert_eq!(valid("ForkSessionResponse", view::forked(&view)), created);
    for kind in ["LoadSessionResponse", "ResumeSessionResponse"] {
        let opened = valid(kind, view::opened(&view));
        assert_eq!(
            (&opened["modes"], &opened["configOptions"]),
            (&created["modes"], options)
        );
    }
    assert_eq!(
        &valid("SetSessionConfigOptionResponse", view::option_set(&view))["configOptions"],
        options
    );
    let update = valid("SessionUpdate", view::options_changed(&view));
    assert_eq!(
        (&update["sessionUpdate"], &update["configOptions"]),
        (&json!("config_option_update"), options)
    );
}

#[test]
fn commands_then_usage_follow_the_answer() {
    let announced = |view: &SessionView| -> Vec<Value> {
        view::announced(view)
            .into_iter()
            .map(|update| valid("SessionUpdate", update))
            .collect()
    };
    let mut view = session_view();
    let commands = json!([
        { "name": "help", "description": "Shows help" },
        { "name": "mode", "description": "Sets the mode", "input": { "hint": "a mode" } },
    ]);
    let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
    let usage = json!({ "sessionUpdate": "usage_update", "used": 5, "size": 10 });
    assert_eq!(announced(&view), [commands.clone(), usage]);
    view.context = None;
    assert_eq!(announced(&view), [commands]);
}

#[test]
fn a_list_has_its_times_in_iso_8601() {
    let summary = SessionSummary {
        id: "s".into(),
        cwd: "/w".into(),
        extra_roots: vec!["/x".into()],
        title: Some("t".into()),
        source: "run".into(),
        model: ModelRef::offline(),
        created_ms: 0,
        updated_ms: 1_795_000_000_123,
        messages: 2,
    };
    let page = SessionPage {
        sessions: vec![summary],
        next: Some("n".into()),
    };
    let session = json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"], "title": "t",
        "updatedAt": "2026-11-18T11:06:40.123Z" });
    let expect = json!({ "sessions": [session], "nextCursor": "n" });
    assert_eq!(valid("ListSessionsResponse", view::listed(&page)), expect);
}

/// Never asked: `initialize` opens nothing.
struct Untouched;

impl Setup for Untouched {
    fn config(&self) -> Result<Config, SetupError> {
        panic!("`initialize` reads no configuration")
    }

    fn provider(&self, _: &Config, _: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        panic!("`initialize` opens no provider")
    }

    fn models(&self, _: &Config) -> Vec<ModelRef> {
        panic!("`initialize` asks for no models")
    }
}

#[test]
fn what_a_turn_took_comes_with_its_answer_where_the_service_said_it() {
    let answer = |usage: Usage| {
        let stop = StopReason::EndTurn;
        live(Event::TurnFinished { stop, usage }).remove(0)
    };
    let all = Usage {
        input: Some(30),
        cached_read: Some(20),
        output: Some(12),
        reasoning: Some(2),
        ..Usage::default()
    };
    let usage = json!({ "totalTokens": 42, "inputTokens": 30, "outputTokens": 12, "thoughtTokens": 2,
        "cachedReadTokens": 20 });
    assert_eq!(answer(all), json!({ "stopReason": "end_turn", "usage": usage }));
    let half = Usage {
        input: Some(30),
        ..Usage::default()
    };
    assert_eq!(answer(half), json!({ "stopReason": "end_turn" }));
}

fn settings() -> Settings {
    Settings {
        name: "talaria".into(),
        version: "0.1.0".into(),
        provider: Some("local".into()),
        longest_silence: Duration::ZERO,
        setup_args: vec!["--setup".into()],
        command: vec!["/bin/agent".into(), "acp".into()],
        setup: Arc::new(Untouched),
    }
}

#[test]
fn the_greeting_advertises_what_is_served_and_nothing_else() {
    let settings = settings();
    for terminal_auth in [TerminalAuth::None, TerminalAuth::Method, TerminalAuth::Meta] {
        let client = Client {
            terminal_auth,
            ..Client::default()
        };
        let greeting = valid("InitializeResponse", settings.greeting(&client));
        let capabilities = &greeting["agentCapabilities"];
        assert_eq!(greeting["protocolVersion"], 1);
        assert_eq!(capabilities["loadSession"], true);
        assert_eq!(
            capabilities["promptCapabilities"],
            json!({ "image": true, "audio": false, "embeddedContext": true })
        );
        assert_eq!(capabilities["mcpCapabilities"], json!({ "http": true, "sse": false }));
        let session = json!({ "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {},
            "additionalDirectories": {}, "systemPrompt": { "mode": { "override": {} } } });
        assert_eq!(capabilities["sessionCapabilities"], session);
        assert_eq!(capabilities["auth"], json!({ "logout": {} }));
        assert_eq!(greeting["_meta"]["steering"]["supported"], true);
        assert_eq!(greeting["authMethods"][0]["id"], "local");
    }
}

#[test]
fn the_schema_finds_faults() {
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" });
    assert_eq!(faults("SessionUpdate", &update), Vec::<String>::new());
    for wrong in [
        json!({ "sessionUpdate": "current_mode_update", "modeId": "plan" }),
        json!({ "sessionUpdate": "private_update" }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c" }),
    ] {
        assert_ne!(faults("SessionUpdate", &wrong), Vec::<String>::new());
    }
}

#[test]
fn what_tools_ask_for_is_valid_and_goes_by_its_method() {
    let form = |choices: &[&str]| {
        Request::Form(Form {
            question: "Which\u{202e} one?\nSay".into(),
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        })
    };
    let path = || "/w/a".into();
    let content = || "a\n".to_owned();
    let create = || {
        Request::CreateTerminal(NewTerminal {
            command: "/bin/bash".into(),
            args: vec!["-c".into(), "ls".into()],
            env: vec![("A".into(), "b".into())],
            cwd: "/w".into(),
            output_limit: 1024,
        })
    };
    let created = json!({
        "sessionId": "s", "command": "/bin/bash", "args": ["-c", "ls"], "env": [{"name": "A", "value": "b"}],
        "cwd": "/w", "outputByteLimit": 1024,
    });
    let terminal = json!({"sessionId": "s", "terminalId": "t"});
    let asked = |properties: Value, required: Value| {
        json!({
            "sessionId": "s", "mode": "form", "message": "Which\\u{202e} one?\nSay",
            "requestedSchema": {"type": "object", "properties": properties, "required": required},
        })
    };
    let free = asked(
        json!({"answer": {"type": "string", "title": "Answer"}}),
        json!(["answer"]),
    );
    for (request, method, kind, expect) in [
        (
            Request::ReadFile { path: path() },
            "fs/read_text_file",
            "ReadTextFileRequest",
            json!({"sessionId": "s", "path": "/w/a"}),
        ),
        (
            Request::WriteFile {
                path: path(),
                content: content(),
            },
            "fs/write_text_file",
            "WriteTextFileRequest",
            json!({"sessionId": "s", "path": "/w/a", "content": "a\n"}),
        ),
        (create(), "terminal/create", "CreateTerminalRequest", created),
        (
            Request::TerminalOutput("t".into()),
            "terminal/output",
            "TerminalOutputRequest",
            terminal.clone(),
        ),
        (
            Request::WaitForExit("t".into()),
            "terminal/wait_for_exit",
            "WaitForTerminalExitRequest",
            terminal.clone(),
        ),
        (
            Request::KillTerminal("t".into()),
            "terminal/kill",
            "KillTerminalRequest",
            terminal.clone(),
        ),
        (
            Request::ReleaseTerminal("t".into()),
            "terminal/release",
            "ReleaseTerminalRequest",
            terminal,
        ),
        (form(&[]), "elicitation/create", "CreateElicitationRequest", free),
    ] {
        let message = sent(request);
        assert_eq!((&message["id"], &message["method"]), (&json!(7), &json!(method)));
        assert_eq!(valid(kind, &message["params"]), expect);
    }
    let message = sent(form(&["red", "blue"]));
    let schema = &valid("CreateElicitationRequest", &message["params"])["requestedSchema"];
    assert_eq!(schema["properties"]["choice"]["enum"], json!(["red", "blue"]));
    assert_eq!(schema["properties"]["answer"]["title"], "Something else");
}

fn sent(request: Request) -> Value {
    let ask = Ask {
        id: AskId(1),
        session: "s".into(),
        request,
    };
    serde_json::from_slice(&asks::line(7, ask)).unwrap()
}

#[test]
fn a_terminal_is_shown_as_long_as_it_is_there_and_later_as_text() {
    let progress = Progress {
        terminal: Some("t".into()),
        ..Progress::default()
    };
    let shown = live(Event::ToolProgress {
        id: "c".into(),
        progress,
    });
    assert_eq!(shown[0]["content"], json!([{"type": "terminal", "terminalId": "t"}]));
    for status in [ToolStatus::Completed, ToolStatus::Failed, ToolStatus::Cancelled] {
        let end = || finished(status, output("out\nexit code: 0", Display::Terminal("out\n".into())));
        assert_eq!(live(end())[0].get("content"), None, "{status:?}");
        let replayed = replay(end())[0]["content"][0]["content"]["text"].clone();
        assert!(replayed.as_str().unwrap().contains("out"), "{replayed}");
    }
}
