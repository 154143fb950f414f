//! The contract: everything that happens in a session, as one closed enum of plain data.
//!
//! The same events are what a surface translates, what the store keeps, what a load replays, and what tests
//! compare. Nothing here knows who listens.

mod call;
mod failure;
mod kept;
mod printed;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, DecidedBy, Decision, Mode};
use crate::content::Content;
use crate::id::{ApprovalId, MessageId, SessionId, ToolCallId, TurnId};
use crate::json_path;
use crate::plan::{Location, Plan};
use crate::prompt::{Facts, Prompted};
use crate::provider::{Finish, ModelRef, Native, ThoughtLevel, Usage};

pub use call::{
    CallInput, Display, PlannedCall, Progress, Shown, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
pub use failure::{ErrorClass, Failure};
pub use kept::{Hash, KeptBytes, KeptFile, OldFile};
pub use printed::{Printed, Ran};

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
    /// What the user says while a turn runs. It joins that turn before its next model call.
    UserSteered {
        /// The message.
        id: MessageId,
        /// What the user sent, as sent.
        content: Vec<Content>,
        /// Texts of linked files, for the model. Not shown to people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<Content>,
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
    /// Files are about to change, and what they hold is kept for `/undo`. Not shown to people.
    FilesKept {
        /// The call that changes them; none where the user takes a change back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCallId>,
        /// The files.
        files: Vec<KeptFile>,
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
        /// The model that has answered; none in rows of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelRef>,
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
    /// Room was made in the model's context. A replay and a search still see everything.
    Compacted {
        /// What comes before this row was made shorter.
        before: u64,
        /// In which way.
        what: Compaction,
        /// How full the context is now.
        context: ContextUse,
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

/// How full a model's context is, and what it took to come there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Tokens in use after the last step; an estimate until the service has said.
    pub used: u64,
    /// Tokens there is room for; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What the session has cost so far, in billionths of a US dollar, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
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

/// How room was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Compaction {
    /// Long outputs of tools, texts of linked files and pictures became one-line notes.
    Outputs,
    /// Pictures became one-line notes.
    Pictures,
    /// A summary took the place of the messages.
    Summary {
        /// The summary.
        text: String,
    },
}

/// What moved the start of the model's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryMove {
    /// `/clear`.
    Clear,
    /// The model refused: its prompt and what followed leave the history.
    Refusal,
    /// `/undo`: the turns are taken back, and so are their files.
    Undo,
    /// `/redo`: what the last `/undo` took out is in the history again.
    Redo,
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
    /// How much its model should think; `None` leaves it to the service.
    Thought(Option<ThoughtLevel>),
    /// Its folder.
    Cwd(#[serde(with = "json_path")] PathBuf),
    /// What its model has been told of it.
    Told(Facts),
    /// Tokens were used for it beside its steps: its title was asked for, or a summary.
    Spent(Usage),
    /// How full its context is, where no step has said it: turns were taken back.
    Context(ContextUse),
    /// Its system prompt was made anew, since its client has other instructions.
    Prompted(Box<Prompted>),
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
    /// The next model call would cost more than the turn may.
    Budget,
    /// The model or its service refused.
    Refusal,
    /// The user cancelled.
    Cancelled,
    /// The slash command that the turn is was not done; what was answered says why.
    NotDone,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}
