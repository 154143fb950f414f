//! A tool call up to its end.

use agent_core::approval::{DecidedBy, Decision};
use agent_core::change::FileChange;
use agent_core::event::{CallInput, Event, Progress, ToolCall, ToolKind};
use agent_core::plan::{CommandFacts, CommandPlan, Plan};
use agent_core::wall::Sandbox;
use serde_json::{Value, json};

use crate::events::{call, edit, locations, place, planned, question};
use crate::rows::{Row, content, only_live, same};

/// A call's first status is the schema's default, `pending`, which is not written.
pub(crate) fn rows() -> Vec<Row> {
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
            ..Progress::default()
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
            planned(Plan::Change {
                changes: vec![FileChange::new(place("/w/a"), None, None).of_binary(12)],
            }),
            update(json!({ "content": [content("/w/a: the binary file of 12 bytes is deleted")] })),
        ),
        same(
            planned(Plan::Change {
                changes: vec![FileChange::new(place("/w/a"), None, Some("1")).of_binary(12)],
            }),
            update(json!({ "content": [
                { "type": "diff", "path": "/w/a", "newText": "1" },
                content("/w/a: the binary file of 12 bytes that was there is replaced"),
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
                json!({ "status": "in_progress", "content": [content("```\ntwo\n```\n… the end of 9,000 bytes so far")] }),
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

fn command(command: &str) -> Plan {
    Plan::Command(CommandPlan {
        command: command.into(),
        cwd: place("/w"),
        background: false,
        sandbox: Sandbox::default(),
        facts: CommandFacts::default(),
    })
}

fn decided(decision: Decision) -> Event {
    Event::ApprovalDecided {
        id: "q".into(),
        call: "c".into(),
        decision,
        by: DecidedBy::User,
    }
}

fn diff() -> Value {
    json!({ "type": "diff", "path": "/w/a", "oldText": "1\n", "newText": "2\n" })
}
