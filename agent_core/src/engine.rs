//! What all sessions of a runtime share, and the sessions that are open.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::asker::Desk;
use crate::backlog::Backlog;
use crate::end::End;
use crate::event::{Event, Severity};
use crate::id::SessionId;
use crate::naming;
use crate::outward::{Answer, CallError, CallId, Outlet, Outward};
use crate::pool::{Pool, Start};
use crate::provider::Provider;
use crate::resting::Resting;
use crate::runtime::Preferences;
use crate::session::{AfterGone, Prompt, Session};
use crate::setup::Setup;
use crate::store::{EndReason, Store};
use crate::turn;
use crate::waiting::Waiting;
use crate::workspace::Workspaces;

/// Turns that run at once in one process; further ones wait and say so.
const TURNS: usize = 64;

/// Calls that are worked on at once.
const CALLS: usize = 8;

/// The shared part of a runtime.
pub(crate) struct Engine {
    pub(crate) store: Store,
    pub(crate) setup: Arc<dyn Setup>,
    pub(crate) workspaces: Arc<dyn Workspaces>,
    pub(crate) source: &'static str,
    pub(crate) preferences: Preferences,
    /// Real paths of our own folders.
    pub(crate) forbidden: Vec<PathBuf>,
    pub(crate) outlet: Outlet,
    /// Where tools ask the surface.
    pub(crate) desk: Arc<Desk>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    turns: Pool,
    calls: Pool,
    /// The prompts that wait for their session or for a thread.
    pub(crate) backlog: Backlog,
    next_call: AtomicU64,
    working: Working,
    /// What was asked for about a session and waits for what was asked before; an entry for each session that
    /// something is being done about.
    strands: Mutex<HashMap<SessionId, VecDeque<Job>>>,
    /// Lets sessions rest that nobody uses.
    pub(crate) resting: Resting,
    /// No prompt begins any more.
    ending: AtomicBool,
}

/// Something to be done on the pool.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// How many sessions have a turn.
#[derive(Default)]
struct Working {
    count: Mutex<usize>,
    idle: Condvar,
}

impl Engine {
    pub(crate) fn new(parts: crate::runtime::Parts, outlet: Outlet) -> Self {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        Self {
            forbidden: parts.forbidden.iter().map(real).collect(),
            store: parts.store,
            setup: parts.setup,
            workspaces: parts.workspaces,
            source: parts.source,
            preferences: parts.preferences,
            desk: Desk::new(outlet.clone()),
            outlet,
            sessions: Mutex::default(),
            turns: Pool::new("turn", TURNS),
            calls: Pool::new("call", CALLS),
            backlog: Backlog::default(),
            next_call: AtomicU64::new(1),
            working: Working::default(),
            strands: Mutex::default(),
            resting: Resting::new(parts.rest_after),
            ending: AtomicBool::new(false),
        }
    }

    /// Does a call's work on the pool. What it returns is its answer; none if it has sent that itself.
    pub(crate) fn call(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>, CallId) -> Option<Result<Answer, CallError>> + Send + 'static,
    ) -> CallId {
        let call = self.new_call();
        let engine = self.clone();
        self.calls.run(move || engine.do_call(call, work));
        call
    }

    /// The same for what concerns one session: one after the other, in the order in which they were asked for.
    pub(crate) fn call_on(
        self: &Arc<Self>,
        session: SessionId,
        work: impl FnOnce(&Arc<Self>, CallId) -> Option<Result<Answer, CallError>> + Send + 'static,
    ) -> CallId {
        let call = self.new_call();
        let engine = self.clone();
        self.queue_on(session, Box::new(move || engine.do_call(call, work)));
        call
    }

    /// Does something about a session when what was asked for before is done.
    pub(crate) fn queue_on(self: &Arc<Self>, session: SessionId, job: Job) {
        let mut strands = self.strands.lock();
        if let Some(waiting) = strands.get_mut(&session) {
            waiting.push_back(job);
            return;
        }
        strands.insert(session.clone(), VecDeque::new());
        drop(strands);
        let engine = self.clone();
        self.calls.run(move || engine.work_off_strand(&session, job));
    }

    fn work_off_strand(&self, session: &SessionId, mut job: Job) {
        loop {
            job();
            let mut strands = self.strands.lock();
            match strands.get_mut(session).and_then(VecDeque::pop_front) {
                Some(next) => job = next,
                None => {
                    strands.remove(session);
                    return;
                }
            }
        }
    }

    fn new_call(&self) -> CallId {
        CallId(self.next_call.fetch_add(1, Ordering::Relaxed))
    }

    /// Does a call's work and answers it, by a fault as well.
    pub(crate) fn do_call(
        self: &Arc<Self>,
        call: CallId,
        work: impl FnOnce(&Arc<Self>, CallId) -> Option<Result<Answer, CallError>>,
    ) {
        let done = catch_unwind(AssertUnwindSafe(|| work(self, call)));
        let fault = || {
            Some(Err(CallError::Internal(
                "a fault of the agent; it is in the log".into(),
            )))
        };
        if let Some(result) = done.unwrap_or_else(|_| fault()) {
            self.answer(call, result);
        }
    }

    /// Sends an answer that has no place among a session's events.
    pub(crate) fn answer(&self, call: CallId, result: Result<Answer, CallError>) {
        self.outlet.send(Outward::Answer { call, result });
    }

    /// An open session.
    pub(crate) fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.sessions.lock().get(id).cloned()
    }

    /// All open sessions.
    pub(crate) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Notes an open session. If another opening of the same one was faster, that one is it.
    pub(crate) fn insert(&self, session: Session) -> Arc<Session> {
        let mut sessions = self.sessions.lock();
        sessions
            .entry(session.id.clone())
            .or_insert_with(|| Arc::new(session))
            .clone()
    }

    /// Lets a closing session go, once it is idle. To be asked whenever it may have become so.
    pub(crate) fn let_go(&self, session: &Session) {
        if !session.leaves() {
            return;
        }
        // The lease first: once it is out of the map, the session may be opened and claimed anew.
        self.store.end(std::slice::from_ref(&session.id), EndReason::Closed);
        // Still in the map, so that what is deleted now is not opened again meanwhile.
        session.last_deed().into_iter().for_each(|deed: AfterGone| deed());
        self.sessions.lock().remove(&session.id);
        session.gone().into_iter().for_each(|after: AfterGone| after());
    }

    /// Forgets a session that another process has gone on with.
    pub(crate) fn forget(&self, session: &Session) {
        self.sessions.lock().remove(&session.id);
        session.gone();
    }

    /// Whether a turn could begin now.
    pub(crate) fn has_free_turn(&self) -> bool {
        self.turns.has_free_thread()
    }

    /// Runs a prompt as its session's turn, and after it those that are queued by then.
    pub(crate) fn start(self: &Arc<Self>, session: Arc<Session>, prompt: Prompt) {
        self.begin_work();
        let waiting = Waiting::new(prompt);
        let (engine, owner, place) = (self.clone(), session.clone(), waiting.clone());
        let start = self.turns.run(move || {
            if let Some(prompt) = place.take() {
                engine.work_off(&owner, prompt);
                engine.resting.watch(&engine);
                engine.end_work();
            }
        });
        if start == Start::Later {
            self.watch_waiting(session, waiting);
        }
    }

    /// Tells that a prompt waits for a thread, and ends it when it is cancelled: that must not wait too.
    fn watch_waiting(self: &Arc<Self>, session: Arc<Session>, waiting: Waiting) {
        let (place, owner) = (waiting.clone(), session.clone());
        self.calls
            .run(move || place.while_it_waits(|turn| owner.line.emit(Some(turn), waits_for_a_thread())));
        let (engine, place) = (self.clone(), waiting.clone());
        waiting.on_cancel(move || {
            let calls = engine.calls.clone();
            calls.run(move || {
                if let Some(prompt) = place.take() {
                    engine.answer_cancelled(&session, prompt);
                }
            });
        });
    }

    /// Answers a cancelled prompt and those behind it that are. What is left waits for a thread of the turns again.
    fn answer_cancelled(self: &Arc<Self>, session: &Arc<Session>, prompt: Prompt) {
        let mut next = Some(prompt);
        while let Some(prompt) = next.take_if(|prompt| prompt.cancel.is_set()) {
            self.run_one(session, prompt);
            next = session.next();
        }
        match next {
            Some(prompt) => self.start(session.clone(), prompt),
            None => self.let_go(session),
        }
        self.end_work();
    }

    /// Runs a prompt beside its session's turn.
    pub(crate) fn start_beside(self: &Arc<Self>, session: Arc<Session>, prompt: Prompt) {
        self.begin_work();
        let (session_id, turn) = (session.id.clone(), prompt.turn);
        let engine = self.clone();
        let work = move || {
            engine.run_one(&session, prompt);
            session.end_beside(turn);
            engine.let_go(&session);
            engine.end_work();
        };
        self.queue_on(session_id, Box::new(work));
    }

    /// Something begins that the end of the process waits for.
    pub(crate) fn begin_work(&self) {
        *self.working.count.lock() += 1;
    }

    /// It is over.
    pub(crate) fn end_work(&self) {
        *self.working.count.lock() -= 1;
        self.working.idle.notify_all();
    }

    fn work_off(self: &Arc<Self>, session: &Arc<Session>, prompt: Prompt) {
        session.end_naming();
        let mut next = Some(prompt);
        let mut answered_by = None;
        while let Some(prompt) = next {
            answered_by = self.run_one(session, prompt);
            next = session.next();
        }
        if let Some(model) = answered_by.filter(|_| !self.is_ending()) {
            naming::begin(self, session, model);
        }
        self.let_go(session);
    }

    /// Runs a prompt; the model comes back that has answered it well. A panic in it ends its turn and nothing else; one
    /// behind its end, nothing at all.
    fn run_one(&self, session: &Session, mut prompt: Prompt) -> Option<Arc<dyn Provider>> {
        let turn = prompt.turn;
        prompt.share = None;
        let run = catch_unwind(AssertUnwindSafe(|| turn::run(self, session, prompt)));
        let end = run.unwrap_or_else(|_| End::by_fault());
        let emitted = catch_unwind(AssertUnwindSafe(|| end.emit(session, turn)));
        emitted.unwrap_or_else(|_| {
            tracing::error!(session = %session.id, turn = turn.0, "a fault behind the end of a turn");
            None
        })
    }

    /// Lets no further prompt begin.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.all_sessions().iter().for_each(|session| session.end_naming());
    }

    /// Whether no further prompt begins.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Lets all sessions go, whatever they do.
    pub(crate) fn clear(&self) {
        self.sessions.lock().clear();
    }

    /// Waits until no session has a turn, but not longer than this.
    pub(crate) fn wait_until_idle(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut count = self.working.count.lock();
        while *count > 0 && !self.working.idle.wait_until(&mut count, deadline).timed_out() {}
    }
}

fn waits_for_a_thread() -> Event {
    Event::Notice {
        severity: Severity::Info,
        title: "waiting: as many turns are running as this process runs at once".into(),
        detail: None,
    }
}
