//! What all sessions of a runtime share, and the sessions that are open.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::event::{ErrorClass, Event, Failure, Severity};
use crate::id::{SessionId, TurnId};
use crate::outward::{Answer, CallError, CallId, Outlet, Outward};
use crate::pool::{Pool, Start};
use crate::runtime::Preferences;
use crate::session::{AfterIdle, Prompt, Session};
use crate::setup::Setup;
use crate::store::Store;
use crate::turn;
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
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    turns: Pool,
    calls: Pool,
    next_call: AtomicU64,
    working: Working,
}

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
            outlet,
            sessions: Mutex::default(),
            turns: Pool::new("turn", TURNS),
            calls: Pool::new("call", CALLS),
            next_call: AtomicU64::new(1),
            working: Working::default(),
        }
    }

    /// Does a call's work on the pool. What it returns is its answer; none if it has sent that itself.
    pub(crate) fn call(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>, CallId) -> Option<Result<Answer, CallError>> + Send + 'static,
    ) -> CallId {
        let call = CallId(self.next_call.fetch_add(1, Ordering::Relaxed));
        let engine = self.clone();
        self.calls.run(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&engine, call)));
            let fault = || {
                Some(Err(CallError::Internal(
                    "a fault of the agent; it is in the log".into(),
                )))
            };
            if let Some(result) = done.unwrap_or_else(|_| fault()) {
                engine.answer(call, result);
            }
        });
        call
    }

    /// Does the rest of a call's work on the pool; it sends the call's answer itself.
    pub(crate) fn later(self: Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        self.calls.clone().run(move || work(&self));
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

    /// Lets a session go.
    pub(crate) fn remove(&self, id: &SessionId) {
        self.sessions.lock().remove(id);
        self.store.release(id);
    }

    /// Runs a prompt as its session's turn, and after it those that are queued by then.
    pub(crate) fn start(self: &Arc<Self>, session: Arc<Session>, prompt: Prompt) {
        *self.working.count.lock() += 1;
        let turn = prompt.turn;
        let engine = self.clone();
        let owner = session.clone();
        let start = self.turns.run(move || {
            engine.work_off(&owner, prompt);
            let mut count = engine.working.count.lock();
            *count -= 1;
            engine.working.idle.notify_all();
        });
        if start == Start::Later {
            self.tell_waiting(session, turn);
        }
    }

    /// Runs a prompt beside its session's turn.
    pub(crate) fn start_beside(self: &Arc<Self>, session: Arc<Session>, prompt: Prompt) {
        let engine = self.clone();
        self.calls.run(move || engine.run_one(&session, prompt));
    }

    fn work_off(&self, session: &Session, mut prompt: Prompt) {
        loop {
            self.run_one(session, prompt);
            match session.next() {
                Ok(next) => prompt = next,
                Err(waiting) => {
                    waiting.into_iter().for_each(|after: AfterIdle| after());
                    return;
                }
            }
        }
    }

    /// Runs a prompt. A panic in it ends its turn and nothing else.
    fn run_one(&self, session: &Session, prompt: Prompt) {
        let turn = prompt.turn;
        if catch_unwind(AssertUnwindSafe(|| turn::run(self, session, prompt))).is_err() {
            let failure = Failure::new(
                ErrorClass::Internal,
                "a fault of the agent ended this turn; it is in the log. The session can be used on",
            );
            session.line.emit(Some(turn), Event::TurnFailed { failure });
        }
    }

    fn tell_waiting(&self, session: Arc<Session>, turn: TurnId) {
        self.calls.run(move || {
            let notice = Event::Notice {
                severity: Severity::Info,
                title: "waiting: as many turns are running as this process runs at once".into(),
                detail: None,
            };
            session.line.emit(Some(turn), notice);
        });
    }

    /// Waits until no session has a turn, but not longer than this.
    pub(crate) fn wait_until_idle(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut count = self.working.count.lock();
        while *count > 0 && !self.working.idle.wait_until(&mut count, deadline).timed_out() {}
    }
}
