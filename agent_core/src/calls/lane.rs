//! A call on its lane's thread: planned, and run once it may.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use serde_json::Value;

use crate::asker::Terminal;
use crate::cancel::Cancel;
use crate::event::{OldFile, PlanEntry, Progress, ToolOutput};
use crate::id::ToolCallId;
use crate::plan::{Location, Plan};
use crate::tool::{Report, Run, Tool, ToolError};

/// The calls of one tool, one after the other. A thread works on them; where it is left behind with a call, another one
/// goes on with the rest.
pub(super) struct Lane {
    /// The tool.
    name: String,
    to_turn: Sender<FromLane>,
    state: Mutex<State>,
}

struct State {
    jobs: VecDeque<Job>,
    current: Option<ToolCallId>,
    /// The number of the thread that works here now.
    thread: u64,
}

impl Lane {
    /// A lane on which nobody works yet.
    pub(super) fn new(name: String, jobs: Vec<Job>, to_turn: Sender<FromLane>) -> Self {
        let state = State {
            jobs: jobs.into(),
            current: None,
            thread: 0,
        };
        Self {
            name,
            to_turn,
            state: Mutex::new(state),
        }
    }

    /// Begins to work, on a thread of its own.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn begin(self: &Arc<Self>) -> io::Result<()> {
        let (lane, thread) = (Arc::clone(self), self.state.lock().thread);
        let work = move || {
            while let Some(job) = lane.next(thread) {
                job.work(&lane.to_turn);
            }
        };
        let name = &self.name;
        thread::Builder::new().name(format!("tool {name}")).spawn(work)?;
        Ok(())
    }

    /// Leaves the thread behind that works on this call. Says whether there are others that need a new one.
    pub(super) fn leave(&self, call: &ToolCallId) -> bool {
        let mut state = self.state.lock();
        if state.current.as_ref() != Some(call) {
            return false;
        }
        state.current = None;
        state.thread += 1;
        !state.jobs.is_empty()
    }

    /// The calls that nobody has begun to work on.
    pub(super) fn waiting(&self) -> Vec<ToolCallId> {
        self.state.lock().jobs.iter().map(|job| job.id.clone()).collect()
    }

    /// The next call for this thread; none once it was left behind.
    fn next(&self, thread: u64) -> Option<Job> {
        let mut state = self.state.lock();
        if state.thread != thread {
            return None;
        }
        let job = state.jobs.pop_front();
        state.current = job.as_ref().map(|job| job.id.clone());
        job
    }
}

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
    Begun {
        id: ToolCallId,
    },
    Planned {
        id: ToolCallId,
        plan: Plan,
        locations: Vec<Location>,
    },
    Progress {
        id: ToolCallId,
    },
    Todo {
        id: ToolCallId,
        entries: Vec<PlanEntry>,
    },
    Terminal {
        id: ToolCallId,
        terminal: Terminal,
    },
    Question {
        id: ToolCallId,
        text: String,
    },
    Keep {
        id: ToolCallId,
        files: Vec<OldFile>,
        /// Sent on once that is stored; dropped where it will not be.
        kept: Sender<()>,
    },
    Finished {
        id: ToolCallId,
        result: Result<ToolOutput, ToolError>,
    },
}

impl Job {
    /// Plans and runs the call, and tells the turn.
    fn work(self, to_turn: &Sender<FromLane>) {
        if self.cancel.is_set() {
            return;
        }
        let _ = to_turn.send(FromLane::Begun { id: self.id.clone() });
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
            keep: &|files| self.keep(files, to_turn),
        }))
    }

    fn keep(&self, files: Vec<OldFile>, to_turn: &Sender<FromLane>) -> Result<(), ToolError> {
        let (kept, is_kept) = bounded(1);
        let id = self.id.clone();
        let _ = to_turn.send(FromLane::Keep { id, files, kept });
        is_kept.recv().map_err(|_| ToolError::new(LATE))
    }

    fn report(&self, report: Report, to_turn: &Sender<FromLane>) {
        let message = match report {
            Report::Todo(entries) => FromLane::Todo {
                id: self.id.clone(),
                entries,
            },
            Report::Terminal(terminal) => FromLane::Terminal {
                id: self.id.clone(),
                terminal,
            },
            Report::Question(text) => FromLane::Question {
                id: self.id.clone(),
                text,
            },
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

const LATE: &str = "The call was left behind before it changed anything; no file was changed.";

const FAULT: &str = "The tool failed by a fault of its own; the fault is in the log. Try another way.";
