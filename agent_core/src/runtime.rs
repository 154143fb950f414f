//! The runtime: all that a surface may ask for. No method blocks except [`Runtime::shutdown`]; what takes time ends in
//! an [`Outward::Answer`](crate::outward::Outward::Answer).
//!
//! One runtime serves one surface. Several surfaces are several processes, and they share the store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::approval::{Mode, UserAnswer};
use crate::content::Content;
use crate::deleting;
use crate::engine::Engine;
use crate::forking;
use crate::id::{ApprovalId, AskId, SessionId, TurnId};
use crate::opening;
use crate::options;
use crate::outward::{Answer, CallError, CallId, Parcel, outlet};
use crate::prompt::Instructions;
use crate::provider::ModelRef;
use crate::server::Server;
use crate::session::{Begin, Manner};
use crate::setup::Setup;
use crate::slash;
use crate::store::{EndReason, ListError, Store};
use crate::surface::{Abilities, Reply};
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
    /// How long a session has nothing to do before it rests: another process may write to it then, and its history is
    /// out of memory until its next prompt. [`REST_AFTER`] but in tests.
    pub rest_after: Duration,
}

/// How long a session has nothing to do before it rests.
pub const REST_AFTER: Duration = Duration::from_secs(30 * 60);

/// What a process prefers over the configuration: the command line's flags.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    /// The model of new sessions.
    pub model: Option<ModelRef>,
    /// The mode of new sessions.
    pub mode: Option<Mode>,
    /// Models give sessions their titles, in the background: for a process that goes on after a turn.
    pub names_sessions: bool,
}

/// Where a session is to work.
#[derive(Clone, Debug, PartialEq)]
pub struct Folders {
    /// Its folder, absolute.
    pub cwd: PathBuf,
    /// Further folders, absolute.
    pub extra_roots: Vec<PathBuf>,
    /// MCP servers it is to have there, beside those of the configuration. Never stored.
    pub servers: Vec<Server>,
}

/// An option and its new value.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// The mode, by its id.
    Mode(String),
    /// The model, by its full name or by the service's name for it.
    Model(String),
    /// How much it should think, by the level's id; `None` leaves it to the service.
    Thought(Option<String>),
}

/// What became of a prompt that was to join a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steered {
    /// Its own turn.
    pub turn: TurnId,
    /// It joins the turn that runs.
    pub joins: bool,
}

/// How long a shutdown waits for what runs.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// Sessions a page of a list has.
const PAGE: usize = 50;

/// A running agent. Clones share it.
#[derive(Clone)]
pub struct Runtime(Arc<Engine>);

impl Runtime {
    /// Starts an agent; what leaves it comes on the receiver. Opens nothing and reads nothing yet.
    pub fn start(parts: Parts) -> (Self, Receiver<Parcel>) {
        let (outlet, inlet) = outlet();
        (Self(Arc::new(Engine::new(parts, outlet))), inlet)
    }

    /// Begins a session; its client may have instructions for the model. Ends in [`Answer::Created`].
    pub fn create(&self, folders: Folders, instructions: Option<Instructions>) -> CallId {
        self.0.call(move |engine, _| {
            let session = opening::create(engine, folders, instructions);
            Some(session.map(|session| Answer::Created(session.view())))
        })
    }

    /// Opens a stored session, or opens an open one again. With `replay` all its visible events come before
    /// [`Answer::Opened`]. Without folders it stays where it was, and without instructions it keeps those it has.
    pub fn open(
        &self,
        session: SessionId,
        folders: Option<Folders>,
        instructions: Option<Instructions>,
        replay: bool,
    ) -> CallId {
        self.0.call_on(session.clone(), move |engine, call| {
            open(engine, call, session, folders, instructions, replay);
            None
        })
    }

    /// Begins a session with the past of another one, stored or open; a turn that runs there is left out. Ends in
    /// [`Answer::Created`].
    pub fn fork(&self, session: SessionId, folders: Folders, instructions: Option<Instructions>) -> CallId {
        self.0.call_on(session.clone(), move |engine, _| {
            let forked = forking::fork(engine, &session, folders, instructions);
            Some(forked.map(|session| Answer::Created(session.view())))
        })
    }

    /// Removes a session for good. One that is open is closed first, as [`close`](Self::close) does. Ends in
    /// [`Answer::Deleted`], also where there is none of this id.
    pub fn delete(&self, session: SessionId) -> CallId {
        self.0.call_on(session.clone(), move |engine, call| {
            deleting::delete(engine, call, session);
            None
        })
    }

    /// Lists stored sessions, newest activity first, 50 a page; with `cwd` only those of that folder, compared by
    /// real path. Ends in [`Answer::Listed`].
    pub fn list(&self, cwd: Option<PathBuf>, cursor: Option<String>) -> CallId {
        self.0.call(move |engine, _| {
            let page = engine.store.list(cwd.as_deref(), cursor.as_deref(), PAGE);
            Some(page.map(Answer::Listed).map_err(CallError::from))
        })
    }

    /// Cancels what a session does, waits until it has ended, and lets the session go. Ends in [`Answer::Closed`].
    pub fn close(&self, session: SessionId) -> CallId {
        self.0.call_on(session.clone(), move |engine, call| {
            let Some(session) = engine.session(&session) else {
                return Some(Err(CallError::UnknownSession(session)));
            };
            let closed = session.clone();
            session.close(Box::new(move || closed.line.answer(call, Ok(Answer::Closed))));
            engine.let_go(&session);
            None
        })
    }

    /// Sets an option; works during a turn. Ends in [`Answer::OptionSet`].
    pub fn set_option(&self, session: SessionId, option: SetOption) -> CallId {
        self.0.call_on(session.clone(), move |engine, call| {
            let Some(session) = engine.session(&session) else {
                return Some(Err(CallError::UnknownSession(session)));
            };
            let turn = session.running();
            let set = match &option {
                SetOption::Mode(id) => options::set_mode(&session, turn, id),
                SetOption::Model(name) => options::set_model(engine, &session, turn, name),
                SetOption::Thought(level) => options::set_thought(&session, turn, level.as_deref()),
            };
            session
                .line
                .answer(call, set.map(|()| Answer::OptionSet(session.view())));
            None
        })
    }

    /// Queues a prompt. Its turn ends in exactly one `TurnFinished` or `TurnFailed` with the id that comes back.
    ///
    /// # Errors
    /// When no session of this id is open, or 64 MiB of prompts wait in it.
    pub fn prompt(&self, session: &SessionId, content: Vec<Content>) -> Result<TurnId, CallError> {
        let steered = match slash::steering(&content) {
            Some(said) => self.enqueue(session, said, Manner::Steers)?,
            None => self.enqueue(session, content, Manner::Queues)?,
        };
        Ok(steered.turn)
    }

    /// Prompts so that the running turn hears it at its next step: it becomes a part of that turn, and its own ends as
    /// soon as it has. Where no turn runs, and where that turn ends too early, it is a prompt like any other.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub fn steer(&self, session: &SessionId, content: Vec<Content>) -> Result<Steered, CallError> {
        self.enqueue(session, content, Manner::Steers)
    }

    /// The same, where a turn runs that can be joined; none comes back, and nothing is done, where there is no such turn.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub fn join(&self, session: &SessionId, content: Vec<Content>) -> Result<Option<TurnId>, CallError> {
        let unknown = || CallError::UnknownSession(session.clone());
        if self.0.is_ending() {
            return Err(unknown());
        }
        let session = self.0.session(session).ok_or_else(unknown)?;
        session.join(content, &self.0.backlog)
    }

    fn enqueue(&self, session: &SessionId, content: Vec<Content>, manner: Manner) -> Result<Steered, CallError> {
        let unknown = || CallError::UnknownSession(session.clone());
        if self.0.is_ending() {
            return Err(unknown());
        }
        let session = self.0.session(session).ok_or_else(unknown)?;
        let (turn, begin) = session.enqueue(content, manner, &self.0.backlog, self.0.has_free_turn())?;
        let joins = matches!(begin, Begin::Joins);
        match begin {
            Begin::Now(prompt) => self.0.start(session, prompt),
            Begin::Beside(prompt) => self.0.start_beside(session, prompt),
            Begin::Joins | Begin::Later => {}
        }
        Ok(Steered { turn, joins })
    }

    /// The texts of a session's commands in the background that run now. They end with the session.
    pub fn background(&self, session: &SessionId) -> Vec<String> {
        let session = self.0.session(session);
        session.map_or_else(Vec::new, |session| session.settings().workspace.background())
    }

    /// Cancels the running turn and every prompt that is queued now. Silent for a session that is idle or unknown.
    pub fn cancel(&self, session: &SessionId) {
        if let Some(session) = self.0.session(session) {
            session.cancel();
        }
    }

    /// Cancels one turn, running or queued. Silent if it has ended.
    pub fn cancel_turn(&self, session: &SessionId, turn: TurnId) {
        if let Some(session) = self.0.session(session) {
            session.cancel_turn(turn);
        }
    }

    /// Answers a question. Silent if it has been decided.
    pub fn decide(&self, session: &SessionId, approval: &ApprovalId, answer: UserAnswer) {
        if let Some(session) = self.0.session(session) {
            session.decide(approval, answer);
        }
    }

    /// Notes what the surface can do for tools. Nothing until this is said, so it is said before the first session.
    pub fn set_abilities(&self, abilities: Abilities) {
        self.0.desk.set_abilities(abilities);
    }

    /// Answers what a session's tool has asked for: with what came, or in a sentence why nothing did. Silent if nobody
    /// waits for it any more.
    pub fn reply(&self, session: &SessionId, ask: AskId, reply: Result<Reply, String>) {
        self.0.desk.reply(session, ask, reply);
    }

    /// Cancels everything, stores it, ends what runs in the workspaces, and returns within about 2 s.
    pub fn shutdown(&self) {
        self.shutdown_because(EndReason::Shutdown);
    }

    /// The same; the sessions that are open end for this reason.
    pub fn shutdown_because(&self, reason: EndReason) {
        self.0.end();
        self.0.resting.end();
        self.0.all_sessions().iter().for_each(|session| session.cancel());
        self.0.desk.close();
        self.0.wait_until_idle(SHUTDOWN);
        let open = self.0.all_sessions().into_iter().map(|session| session.id.clone());
        self.0.store.end(&open.collect::<Vec<_>>(), reason);
        self.0.store.close();
        self.0.clear();
    }
}

/// Opens a session; one that is closing is opened when it has closed.
fn open(
    engine: &Arc<Engine>,
    call: CallId,
    id: SessionId,
    folders: Option<Folders>,
    instructions: Option<Instructions>,
    replay: bool,
) {
    if let Some(session) = engine.session(&id) {
        let again = engine.clone();
        let (later_id, later_folders, later_instructions) = (id.clone(), folders.clone(), instructions.clone());
        let later = move || {
            let engine = again.clone();
            let id = later_id.clone();
            let work = move |engine: &Arc<Engine>, call| {
                open(engine, call, id, later_folders, later_instructions, replay);
                None
            };
            again.queue_on(later_id, Box::new(move || engine.do_call(call, work)));
        };
        if session.after_closing(Box::new(later)).is_none() {
            return;
        }
    }
    match opening::open(engine, &id, folders) {
        Err(error) => engine.answer(call, Err(error)),
        Ok(session) => {
            session.change_standing(|standing| {
                standing.instruct(instructions);
                standing.is_past_shown |= replay;
            });
            let answer = Answer::Opened(session.view());
            if replay {
                session.line.replay(call, answer);
            } else {
                session.line.answer(call, Ok(answer));
            }
        }
    }
}

impl From<ListError> for CallError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::BadCursor => Self::BadCursor,
            ListError::Store(error) => error.into(),
        }
    }
}
