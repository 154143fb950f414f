//! Lets sessions rest that nobody has used for a while: another process may write to them, and their history is out
//! of memory. A session that rests is still open; its next prompt wakes it. Closing one is the session's own matter.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parking_lot::Mutex;

use crate::engine::Engine;
use crate::session::{Rest, Session};

/// What lets the sessions of a runtime rest.
pub(crate) struct Resting {
    /// How long a session has nothing to do before it rests.
    after: Duration,
    /// None before the first turn has ended: a process that only starts does without the thread.
    watch: Mutex<Option<Watch>>,
}

struct Watch {
    /// Nothing is sent; the thread ends when this is dropped.
    end: Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Resting {
    pub(crate) fn new(after: Duration) -> Self {
        Self {
            after,
            watch: Mutex::default(),
        }
    }

    /// Begins to watch the sessions, if that has not begun.
    pub(crate) fn watch(&self, engine: &Arc<Engine>) {
        let mut watch = self.watch.lock();
        if watch.is_some() || engine.is_ending() {
            return;
        }
        let (end, ended) = bounded(0);
        let (engine, after) = (Arc::downgrade(engine), self.after);
        let spawned = thread::Builder::new()
            .name("resting".into())
            .spawn(move || run(&engine, &ended, after));
        match spawned {
            Ok(thread) => *watch = Some(Watch { end, thread }),
            Err(error) => tracing::warn!(%error, "idle sessions stay in memory: no thread can be started"),
        }
    }

    /// Ends the watch and waits for it.
    pub(crate) fn end(&self) {
        let Some(Watch { end, thread }) = self.watch.lock().take() else {
            return;
        };
        drop(end);
        if thread.join().is_err() {
            tracing::error!("the watch over idle sessions has panicked");
        }
    }
}

fn run(engine: &Weak<Engine>, ended: &Receiver<Infallible>, after: Duration) {
    let mut wait = after;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        let Some(engine) = engine.upgrade() else { return };
        wait = rest_all(&engine, after);
    }
}

/// Lets all sessions rest that may; the time until the next one may.
fn rest_all(engine: &Arc<Engine>, after: Duration) -> Duration {
    let mut wait = after;
    for session in engine.all_sessions() {
        // What is not stored yet keeps its writer.
        if engine.store.is_behind(&session.id) {
            continue;
        }
        match session.rest(after) {
            Rest::Later(time) => wait = wait.min(time),
            Rest::Now => lie_down(engine, session),
        }
    }
    wait
}

/// Lets history and lease go, and goes on with what was asked for meanwhile.
fn lie_down(engine: &Arc<Engine>, session: Arc<Session>) {
    drop(session.take_history());
    session.line.step_back();
    // A change may have come just before, and wait.
    if engine.store.is_behind(&session.id) {
        session.wake();
    } else {
        engine.store.release(&session.id);
    }
    match session.next() {
        Some(prompt) => engine.start(session, prompt),
        None => engine.let_go(&session),
    }
}
