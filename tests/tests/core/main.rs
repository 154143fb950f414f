//! The core with its real tools and store, driven by scripts and seen through its events.

#![allow(clippy::unwrap_used, reason = "tests")]

mod approvals;
mod calls;
mod cancels;
mod loads;
mod places;
mod queue;
mod replies;
mod undo;

use agent_core::approval::UserAnswer;
use agent_core::event::Event;
use agent_core::id::SessionId;
use agent_core::runtime::Runtime;
use agent_core::script::{ScriptReply, ScriptStep};
use serde_json::json;

fn says(text: &str) -> ScriptReply {
    ScriptReply::new([ScriptStep::text(text)])
}

fn creates(path: &str) -> ScriptStep {
    ScriptStep::call("write_file", json!({"path": path, "content": "x\n"}))
}

fn runs(command: &str) -> ScriptStep {
    ScriptStep::call("terminal", json!({"command": command}))
}

fn nothing(_: &Runtime, _: &SessionId, _: &Event) {}

/// Answers each question in the same way.
fn answering(answer: UserAnswer) -> impl FnMut(&Runtime, &SessionId, &Event) {
    move |runtime, session, event| {
        if let Event::ApprovalRequested { approval } = event {
            runtime.decide(session, &approval.id, answer.clone());
        }
    }
}

#[track_caller]
fn check(got: &str, expect: &str) {
    let expect: Vec<&str> = expect.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(got.lines().collect::<Vec<_>>(), expect);
}
