//! A call on its lane's thread: planned, and run once it may.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use serde_json::Value;

use crate::asker::Terminal;
use crate::cancel::Cancel;
use crate::event::{PlanEntry, Progress, ToolOutput};
use crate::id::ToolCallId;
use crate::plan::{Location, Plan};
use crate::tool::{Report, Run, Tool, ToolError};

/// One call as its lane knows it.
pub(super) struct Job {
    pub(super) id: ToolCallId,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    /// The go; disconnects where there will be none.
    pub(super) may_go: Receiver<()>,
    /// The newest progress that the turn has not seen yet; a slow surface skips the ones before.
    pub(super) progress: Arc<Mutex<Option<Progress>>>,
    pub(super) cancel: Cancel,
}

/// What a lane tells the turn. A turn that has left hears nothing more; that is not the lane's concern.
pub(super) enum FromLane {
    Planned {
        id: ToolCallId,
        plan: Plan,
        locations: Vec<Location>,
    },
    Progress {
        id: ToolCallId,
    },
    Todo {
        entries: Vec<PlanEntry>,
    },
    Terminal {
        id: ToolCallId,
        terminal: Terminal,
    },
    Question {
        text: String,
    },
    Finished {
        id: ToolCallId,
        result: Result<ToolOutput, ToolError>,
    },
}

impl Job {
    /// Plans and runs the call, and tells the turn.
    pub(super) fn work(self, to_turn: &Sender<FromLane>) {
        if self.cancel.is_set() {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.plan_and_run(to_turn)));
        let result = result.unwrap_or_else(|_| Some(Err(ToolError::new(FAULT))));
        if let Some(result) = result {
            let _ = to_turn.send(FromLane::Finished { id: self.id, result });
        }
    }

    /// The result, or nothing if the call got no go.
    fn plan_and_run(&self, to_turn: &Sender<FromLane>) -> Option<Result<ToolOutput, ToolError>> {
        let planned = match self.tool.plan(&self.input, &self.cancel) {
            Ok(planned) => planned,
            Err(error) => return Some(Err(error)),
        };
        let _ = to_turn.send(FromLane::Planned {
            id: self.id.clone(),
            plan: planned.plan,
            locations: planned.locations,
        });
        self.may_go.recv().ok()?;
        let report = |report| self.report(report, to_turn);
        Some((planned.action)(&Run {
            cancel: &self.cancel,
            report: &report,
        }))
    }

    fn report(&self, report: Report, to_turn: &Sender<FromLane>) {
        let message = match report {
            Report::Todo(entries) => FromLane::Todo { entries },
            Report::Terminal(terminal) => FromLane::Terminal {
                id: self.id.clone(),
                terminal,
            },
            Report::Question(text) => FromLane::Question { text },
            Report::Progress(progress) => {
                // One message for all that the turn has not taken yet.
                if self.progress.lock().replace(progress).is_some() {
                    return;
                }
                FromLane::Progress { id: self.id.clone() }
            }
        };
        let _ = to_turn.send(message);
    }
}

const FAULT: &str = "The tool failed by a fault of its own; the fault is in the log. Try another way.";
