//! The contract: everything that happens in a session, as one closed enum of plain data.
//!
//! The same events are what a surface translates, what the store keeps, what a load replays, and what tests
//! compare. Nothing here knows who listens.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{Approval, DecidedBy, Decision, Mode};
use crate::content::Content;
use crate::id::{ApprovalId, MessageId, SessionId, ToolCallId, TurnId};
use crate::plan::{Location, Plan};
use crate::prompt::Facts;
use crate::provider::{Finish, ModelRef, Native, Usage};

/// An event with its place in its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The session it happened in.
    pub session: SessionId,
    /// The turn it belongs to; none for what happens between turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The number of its row, from 1. All chunks of a message carry the number of the message's row;
    /// a live-only event (see [`Event::is_live_only`]) carries that of the row before it.
    pub seq: u64,
    /// What happened.
    pub event: Event,
}

/// What can happen. Matched without a wildcard arm everywhere, so that a new variant names its own to-do list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The user's prompt, at the start of its turn.
    UserMessage {
        /// The message.
        id: MessageId,
        /// What the user sent, as sent.
        content: Vec<Content>,
        /// What the runtime adds for the model: texts of linked files, what has changed since the last turn.
        /// Not shown to people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<Content>,
        /// The core answers this one itself as a slash command; its turn is no part of the model's history.
        #[serde(default, skip_serializing_if = "is_false")]
        command: bool,
    },
    /// A chunk of what the model says; whole when it comes from the store.
    AgentText {
        /// The message it belongs to.
        id: MessageId,
        /// The next piece of text.
        text: String,
    },
    /// A chunk of what the model thinks; whole when it comes from the store.
    AgentThought {
        /// The message it belongs to.
        id: MessageId,
        /// The next piece of text.
        text: String,
    },
    /// A tool call, announced once its arguments are complete.
    ToolStarted {
        /// The call.
        call: ToolCall,
    },
    /// What the call will do, before anyone is asked and before it is done.
    ToolPlanned {
        /// The call.
        id: ToolCallId,
        /// What it will do: the diff, the command.
        plan: Plan,
        /// The files it touches.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        locations: Vec<Location>,
        /// It begins to run now, without a question.
        #[serde(default)]
        runs: bool,
    },
    /// How far a running call has come. Live only.
    ToolProgress {
        /// The call.
        id: ToolCallId,
        /// The end of its output so far; replaces what an earlier one said.
        progress: Progress,
    },
    /// The call's end; exactly one for each [`Event::ToolStarted`].
    ToolFinished {
        /// The call.
        id: ToolCallId,
        /// How it ended.
        outcome: ToolOutcome,
    },
    /// A question to the user; the call waits for the answer.
    ApprovalRequested {
        /// The question.
        approval: Approval,
    },
    /// The answer, or what stood in for one.
    ApprovalDecided {
        /// The question.
        id: ApprovalId,
        /// The call that waited; it begins to run if it was allowed.
        call: ToolCallId,
        /// What was decided.
        decision: Decision,
        /// Who decided.
        by: DecidedBy,
    },
    /// The model's to-do list, whole.
    PlanUpdated {
        /// All entries, in order.
        entries: Vec<PlanEntry>,
    },
    /// A model call has ended and its reply is complete.
    StepFinished {
        /// The step's number within its turn, from 1.
        step: u32,
        /// Tokens of this step.
        usage: Usage,
        /// How full the model's context is now.
        context: ContextUse,
        /// Why the model stopped.
        finish: Finish,
        /// The reply as its provider's dialect stores it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// Something the user should know that is no part of the conversation. Live only.
    Notice {
        /// How much it matters.
        severity: Severity,
        /// One line.
        title: String,
        /// More, where there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// What lies between a mark and this event is out of the model's history and of a replay.
    HistoryMoved {
        /// The last row that stays.
        keep_upto: u64,
        /// What moved it.
        why: HistoryMove,
    },
    /// The session itself has changed.
    SessionChanged {
        /// What changed, and to what.
        change: SessionChange,
    },
    /// The turn has ended; the answer to its prompt.
    TurnFinished {
        /// Why it ended.
        stop: StopReason,
        /// Tokens of all its steps.
        usage: Usage,
    },
    /// The turn has failed; the answer to its prompt. Never a clean end.
    TurnFailed {
        /// What went wrong.
        failure: Failure,
    },
}

impl Event {
    /// Whether the event is sent but not stored: it says how something is going, not what came of it.
    pub fn is_live_only(&self) -> bool {
        matches!(self, Self::ToolProgress { .. } | Self::Notice { .. })
    }

    /// Whether the event answers its turn's prompt.
    pub fn ends_turn(&self) -> bool {
        matches!(self, Self::TurnFinished { .. } | Self::TurnFailed { .. })
    }
}

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
    /// This instead of the text, verbatim: what a command printed, without what only the model needs.
    Instead(String),
    /// Nothing new: what was planned (the diff) is what was done.
    AsPlanned,
}

/// The end of a running call's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// At most the last 8 KiB.
    pub tail: String,
    /// Bytes of output so far.
    pub total: u64,
}

/// One line of a to-do list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// Its name within the list.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far an entry of a to-do list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Dropped.
    Cancelled,
}

/// How full a model's context is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Tokens in use after the last step; an estimate until the service has said.
    pub used: u64,
    /// Tokens there is room for; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is not as it should be, and work goes on.
    Warning,
    /// Something is lost or not done.
    Error,
}

/// What moved the start of the model's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryMove {
    /// `/clear`.
    Clear,
    /// The model refused: its prompt and what followed leave the history.
    Refusal,
}

/// A change of the session itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// Its title.
    Title(String),
    /// Its mode.
    Mode(Mode),
    /// Its model.
    Model(ModelRef),
    /// Its folder.
    Cwd(PathBuf),
    /// What its model has been told of it.
    Told(Facts),
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had nothing more to do.
    EndTurn,
    /// The reply reached its length limit.
    MaxTokens,
    /// The turn used up its model calls.
    MaxSteps,
    /// The model or its service refused.
    Refusal,
    /// The user cancelled.
    Cancelled,
}

/// What went wrong with a turn, for a person and for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What sort of thing went wrong.
    pub class: ErrorClass,
    /// One sentence: what was tried, why it failed, what to do next.
    pub message: String,
    /// The provider's name in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// When a further try makes sense, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure without a service behind it.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            provider: None,
            status: None,
            retry_after_ms: None,
        }
    }
}

/// What sort of thing went wrong; decides what may be tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The account has no credit.
    Billing,
    /// Too many requests.
    RateLimit,
    /// The service is overloaded.
    Overloaded,
    /// The service failed.
    Server,
    /// Nothing came for too long.
    Timeout,
    /// The service could not be reached.
    Network,
    /// The service's certificate was not accepted.
    Tls,
    /// The request does not fit the model's context.
    ContextOverflow,
    /// The request is larger than the service takes.
    PayloadTooLarge,
    /// The service does not take this picture.
    ImageRejected,
    /// The service does not have this model.
    ModelNotFound,
    /// The service's policy forbids the request.
    ContentPolicy,
    /// The service did not understand the request.
    BadRequest,
    /// The service broke its own format.
    Protocol,
    /// The configuration is wrong.
    Config,
    /// A fault of ours.
    Internal,
}

/// A call with all that it will do, as an [`Approval`] shows it; see [`Approval::shown`].
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}
