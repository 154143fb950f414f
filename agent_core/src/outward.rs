//! What leaves the core: events and answers, in one order, on one channel.

mod outlet;
mod pieces;
mod weight;

use std::path::PathBuf;

use crate::approval::Mode;
use crate::backlog::BACKLOG;
use crate::event::{ContextUse, Envelope, SessionChange};
use crate::id::{AskId, SessionId};
use crate::provider::{ModelRef, ThoughtLevel};
use crate::session::QUEUE;
use crate::slash::CommandInfo;
use crate::surface::Ask;

pub use outlet::{Outlet, Parcel, ROOM, outlet};
pub(crate) use pieces::pieces;

/// One thing that leaves the core.
#[derive(Clone, Debug, PartialEq)]
pub enum Outward {
    /// Something happens now.
    Live(Envelope),
    /// Something that happened before. A long message comes in several, each with its number and id.
    Replay {
        /// The load that it is a part of; its answer comes after it.
        call: CallId,
        /// What happened.
        envelope: Envelope,
    },
    /// An option of an open session has another value, whoever set it.
    OptionChanged {
        /// The option and its value.
        change: SessionChange,
        /// The session as it is now.
        view: SessionView,
    },
    /// The model's context is this full now, and no step says so.
    ContextChanged {
        /// The session.
        session: SessionId,
        /// What is used, and of how much.
        context: ContextUse,
    },
    /// A tool asks the surface for something; the answer goes to
    /// [`Runtime::reply`](crate::runtime::Runtime::reply).
    Ask(Ask),
    /// Nobody waits any more for what was asked.
    TakeBack(AskId),
    /// A call has its result.
    Answer {
        /// The call.
        call: CallId,
        /// Its result.
        result: Result<Answer, CallError>,
    },
}

/// A call into the core whose result comes as an [`Outward::Answer`]. Unique within a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A session was created.
    Created(SessionView),
    /// A session was opened; its replay, if one was asked for, has been sent.
    Opened(SessionView),
    /// A page of the stored sessions.
    Listed(SessionPage),
    /// The session was closed; its turn, if one ran, has ended before.
    Closed,
    /// The session is gone, with all that was stored of it; its turn, if one ran, has ended before.
    Deleted,
    /// An option was set; the session as it is now.
    OptionSet(SessionView),
}

/// What a surface shows of an open session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionView {
    /// The session.
    pub id: SessionId,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its mode.
    pub mode: Mode,
    /// Its model; always one of `models`.
    pub model: ModelRef,
    /// How much its model should think; `None` leaves it to the service.
    pub thought: Option<ThoughtLevel>,
    /// The models it can be given now.
    pub models: Vec<ModelRef>,
    /// The slash commands it takes.
    pub commands: Vec<CommandInfo>,
    /// How full the model's context is, once that is known.
    pub context: Option<ContextUse>,
}

/// A page of stored sessions, newest activity first.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; none on the last one.
    pub next: Option<String>,
}

/// A stored session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// Its folder.
    pub cwd: PathBuf,
    /// Its further folders.
    pub extra_roots: Vec<PathBuf>,
    /// Its title.
    pub title: Option<String>,
    /// Where it was begun: `acp` or `run`.
    pub source: String,
    /// Its model.
    pub model: ModelRef,
    /// When it was begun, in Unix ms.
    pub created_ms: i64,
    /// Its last activity, in Unix ms.
    pub updated_ms: i64,
    /// Messages of user and model.
    pub messages: u64,
    /// The user has put it aside.
    pub is_archived: bool,
}

/// Why a call has no result. Each message is a sentence for a person.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// No session of this id is open, or none is stored.
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    /// A folder is relative, missing, or no folder.
    #[error("{message}")]
    BadFolder {
        /// Which argument it was: `cwd` or `additionalDirectories`.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// An option's id or value is not one of those offered.
    #[error("{message}")]
    BadOption {
        /// Which argument it was: `mode`, `model`.
        field: &'static str,
        /// What is wrong with it, and what could be chosen.
        message: String,
    },
    /// Another process works in the session.
    #[error("process {pid} is working in this session: close it there first")]
    Held {
        /// That process.
        pid: u32,
    },
    /// The session's queue, or those of all together, have no room for a prompt.
    #[error(
        "{} MiB of prompts wait in this session already, or {} MiB in all; send this one when some have ended",
        QUEUE >> 20,
        BACKLOG >> 20
    )]
    QueueFull,
    /// The cursor is not one of ours.
    #[error("this cursor does not belong to this list; begin again without one")]
    BadCursor,
    /// The model's key is missing.
    #[error("{message}")]
    NoCredentials {
        /// The provider's name in the configuration.
        provider: String,
        /// What is missing and how to give it.
        message: String,
    },
    /// The configuration can't be used.
    #[error("{0}")]
    Config(String),
    /// The store can't answer.
    #[error("{0}")]
    Store(String),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}
