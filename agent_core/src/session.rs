//! A session in memory: where it works, what it is set to, and whose turn it is. Its past is the store's.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use crate::approval::UserAnswer;
use crate::backlog::{Backlog, Share};
use crate::cancel::Cancel;
use crate::clock::unix_ms;
use crate::content::Content;
use crate::event::{ContextUse, Event, SessionChange};
use crate::history::{Exchange, History};
use crate::id::{ApprovalId, SessionId, TurnId};
use crate::line::Line;
use crate::outward::{CallError, SessionView};
use crate::provider::Usage;
use crate::settings::{Settings, Standing};
use crate::slash;

/// Bytes of prompts that may wait in a session's queue.
pub(crate) const QUEUE: usize = 64 << 20;

/// An open session.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: SessionId,
    /// Its line outward.
    pub(crate) line: Line,
    state: Mutex<State>,
}

struct State {
    settings: Settings,
    standing: Standing,
    work: Work,
    /// Commands that are answered beside the turn.
    beside: Vec<Running>,
    queue: VecDeque<Prompt>,
    /// Prompts that are to join the running turn. What that turn does not take in goes to the front of the queue.
    steers: Vec<Prompt>,
    last_turn: u64,
    /// The fold of its events as the last turn left it; empty before the first and after a rest.
    history: History,
    /// Ends the search for a title that goes on in the background.
    naming: Option<Cancel>,
    /// When it last had something to do as this process's to write; none while it is not.
    awake: Option<Instant>,
    /// The open questions, and the turn that waits for each.
    questions: HashMap<ApprovalId, Sender<(ApprovalId, UserAnswer)>>,
    closing: Closing,
}

/// How far a session is on its way out.
enum Closing {
    /// It takes prompts.
    No,
    /// It takes no more; what is to be done once it has gone.
    Waits(Vec<AfterGone>),
    /// It is idle and somebody lets it go.
    Leaves(Vec<AfterGone>),
    /// It is out of memory.
    Gone,
}

/// Something to be done once a session has gone.
pub(crate) type AfterGone = Box<dyn FnOnce() + Send>;

/// What a session does.
enum Work {
    /// Nothing; a prompt begins at once.
    Idle,
    /// A turn; further prompts queue.
    Runs(Running),
    /// It is being put to rest; all prompts queue.
    LiesDown,
}

struct Running {
    turn: TurnId,
    cancel: Cancel,
    /// It asks a model, and will ask it again.
    is_steerable: bool,
}

/// How a prompt is meant while a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As one of its own, after those before it.
    Queues,
    /// To join the turn, if there is one to join.
    Steers,
}

/// Whether a session rests.
pub(crate) enum Rest {
    /// From now on.
    Now,
    /// Not before this time has passed.
    Later(Duration),
}

/// A prompt and the switch that cancels it, queued or running.
pub(crate) struct Prompt {
    pub(crate) turn: TurnId,
    pub(crate) content: Vec<Content>,
    pub(crate) cancel: Cancel,
    /// Of the backlog; none once it has begun.
    pub(crate) share: Option<Share>,
}

/// When a prompt begins.
pub(crate) enum Begin {
    /// Now, as the session's turn.
    Now(Prompt),
    /// Now, beside the turn that runs: a command that only tells or sets something.
    Beside(Prompt),
    /// With the running turn's next step, as a part of that turn.
    Joins,
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
                work: Work::Idle,
                beside: Vec::new(),
                queue: VecDeque::new(),
                steers: Vec::new(),
                last_turn,
                history: History::default(),
                naming: None,
                awake: None,
                questions: HashMap::new(),
                closing: Closing::No,
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

    /// What the session has cost with this step, as far as that is known.
    pub(crate) fn spent(&self, step: Option<u64>) -> Option<u64> {
        let mut state = self.state.lock();
        let spent = &mut state.standing.spent_nano_usd;
        *spent = match (*spent, step) {
            (None, None) => None,
            (before, step) => Some(before.unwrap_or(0) + step.unwrap_or(0)),
        };
        *spent
    }

    /// Counts what was used beside the steps of its turns.
    pub(crate) fn spend(&self, turn: Option<TurnId>, usage: Usage) {
        if usage != Usage::default() {
            self.spent(usage.cost_nano_usd);
            let change = SessionChange::Spent(usage);
            self.line.emit(turn, Event::SessionChanged { change });
        }
    }

    /// Tells of a change. A session that was never prompted has no history, and so nothing in it changes.
    pub(crate) fn tell(&self, turn: Option<TurnId>, change: SessionChange) {
        if self.standing().system.is_some() {
            self.line.emit(turn, Event::SessionChanged { change });
        }
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
            thought: state.settings.thought,
            commands: slash::COMMANDS.to_vec(),
            context: state.standing.context.or_else(|| state.empty_context()),
        }
    }

    /// Takes a prompt in, if the backlog has room for it or it begins at once: if it could and there `is_thread`.
    pub(crate) fn enqueue(
        &self,
        content: Vec<Content>,
        manner: Manner,
        backlog: &Backlog,
        is_thread: bool,
    ) -> Result<(TurnId, Begin), CallError> {
        let size = content.iter().map(Content::size).sum();
        let mut state = self.state.lock();
        if !matches!(state.closing, Closing::No) {
            return Err(CallError::UnknownSession(self.id.clone()));
        }
        let acts_at_once = state.standing.system.is_some() && slash::acts_at_once(&content);
        if manner == Manner::Steers && state.is_steerable() {
            return Ok((state.join(content, backlog)?, Begin::Joins));
        }
        match state.work {
            Work::Idle => {
                let held = is_thread.then(|| backlog.hold(size));
                let share = held.or_else(|| backlog.take(size)).ok_or(CallError::QueueFull)?;
                let prompt = state.prompt(content, share);
                state.work = Work::Runs(prompt.running());
                Ok((prompt.turn, Begin::Now(prompt)))
            }
            Work::Runs(_) if acts_at_once && manner == Manner::Queues => {
                let prompt = state.prompt(content, backlog.hold(size));
                state.beside.push(prompt.running());
                Ok((prompt.turn, Begin::Beside(prompt)))
            }
            Work::Runs(_) | Work::LiesDown if !state.has_room(size) => Err(CallError::QueueFull),
            Work::Runs(_) | Work::LiesDown => {
                let share = backlog.take(size).ok_or(CallError::QueueFull)?;
                let prompt = state.prompt(content, share);
                let turn = prompt.turn;
                state.queue.push_back(prompt);
                Ok((turn, Begin::Later))
            }
        }
    }

    /// The next prompt once a turn has ended; none if there is none.
    pub(crate) fn next(&self) -> Option<Prompt> {
        let mut state = self.state.lock();
        for late in std::mem::take(&mut state.steers).into_iter().rev() {
            state.queue.push_front(late);
        }
        let next = state.queue.pop_front();
        state.work = next.as_ref().map_or(Work::Idle, |prompt| Work::Runs(prompt.running()));
        if next.is_none() {
            state.awake = state.awake.map(|_| Instant::now());
            // A turn that panicked has left its own behind.
            state.questions.clear();
        }
        next
    }

    /// Takes a prompt in that joins the running turn; none comes back where no turn could be joined.
    pub(crate) fn join(&self, content: Vec<Content>, backlog: &Backlog) -> Result<Option<TurnId>, CallError> {
        let mut state = self.state.lock();
        if !matches!(state.closing, Closing::No) {
            return Err(CallError::UnknownSession(self.id.clone()));
        }
        if !state.is_steerable() {
            return Ok(None);
        }
        state.join(content, backlog).map(Some)
    }

    /// The prompts that are to join the running turn, which goes on.
    pub(crate) fn take_steers(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.state.lock().steers)
    }

    /// The same for a turn that is about to end. If there are none, no further one joins it.
    pub(crate) fn last_steers(&self) -> Vec<Prompt> {
        let mut state = self.state.lock();
        let steers = std::mem::take(&mut state.steers);
        if let (true, Work::Runs(running)) = (steers.is_empty(), &mut state.work) {
            running.is_steerable = false;
        }
        steers
    }

    /// A command beside the turn has been answered.
    pub(crate) fn end_beside(&self, turn: TurnId) {
        self.state.lock().beside.retain(|running| running.turn != turn);
    }

    /// The turn that runs now.
    pub(crate) fn running(&self) -> Option<TurnId> {
        self.state.lock().turn().map(|running| running.turn)
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
            let running = state.turn().into_iter().chain(&state.beside);
            let running = running.map(|running| (running.turn, &running.cancel));
            let queued = state.queue.iter().chain(&state.steers);
            let queued = queued.map(|prompt| (prompt.turn, &prompt.cancel));
            let meant = running.chain(queued).filter(|(turn, _)| is_meant(*turn));
            meant.map(|(_, cancel)| cancel.clone()).collect()
        };
        // Outside the lock: a wake-up may want it.
        cancels.iter().for_each(Cancel::set);
    }

    /// Takes no more prompts and cancels all there are. What is to be done after follows once it has gone.
    pub(crate) fn close(&self, after: AfterGone) {
        self.after_gone(after, true);
        self.end_naming();
        self.cancel();
    }

    /// Does something once a closing session has gone; gives it back if the session is not closing.
    pub(crate) fn after_closing(&self, after: AfterGone) -> Option<AfterGone> {
        self.after_gone(after, false)
    }

    fn after_gone(&self, after: AfterGone, close: bool) -> Option<AfterGone> {
        let mut state = self.state.lock();
        match &mut state.closing {
            Closing::No if close => state.closing = Closing::Waits(vec![after]),
            Closing::No => return Some(after),
            Closing::Waits(waiting) | Closing::Leaves(waiting) => waiting.push(after),
            Closing::Gone => {
                drop(state);
                after();
            }
        }
        None
    }

    /// Whether the caller is the one who lets this session go: it is closing, idle, and nobody else does.
    pub(crate) fn leaves(&self) -> bool {
        let mut state = self.state.lock();
        let is_idle = state.is_idle();
        match &mut state.closing {
            Closing::Waits(waiting) if is_idle => {
                state.closing = Closing::Leaves(std::mem::take(waiting));
                true
            }
            Closing::Waits(_) | Closing::Leaves(_) | Closing::No | Closing::Gone => false,
        }
    }

    /// The session is out of memory; what was to be done after that.
    pub(crate) fn gone(&self) -> Vec<AfterGone> {
        match std::mem::replace(&mut self.state.lock().closing, Closing::Gone) {
            Closing::Waits(after) | Closing::Leaves(after) => after,
            Closing::No | Closing::Gone => Vec::new(),
        }
    }

    /// This process is its writer now.
    pub(crate) fn wake(&self) {
        self.state.lock().awake = Some(Instant::now());
    }

    /// Puts it to rest if it has had nothing to do for so long: prompts that come queue until the caller has let its
    /// lease go and asked for the [`next`](Self::next) one.
    pub(crate) fn rest(&self, after: Duration) -> Rest {
        let mut state = self.state.lock();
        let may_rest = state.is_idle() && matches!(state.closing, Closing::No);
        let Some(since) = state.awake.filter(|_| may_rest) else {
            return Rest::Later(after);
        };
        let idle = since.elapsed();
        if idle < after {
            return Rest::Later(after - idle);
        }
        state.awake = None;
        state.work = Work::LiesDown;
        Rest::Now
    }

    /// The history as the last turn left it; the turn that takes it gives it back.
    pub(crate) fn take_history(&self) -> History {
        std::mem::take(&mut self.state.lock().history)
    }

    /// What was said first, if its history is here.
    pub(crate) fn exchange(&self) -> Option<Exchange> {
        self.state.lock().history.exchange()
    }

    /// Begins to look for a title; the switch ends that.
    pub(crate) fn begin_naming(&self) -> Cancel {
        let cancel = Cancel::new();
        self.state.lock().naming = Some(cancel.clone());
        cancel
    }

    /// Ends the search for a title.
    pub(crate) fn end_naming(&self) {
        let naming = self.state.lock().naming.take();
        // Outside the lock: a wake-up may want it.
        naming.iter().for_each(Cancel::set);
    }

    /// Keeps the history for the next turn.
    pub(crate) fn keep_history(&self, history: History) {
        self.state.lock().history = history;
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

impl State {
    /// The context of a session that was never prompted.
    fn empty_context(&self) -> Option<ContextUse> {
        self.standing.system.is_none().then(|| ContextUse {
            used: 0,
            window: self.settings.provider.model().context_window,
            cost_nano_usd: None,
        })
    }

    /// A prompt with the next number.
    fn prompt(&mut self, content: Vec<Content>, share: Share) -> Prompt {
        if self.awake.is_none() && self.last_turn > 0 {
            // Another process may have gone on meanwhile, and its turns have the next numbers. The clock's is higher.
            self.last_turn = self.last_turn.max(unix_ms().unsigned_abs());
        }
        self.last_turn += 1;
        Prompt {
            turn: TurnId(self.last_turn),
            content,
            cancel: Cancel::new(),
            share: Some(share),
        }
    }

    /// Takes a prompt in that joins the running turn.
    fn join(&mut self, content: Vec<Content>, backlog: &Backlog) -> Result<TurnId, CallError> {
        let size = content.iter().map(Content::size).sum();
        if !self.has_room(size) {
            return Err(CallError::QueueFull);
        }
        let share = backlog.take(size).ok_or(CallError::QueueFull)?;
        let prompt = self.prompt(content, share);
        let turn = prompt.turn;
        self.steers.push(prompt);
        Ok(turn)
    }

    /// Whether the queue takes a prompt; an empty one takes any.
    fn has_room(&self, size: usize) -> bool {
        let mut waiting = self.queue.iter().chain(&self.steers).peekable();
        if waiting.peek().is_none() {
            return true;
        }
        let queued: usize = waiting.flat_map(|prompt| &prompt.content).map(Content::size).sum();
        queued + size <= QUEUE
    }

    fn turn(&self) -> Option<&Running> {
        match &self.work {
            Work::Runs(running) => Some(running),
            Work::Idle | Work::LiesDown => None,
        }
    }

    fn is_steerable(&self) -> bool {
        self.turn().is_some_and(|running| running.is_steerable)
    }

    fn is_idle(&self) -> bool {
        matches!(self.work, Work::Idle) && self.beside.is_empty()
    }
}

impl Prompt {
    fn running(&self) -> Running {
        Running {
            turn: self.turn,
            cancel: self.cancel.clone(),
            is_steerable: slash::parse(&self.content).is_none(),
        }
    }
}
