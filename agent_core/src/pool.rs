//! Named worker threads, started on demand up to a bound and let go when idle.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// A thread without work ends after this time.
const IDLE: Duration = Duration::from_secs(10);

/// A pool. Clones share it; its threads end by themselves.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    name: &'static str,
    bound: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

type Job = Box<dyn FnOnce() + Send>;

/// Whether a job could begin at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    AtOnce,
    /// All threads are busy; it begins when one is free.
    Later,
}

impl Pool {
    /// A pool of at most `bound` threads.
    pub(crate) fn new(name: &'static str, bound: usize) -> Self {
        Self(Arc::new(Inner {
            name,
            bound,
            state: Mutex::default(),
            work: Condvar::new(),
        }))
    }

    /// Runs a job on a thread of the pool. Never blocks; jobs begin in the order they came.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) -> Start {
        let mut state = self.0.state.lock();
        state.jobs.push_back(Box::new(job));
        if state.jobs.len() <= state.idle {
            self.0.work.notify_one();
            return Start::AtOnce;
        }
        if state.threads == self.0.bound {
            return Start::Later;
        }
        state.threads += 1;
        drop(state);
        self.start_thread();
        Start::AtOnce
    }

    /// Whether a job could begin at once.
    pub(crate) fn has_free_thread(&self) -> bool {
        let state = self.0.state.lock();
        state.jobs.len() < state.idle || state.threads < self.0.bound
    }

    fn start_thread(&self) {
        let inner = self.0.clone();
        let spawned = thread::Builder::new()
            .name(self.0.name.to_owned())
            .spawn(move || inner.work());
        if let Err(error) = spawned {
            tracing::error!(pool = self.0.name, %error, "can't start a worker thread; the job waits for another");
            self.0.state.lock().threads -= 1;
        }
    }
}

impl Inner {
    fn work(&self) {
        while let Some(job) = self.next_job() {
            // Whoever gave the job turns its own panics into events; this keeps the thread for the next one.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!(pool = self.name, "a job panicked");
            }
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            let timed_out = self.work.wait_for(&mut state, IDLE).timed_out();
            state.idle -= 1;
            if timed_out && state.jobs.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}
