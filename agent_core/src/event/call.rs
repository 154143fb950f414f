//! A tool call from what the model asked for to what came of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::printed::{Printed, Ran};
use crate::content::Content;
use crate::id::{TerminalId, ToolCallId};
use crate::plan::{Location, Plan};

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Our name for it.
    pub id: ToolCallId,
    /// The model's name for it, which goes back to the model with the result.
    pub given_id: String,
    /// The tool's name.
    pub name: String,
    /// One line for a person, from the arguments alone.
    pub title: String,
    /// What sort of thing the tool does.
    pub kind: ToolKind,
    /// The arguments.
    pub input: CallInput,
    /// The folder of the command that it runs, as text, if its output is heard here: a surface may show that as a terminal
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prints_in: Option<String>,
}

/// A call's arguments as the model wrote them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInput {
    /// Valid JSON.
    Json(Value),
    /// Text that is no JSON; such a call is never run.
    Malformed(String),
}

impl CallInput {
    /// All of it, laid out for people.
    pub fn readable(&self) -> String {
        match self {
            Self::Json(value) => format!("{value:#}"),
            Self::Malformed(text) => text.clone(),
        }
    }
}

/// What sort of thing a tool does; how an editor chooses its icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Fetches from the network.
    Fetch,
    /// Plans or reasons.
    Think,
    /// Anything else.
    Other,
}

/// A call with all that it will do, as an [`Approval`](crate::approval::Approval) shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    /// The call.
    pub call: ToolCall,
    /// What it will do.
    pub plan: Plan,
    /// The files it touches.
    pub locations: Vec<Location>,
}

/// A planned call behind a cheap handle.
pub type Shown = Option<Arc<PlannedCall>>;

/// The end of a running call's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// At most the last 8 KiB.
    pub tail: String,
    /// Bytes of output so far.
    pub total: u64,
    /// Lines of output so far that have their end; the tail's are the last of them.
    pub lines: u64,
    /// The surface's own terminal that shows the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalId>,
    /// The same output with its colours, from a call that [prints](ToolCall::prints_in). Only for who shows it now.
    #[serde(skip)]
    pub printed: Printed,
    /// Seconds that the call has run for, where this tells nothing but that it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<u64>,
    /// How the call ended, where the surface's own terminal does not show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Progress {
    /// The most bytes of a tail.
    pub const LONGEST: usize = 8 * 1024;
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// Which end it was.
    pub status: ToolStatus,
    /// What came of it; for a failure, why and what to do next.
    pub output: ToolOutput,
}

/// The four ends of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Done.
    Completed,
    /// Tried and failed.
    Failed,
    /// Not run: it was refused.
    Denied,
    /// Stopped by a cancel, or not begun because of one.
    Cancelled,
}

/// What a call gives back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// For the model.
    pub text: String,
    /// Pictures for a model that sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Content>,
    /// How a person is shown it.
    #[serde(default)]
    pub display: Display,
    /// Machine-readable facts, such as an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

impl ToolOutput {
    /// Output of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// How a person is shown a tool's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// The text as it is, as Markdown.
    #[default]
    Prose,
    /// The text verbatim, in a fence.
    Verbatim,
    /// The text is JSON: in a fence, set out so that it can be read.
    Json,
    /// This instead of the text, verbatim: what a command printed, without what only the model needs.
    Instead(String),
    /// Live nothing new, since the surface's own terminal shows it; later this, verbatim.
    Terminal(String),
    /// Nothing new: what was planned (the diff) is what was done.
    AsPlanned,
    /// What a command printed.
    Ran(Box<Ran>),
}
