//! A session in memory: where it works, what it is set to, and whose turn it is. Its past is the store's.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use crate::approval::{Mode, UserAnswer};
use crate::cancel::Cancel;
use crate::config::Config;
use crate::content::Content;
use crate::event::{ContextUse, Event, SessionChange};
use crate::id::{ApprovalId, SessionId, TurnId};
use crate::line::Line;
use crate::outward::SessionView;
use crate::prompt::Facts;
use crate::provider::{ModelRef, Provider};
use crate::runtime::Folders;
use crate::slash;
use crate::workspace::{Scope, Workspace};

/// An open session.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: SessionId,
    /// Its line outward.
    pub(crate) line: Line,
    state: Mutex<State>,
}

/// What a session is set to. Cheap to clone; a step of a turn works with one.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) folders: Folders,
    /// Real paths of its folders, its own first.
    pub(crate) roots: Arc<[PathBuf]>,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) config: Arc<Config>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) models: Arc<[ModelRef]>,
    pub(crate) mode: Mode,
    pub(crate) edits_granted: bool,
}

/// What a session has become so far, beside its events.
#[derive(Clone, Default)]
pub(crate) struct Standing {
    pub(crate) title: Option<String>,
    /// Its system prompt; none before its first turn.
    pub(crate) system: Option<Arc<str>>,
    /// What the model was last told of the session's settings.
    pub(crate) told: Option<Facts>,
    pub(crate) context: Option<ContextUse>,
    /// Notices that wait for the next turn to begin.
    pub(crate) notices: Vec<Event>,
    /// The model's service has refused its key.
    pub(crate) key_refused: bool,
    /// Changes made here before this process became the session's writer.
    pub(crate) unstored: Vec<SessionChange>,
}

struct State {
    settings: Settings,
    standing: Standing,
    running: Option<Running>,
    queue: VecDeque<Prompt>,
    last_turn: u64,
    /// The open questions, and the turn that waits for each.
    questions: HashMap<ApprovalId, Sender<(ApprovalId, UserAnswer)>>,
    /// The session takes no more prompts; what is to be done once it is idle.
    closing: Option<Vec<AfterIdle>>,
}

/// Something to be done once a session is idle.
pub(crate) type AfterIdle = Box<dyn FnOnce() + Send>;

struct Running {
    turn: TurnId,
    cancel: Cancel,
}

/// A prompt and the switch that cancels it, queued or running.
pub(crate) struct Prompt {
    pub(crate) turn: TurnId,
    pub(crate) content: Vec<Content>,
    pub(crate) cancel: Cancel,
}

/// When a prompt begins.
pub(crate) enum Begin {
    /// Now, as the session's turn.
    Now(Prompt),
    /// Now, beside the turn that runs: a command that only tells or sets something.
    Beside(Prompt),
    /// When those before it have ended.
    Later,
}

impl Session {
    pub(crate) fn new(id: SessionId, line: Line, settings: Settings, standing: Standing, last_turn: u64) -> Self {
        Self {
            id,
            line,
            state: Mutex::new(State {
                settings,
                standing,
                running: None,
                queue: VecDeque::new(),
                last_turn,
                questions: HashMap::new(),
                closing: None,
            }),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.state.lock().settings.clone()
    }

    pub(crate) fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.state.lock().settings);
    }

    pub(crate) fn standing(&self) -> Standing {
        self.state.lock().standing.clone()
    }

    pub(crate) fn change_standing<T>(&self, change: impl FnOnce(&mut Standing) -> T) -> T {
        change(&mut self.state.lock().standing)
    }

    /// Tells of a change. It is stored now, or with the first prompt here: until then another process may be the
    /// session's writer. A session that was never prompted has no history, and so nothing in it changes.
    pub(crate) fn tell(&self, turn: Option<TurnId>, change: SessionChange) {
        if self.standing().system.is_none() {
            return;
        }
        if !self.line.is_writer() {
            self.change_standing(|standing| standing.unstored.push(change.clone()));
        }
        self.line.emit(turn, Event::SessionChanged { change });
    }

    /// What a surface shows of it.
    pub(crate) fn view(&self) -> SessionView {
        let state = self.state.lock();
        let model = state.settings.provider.model().name.clone();
        let mut models = state.settings.models.to_vec();
        if !models.contains(&model) {
            models.insert(0, model.clone());
        }
        SessionView {
            id: self.id.clone(),
            title: state.standing.title.clone(),
            mode: state.settings.mode,
            model,
            models,
            commands: slash::COMMANDS.to_vec(),
            context: state.standing.context,
        }
    }

    /// Takes a prompt in; none if the session is closing.
    pub(crate) fn enqueue(&self, content: Vec<Content>) -> Option<(TurnId, Begin)> {
        let mut state = self.state.lock();
        if state.closing.is_some() {
            return None;
        }
        state.last_turn += 1;
        let turn = TurnId(state.last_turn);
        let prompt = Prompt {
            turn,
            content,
            cancel: Cancel::new(),
        };
        let begin = if state.running.is_none() {
            state.running = Some(prompt.running());
            Begin::Now(prompt)
        } else if slash::acts_at_once(&prompt.content) {
            Begin::Beside(prompt)
        } else {
            state.queue.push_back(prompt);
            Begin::Later
        };
        Some((turn, begin))
    }

    /// The next prompt once a turn has ended; otherwise the session is idle, and what waited for that is returned.
    pub(crate) fn next(&self) -> Result<Prompt, Vec<AfterIdle>> {
        let mut state = self.state.lock();
        match state.queue.pop_front() {
            Some(prompt) => {
                state.running = Some(prompt.running());
                Ok(prompt)
            }
            None => {
                state.running = None;
                // A turn that panicked has left its own behind.
                state.questions.clear();
                Err(state.closing.as_mut().map(std::mem::take).unwrap_or_default())
            }
        }
    }

    /// The turn that runs now.
    pub(crate) fn running(&self) -> Option<TurnId> {
        self.state.lock().running.as_ref().map(|running| running.turn)
    }

    /// Cancels the running turn and all prompts that are queued now.
    pub(crate) fn cancel(&self) {
        self.cancel_those(|_| true);
    }

    /// Cancels one turn, running or queued.
    pub(crate) fn cancel_turn(&self, turn: TurnId) {
        self.cancel_those(|other| other == turn);
    }

    fn cancel_those(&self, is_meant: impl Fn(TurnId) -> bool) {
        let cancels: Vec<Cancel> = {
            let state = self.state.lock();
            let running = state.running.iter().map(|running| (running.turn, &running.cancel));
            let queued = state.queue.iter().map(|prompt| (prompt.turn, &prompt.cancel));
            let meant = running.chain(queued).filter(|(turn, _)| is_meant(*turn));
            meant.map(|(_, cancel)| cancel.clone()).collect()
        };
        // Outside the lock: a wake-up may want it.
        cancels.iter().for_each(Cancel::set);
    }

    /// Takes no more prompts and cancels all there are. What is to be done when idle comes back if it is idle now.
    pub(crate) fn close(&self, after: AfterIdle) -> Option<AfterIdle> {
        let idle = {
            let mut state = self.state.lock();
            let idle = state.running.is_none();
            let waiting = state.closing.get_or_insert_default();
            if idle {
                Some(after)
            } else {
                waiting.push(after);
                None
            }
        };
        self.cancel();
        idle
    }

    /// Does something once a closing session is idle; gives it back if the session is not closing.
    pub(crate) fn after_closing(&self, after: AfterIdle) -> Option<AfterIdle> {
        match &mut self.state.lock().closing {
            Some(waiting) => {
                waiting.push(after);
                None
            }
            None => Some(after),
        }
    }

    /// Notes an open question; its answer goes to `turn`.
    pub(crate) fn ask(&self, approval: ApprovalId, turn: Sender<(ApprovalId, UserAnswer)>) {
        self.state.lock().questions.insert(approval, turn);
    }

    /// A question is decided. Whatever answer still comes is ignored.
    pub(crate) fn settle(&self, approval: &ApprovalId) {
        self.state.lock().questions.remove(approval);
    }

    /// Passes an answer to the turn that waits for it.
    pub(crate) fn decide(&self, approval: &ApprovalId, answer: UserAnswer) {
        let waiting = self.state.lock().questions.remove(approval);
        if let Some(turn) = waiting {
            // An error means that the turn has ended meanwhile, and with it the question.
            let _ = turn.send((approval.clone(), answer));
        }
    }
}

impl Settings {
    /// Where the session works, as its workspace knows it.
    pub(crate) fn scope(&self, session: &SessionId) -> Scope {
        Scope {
            session: session.clone(),
            cwd: self.folders.cwd.clone(),
            extra_roots: self.folders.extra_roots.clone(),
        }
    }
}

impl Prompt {
    fn running(&self) -> Running {
        Running {
            turn: self.turn,
            cancel: self.cancel.clone(),
        }
    }
}
