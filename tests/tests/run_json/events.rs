//! Every event there is, with all its fields.

use agent_core::approval::{Approval, ApprovalOption, DecidedBy, Decision, Grant, OptionKind};
use agent_core::content::{Blob, Content};
use agent_core::event::{
    CallInput, Compaction, ContextUse, Display, ErrorClass, Event, Failure, Hash, HistoryMove, OldFile, PlanEntry,
    PlanStatus, Progress, SessionChange, Severity, StopReason, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
use agent_core::plan::{ExactCommand, Location, Place, Plan};
use agent_core::provider::{Finish, Native, Origin, Usage};
use serde_json::json;

pub(crate) fn every_event() -> Vec<Event> {
    std::iter::successors(next(None), |event| next(Some(event))).collect()
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
                elapsed_s: Some(1),
                ..Progress::default()
            },
        },
        Some(Event::ToolProgress { .. }) => tool_finished(),
        Some(Event::ToolFinished { .. }) => approval_requested(),
        Some(Event::ApprovalRequested { .. }) => approval_decided(),
        Some(Event::ApprovalDecided { .. }) => files_kept(),
        Some(Event::FilesKept { .. }) => plan_updated(),
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

fn files_kept() -> Event {
    let place = Place {
        path: "/w/a".into(),
        real: "/w/a".into(),
    };
    let mut old = OldFile::new(place, Some((b"a".as_slice().into(), Some(0o644))), Some(Hash::of(b"b")));
    old.file.folders = 1;
    Event::FilesKept {
        call: Some("c".into()),
        files: vec![old.file],
    }
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
            prints_in: Some("/w".into()),
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
        model: None,
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

pub(crate) fn exact() -> ExactCommand {
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
