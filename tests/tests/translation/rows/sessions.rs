//! What a session tells beside its turns: plans, use, notices, changes.

use agent_core::approval::Mode;
use agent_core::event::{
    Compaction, ContextUse, Event, HistoryMove, OldFile, PlanEntry, PlanStatus, SessionChange, Severity,
};
use agent_core::id::SessionId;
use agent_core::plan::Place;
use agent_core::prompt::{Facts, Prompted};
use agent_core::provider::{Finish, ModelRef, Usage};
use agent_core::workspace::{RuleBook, Scope};
use serde_json::json;

use crate::events::notice;
use crate::rows::{Row, only_live, same};

pub(crate) fn rows() -> Vec<Row> {
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
        same(kept(), vec![]),
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

fn kept() -> Event {
    let place = Place {
        path: "/w/a".into(),
        real: "/w/a".into(),
    };
    Event::FilesKept {
        call: None,
        files: vec![OldFile::new(place, Some((b"a".as_slice().into(), None)), None).file],
    }
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

fn step(window: Option<u64>) -> Event {
    Event::StepFinished {
        step: 1,
        model: None,
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

fn changed(change: SessionChange) -> Event {
    Event::SessionChanged { change }
}
