//! Events to translate, each with what these tests leave as it is.

use std::sync::Arc;

use agent_core::approval::{Approval, ApprovalOption, OptionKind};
use agent_core::change::FileChange;
use agent_core::event::{
    CallInput, Display, Event, PlannedCall, Severity, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
use agent_core::plan::{Location, Place, Plan};
use serde_json::{Value, json};

pub(crate) fn call(name: &str, title: &str, kind: ToolKind, input: Value) -> ToolCall {
    ToolCall {
        id: "c".into(),
        given_id: "call_1".into(),
        name: name.into(),
        title: title.into(),
        kind,
        input: CallInput::Json(input),
        prints_in: None,
    }
}

pub(crate) fn place(path: &str) -> Place {
    Place {
        path: path.into(),
        real: path.into(),
    }
}

pub(crate) fn edit() -> Plan {
    Plan::Change {
        changes: vec![FileChange::new(place("/w/a"), Some("1\n"), Some("2\n"))],
    }
}

pub(crate) fn planned(plan: Plan) -> Event {
    Event::ToolPlanned {
        id: "c".into(),
        plan,
        locations: Vec::new(),
        runs: false,
    }
}

pub(crate) fn locations() -> Vec<Location> {
    vec![Location {
        path: "/w/a".into(),
        line: Some(3),
    }]
}

pub(crate) fn finished(status: ToolStatus, output: ToolOutput) -> Event {
    Event::ToolFinished {
        id: "c".into(),
        outcome: ToolOutcome { status, output },
    }
}

pub(crate) fn output(text: &str, display: Display) -> ToolOutput {
    ToolOutput {
        display,
        ..ToolOutput::text(text)
    }
}

pub(crate) fn question() -> Approval {
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

pub(crate) fn notice(severity: Severity) -> Event {
    Event::Notice {
        severity,
        title: "trying again".into(),
        detail: Some("in\n2 s".into()),
    }
}
