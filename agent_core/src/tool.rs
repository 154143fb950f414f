//! The port to a tool: what it is, what it would do, and doing it.
//!
//! A call is planned first and run later, with a question to the user in between where policy wants one. What was
//! computed for the plan travels inside [`Planned::action`], so that what was shown is what runs.

use std::time::Duration;

use serde_json::Value;

use crate::asker::Terminal;
use crate::cancel::Cancel;
use crate::event::{Event, OldFile, PlanEntry, Progress, ToolKind, ToolOutput};
use crate::plan::{Location, Plan};
use crate::provider::ToolSpec;

/// Something a model can call. One value serves one session.
pub trait Tool: Send + Sync {
    /// The tool as a model sees it.
    fn spec(&self) -> &ToolSpec;

    /// What sort of thing it does.
    fn kind(&self) -> ToolKind;

    /// One line for a person about this call, under 200 characters. Any JSON may come, and no fault may follow.
    fn title(&self, input: &Value) -> String;

    /// Whether this call surely changes nothing, so that it may run beside others. Decided from the arguments alone.
    fn only_reads(&self, input: &Value) -> bool;

    /// Whether the same call may make sense many times in a row though nothing has changed: it looks at something that
    /// goes on.
    fn may_repeat(&self, _input: &Value) -> bool {
        false
    }

    /// The folder of the command that it runs, as text, if the call tells what it prints as
    /// [`Progress::printed`] and [`Display::Ran`](crate::event::Display::Ran).
    fn prints_in(&self, _input: &Value) -> Option<String> {
        None
    }

    /// How long the call may take once it runs.
    fn limit(&self, _input: &Value) -> Limit {
        Limit::Usual
    }

    /// Waits for what all calls of it need, before one is planned: on the turn's thread, bounded in time, up to a cancel,
    /// and with a wait of more than a moment told.
    fn get_ready(&self, _cancel: &Cancel, _tell: &mut dyn FnMut(Event)) {}

    /// Works out what the call would do, without doing it. Nobody waits for it after `cancel` has been set.
    ///
    /// # Errors
    /// Arguments that make no sense, or a world in which the call can't be done; told to the model as the result.
    fn plan(&self, input: &Value, cancel: &Cancel) -> Result<Planned, ToolError>;
}

/// How long a call may take. One that has not ended by then ends as failed, whatever it still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// As long as the user lets any call take.
    Usual,
    /// As long as this; the call ends by itself before.
    Own(Duration),
    /// As long as a person takes.
    None,
}

/// A call that is ready to run.
pub struct Planned {
    /// What it will do.
    pub plan: Plan,
    /// The files it touches, for an editor to follow.
    pub locations: Vec<Location>,
    /// Does it. If the world has changed since the plan was made, it fails and says so.
    pub action: Action,
}

/// The second half of a planned call.
pub type Action = Box<dyn FnOnce(&Run<'_>) -> Result<ToolOutput, ToolError> + Send>;

/// What a running call has at hand.
pub struct Run<'a> {
    /// Ends everything the call waits for; after it has been set the call has 2 s to return.
    pub cancel: &'a Cancel,
    /// Tells what is new. Cheap, never blocks; the caller limits the rate.
    pub report: &'a dyn Fn(Report),
    /// Keeps what files hold that the call is about to change, all of them at once and before the first one changes.
    /// Returns when that is stored; an error means that they must stay as they are.
    pub keep: &'a dyn Fn(Vec<OldFile>) -> Result<(), ToolError>,
}

/// What a running call tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// How far its output has come.
    Progress(Progress),
    /// The session's to-do list is now this.
    Todo(Vec<PlanEntry>),
    /// It goes on in this terminal of the surface, which is kept until the call has ended.
    Terminal(Terminal),
    /// A question that nobody can be shown as a form: it is put as a text, and the turn ends with it.
    Question(String),
}

/// Why a call did not do what it should. The model reads it, so it says what to do next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What was tried, with what value, why it failed, what to do next.
    pub message: String,
    /// What came all the same: the output of a command that failed.
    pub output: Option<ToolOutput>,
}

impl ToolError {
    /// An error without any output.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            output: None,
        }
    }
}
