//! The runtime: all that a surface may ask for. No method blocks; what takes time ends in an
//! [`Outward::Answer`](crate::outward::Outward::Answer).
//!
//! One runtime serves one surface. Several surfaces are several processes, and they share the store.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Receiver;

use crate::approval::{Mode, UserAnswer};
use crate::content::Content;
use crate::id::{ApprovalId, SessionId, TurnId};
use crate::outward::{CallError, CallId, Parcel};
use crate::provider::ModelRef;
use crate::setup::Setup;
use crate::store::Store;
use crate::workspace::Workspaces;

/// What a runtime is made of.
pub struct Parts {
    /// Where sessions are kept.
    pub store: Store,
    /// What the user has set up.
    pub setup: Arc<dyn Setup>,
    /// Where sessions work.
    pub workspaces: Arc<dyn Workspaces>,
    /// What is stored as the source of new sessions: `acp` or `run`.
    pub source: &'static str,
    /// What this process prefers over the configuration.
    pub preferences: Preferences,
    /// Folders that no tool may touch in any mode: our own configuration and state.
    pub forbidden: Vec<PathBuf>,
}

/// What a process prefers over the configuration: the command line's flags.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    /// The model of new sessions.
    pub model: Option<ModelRef>,
    /// The mode of new sessions.
    pub mode: Option<Mode>,
}

/// Where a session is to work.
#[derive(Clone, Debug, PartialEq)]
pub struct Folders {
    /// Its folder, absolute.
    pub cwd: PathBuf,
    /// Further folders, absolute.
    pub extra_roots: Vec<PathBuf>,
}

/// An option and its new value.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// The mode, by its id.
    Mode(String),
    /// The model, by its full name or by the service's name for it.
    Model(String),
}

/// A running agent. Clones share it.
#[derive(Clone)]
pub struct Runtime(Arc<()>);

impl Runtime {
    /// Starts an agent; what leaves it comes on the receiver. Opens nothing and reads nothing yet.
    pub fn start(_parts: Parts) -> (Self, Receiver<Parcel>) {
        todo!()
    }

    /// Begins a session. Ends in [`Answer::Created`](crate::outward::Answer::Created).
    pub fn create(&self, _folders: Folders) -> CallId {
        todo!()
    }

    /// Opens a stored session, or opens an open one again. With `replay` all its visible events come before
    /// [`Answer::Opened`](crate::outward::Answer::Opened). Without folders it stays where it was.
    pub fn open(&self, _session: SessionId, _folders: Option<Folders>, _replay: bool) -> CallId {
        todo!()
    }

    /// Lists stored sessions, newest activity first, 50 a page; with `cwd` only those of that folder, compared by
    /// real path. Ends in [`Answer::Listed`](crate::outward::Answer::Listed).
    pub fn list(&self, _cwd: Option<PathBuf>, _cursor: Option<String>) -> CallId {
        todo!()
    }

    /// Cancels what a session does, waits until it has ended, and lets the session go. Ends in
    /// [`Answer::Closed`](crate::outward::Answer::Closed).
    pub fn close(&self, _session: SessionId) -> CallId {
        todo!()
    }

    /// Sets an option; works during a turn. Ends in [`Answer::OptionSet`](crate::outward::Answer::OptionSet).
    pub fn set_option(&self, _session: SessionId, _option: SetOption) -> CallId {
        todo!()
    }

    /// Queues a prompt. Its turn ends in exactly one `TurnFinished` or `TurnFailed` with the id that comes back.
    ///
    /// # Errors
    /// When no session of this id is open.
    pub fn prompt(&self, _session: &SessionId, _content: Vec<Content>) -> Result<TurnId, CallError> {
        todo!()
    }

    /// Cancels the running turn and every prompt that is queued now. Silent for a session that is idle or unknown.
    pub fn cancel(&self, _session: &SessionId) {
        todo!()
    }

    /// Cancels one turn, running or queued. Silent if it has ended.
    pub fn cancel_turn(&self, _session: &SessionId, _turn: TurnId) {
        todo!()
    }

    /// Answers a question. Silent if it has been decided.
    pub fn decide(&self, _session: &SessionId, _approval: &ApprovalId, _answer: UserAnswer) {
        todo!()
    }

    /// Cancels everything, stores it, ends what runs in the workspaces, and returns within 2 s.
    pub fn shutdown(&self) {
        todo!()
    }
}
