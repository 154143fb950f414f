//! A session in memory: where it works, what it is set to, and whose turn it is. Its past is the store's.

use std::collections::HashMap;
use std::time::Duration;

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use crate::approval::UserAnswer;
use crate::backlog::Backlog;
use crate::cancel::Cancel;
use crate::content::Content;
use crate::event::{ContextUse, Event, SessionChange};
use crate::history::{Exchange, History};
use crate::id::{ApprovalId, SessionId, TurnId};
use crate::line::Line;
use crate::outward::{CallError, SessionView};
use crate::provider::Usage;
use crate::settings::{Settings, Standing};
use crate::slash;

mod closing;
mod work;

use closing::Closing;
use work::Work;
pub(crate) use {
    closing::AfterGone,
    work::{Begin, Manner, Prompt, QUEUE, Rest},
};

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
    /// The fold of its events as the last turn left it; empty before the first and after a rest.
    history: History,
    /// Ends the search for a title that goes on in the background.
    naming: Option<Cancel>,
    /// The open questions, and the turn that waits for each.
    questions: HashMap<ApprovalId, Sender<(ApprovalId, UserAnswer)>>,
    closing: Closing,
    /// Done by whoever lets it go, before it has gone.
    last_deed: Option<AfterGone>,
}

impl Session {
    pub(crate) fn new(id: SessionId, line: Line, settings: Settings, standing: Standing, last_turn: u64) -> Self {
        Self {
            id,
            line,
            state: Mutex::new(State {
                settings,
                standing,
                work: Work::after(last_turn),
                history: History::default(),
                naming: None,
                questions: HashMap::new(),
                closing: Closing::default(),
                last_deed: None,
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
            context: state.context(),
        }
    }

    /// Shows how full the context is, where that has changed without a step.
    pub(crate) fn show_context(&self) {
        let context = self.state.lock().context();
        context.into_iter().for_each(|context| self.line.show_context(context));
    }

    /// Takes a prompt in, if the backlog has room for it or it begins at once: if it could and there `is_thread`.
    pub(crate) fn enqueue(
        &self,
        content: Vec<Content>,
        manner: Manner,
        backlog: &Backlog,
        is_thread: bool,
    ) -> Result<(TurnId, Begin), CallError> {
        let mut state = self.state.lock();
        self.open(&state)?;
        if manner == Manner::Steers && state.work.is_steerable() {
            return Ok((state.work.join(content, backlog)?, Begin::Joins));
        }
        let acts_at_once = manner == Manner::Queues && state.standing.system.is_some() && slash::acts_at_once(&content);
        state.work.enqueue(content, acts_at_once, backlog, is_thread)
    }

    /// Takes a prompt in that joins the running turn; none comes back where no turn could be joined.
    pub(crate) fn join(&self, content: Vec<Content>, backlog: &Backlog) -> Result<Option<TurnId>, CallError> {
        let mut state = self.state.lock();
        self.open(&state)?;
        if !state.work.is_steerable() {
            return Ok(None);
        }
        state.work.join(content, backlog).map(Some)
    }

    fn open(&self, state: &State) -> Result<(), CallError> {
        let unknown = || CallError::UnknownSession(self.id.clone());
        (!state.closing.has_begun()).then_some(()).ok_or_else(unknown)
    }

    /// The next prompt once a turn has ended; none if there is none.
    pub(crate) fn next(&self) -> Option<Prompt> {
        let mut state = self.state.lock();
        let next = state.work.next();
        if next.is_none() {
            // A turn that panicked has left its own behind.
            state.questions.clear();
        }
        next
    }

    /// The prompts that are to join the running turn, which goes on.
    pub(crate) fn take_steers(&self) -> Vec<Prompt> {
        self.state.lock().work.take_steers()
    }

    /// The same for a turn that is about to end. If there are none, no further one joins it.
    pub(crate) fn last_steers(&self) -> Vec<Prompt> {
        self.state.lock().work.last_steers()
    }

    /// A command beside the turn has been answered.
    pub(crate) fn end_beside(&self, turn: TurnId) {
        self.state.lock().work.end_beside(turn);
    }

    /// The turn that runs now.
    pub(crate) fn running(&self) -> Option<TurnId> {
        self.state.lock().work.running()
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
        let cancels = self.state.lock().work.cancels(is_meant);
        // Outside the lock: a wake-up may want it.
        cancels.iter().for_each(Cancel::set);
    }

    /// Takes no more prompts and cancels all there are. What is to be done after follows once it has gone.
    pub(crate) fn close(&self, after: AfterGone) {
        let late = {
            let mut state = self.state.lock();
            state.closing.begin();
            state.closing.then(after)
        };
        if let Some(after) = late {
            after();
        }
        self.end_naming();
        self.cancel();
    }

    /// The same, and something is done when nothing goes on in it any more and before it has gone, so that nobody opens it
    /// again before that. It comes back if the session is closing already.
    pub(crate) fn close_with(&self, last: AfterGone) -> Option<AfterGone> {
        {
            let mut state = self.state.lock();
            if state.closing.has_begun() {
                return Some(last);
            }
            state.closing.begin();
            state.last_deed = Some(last);
        }
        self.end_naming();
        self.cancel();
        None
    }

    /// What is to be done before it has gone.
    pub(crate) fn last_deed(&self) -> Option<AfterGone> {
        self.state.lock().last_deed.take()
    }

    /// Does something once a closing session has gone; gives it back if the session is not closing.
    pub(crate) fn after_closing(&self, after: AfterGone) -> Option<AfterGone> {
        let mut state = self.state.lock();
        let is_closing = state.closing.has_begun();
        let late = state.closing.then(after);
        drop(state);
        if is_closing {
            late.into_iter().for_each(|after| after());
            return None;
        }
        late
    }

    /// Whether the caller is the one who lets this session go: it is closing, idle, and nobody else does.
    pub(crate) fn leaves(&self) -> bool {
        let mut state = self.state.lock();
        state.work.is_idle() && state.closing.leaves()
    }

    /// The session is out of memory; what was to be done after that.
    pub(crate) fn gone(&self) -> Vec<AfterGone> {
        self.state.lock().closing.end()
    }

    /// This process is its writer now.
    pub(crate) fn wake(&self) {
        self.state.lock().work.wake();
    }

    /// Puts it to rest if it has had nothing to do for so long: prompts that come queue until the caller has let its
    /// lease go and asked for the [`next`](Self::next) one.
    pub(crate) fn rest(&self, after: Duration) -> Rest {
        let mut state = self.state.lock();
        if state.closing.has_begun() {
            return Rest::Later(after);
        }
        state.work.rest(after)
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
    /// How full the context is: nothing is used in a session that was never prompted, and where no model has answered
    /// since it changed, its size is that of the model that is asked next.
    fn context(&self) -> Option<ContextUse> {
        let is_new = self.standing.system.is_none();
        let known = self.standing.context.or_else(|| is_new.then(ContextUse::default))?;
        let of_model = || self.settings.provider.model().context_window;
        Some(ContextUse {
            window: known.window.or_else(of_model),
            ..known
        })
    }
}
