//! A call that has no end yet, as the turn's thread knows it: how far it has come, and by when it must say or do what.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use super::guard::CallGuard;
use super::lane::Lane;
use super::question::Question;
use crate::asker::Terminal;
use crate::cancel::{Cancel, WakeUpGuard};
use crate::event::{Progress, ToolCall};

/// A call that says nothing for this long is shown to go on: with all that lies between, at least every 5 s.
const SILENCE: Duration = Duration::from_secs(4);

/// A call without an end.
pub(super) struct OpenCall {
    pub(super) guard: CallGuard,
    pub(super) call: ToolCall,
    /// Sent on once: the call may run. Dropped: it may not.
    pub(super) go: Option<Sender<()>>,
    pub(super) progress: Arc<Mutex<Option<Progress>>>,
    pub(super) question: Option<Question>,
    /// The surface's terminal that it runs in. It goes back with this, when the call's end has been told.
    pub(super) terminal: Option<Terminal>,
    /// Where it is worked on.
    pub(super) lane: Weak<Lane>,
    /// How long it may run.
    pub(super) limit: Option<Duration>,
    pub(super) cancel: OwnCancel,
    pub(super) deadline: Deadline,
    /// What is on the screen is what it does (a diff), and stays there.
    pub(super) shows_its_plan: bool,
    /// Once it was let go.
    pub(super) running: Option<Running>,
}

/// A call's own cancel: the turn's sets it too, as long as this is there, and so does the call's deadline.
pub(super) struct OwnCancel {
    own: Cancel,
    _by_the_turns: WakeUpGuard,
}

impl OwnCancel {
    /// One that is set with the turn's.
    pub(super) fn below(turns: &Cancel) -> Self {
        let own = Cancel::new();
        let set = own.clone();
        Self {
            own,
            _by_the_turns: turns.on_cancel(move || set.set()),
        }
    }

    /// What the call's work looks at.
    pub(super) fn handle(&self) -> Cancel {
        self.own.clone()
    }

    /// The call is to end.
    pub(super) fn set(&self) {
        self.own.set();
    }
}

/// By when a call must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    /// It waits for its turn, for a person, or may take as long as it does.
    None,
    /// It is stopped at this time.
    Stop { at: Instant, limit: Duration },
    /// It has been stopped, and is left behind at this time.
    Leave { at: Instant, limit: Duration },
}

impl Deadline {
    /// A deadline from now on; none where that is beyond all time.
    pub(super) fn within(limit: Option<Duration>) -> Self {
        let at = limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
        at.map_or(Self::None, |(at, limit)| Self::Stop { at, limit })
    }

    /// The time it had, if that is over.
    pub(super) fn passed(self) -> Option<Duration> {
        match self {
            Self::None | Self::Stop { .. } => None,
            Self::Leave { limit, .. } => Some(limit),
        }
    }

    fn at(self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::Stop { at, .. } | Self::Leave { at, .. } => Some(at),
        }
    }
}

/// A call that runs, as it is shown.
pub(super) struct Running {
    since: Instant,
    /// When something of it was shown last.
    shown: Instant,
    last: Progress,
}

impl Running {
    fn begin() -> Self {
        Self {
            since: Instant::now(),
            shown: Instant::now(),
            last: Progress::default(),
        }
    }

    /// This is shown of it now.
    pub(super) fn shown(&mut self, progress: &Progress) {
        self.last = progress.clone();
        self.shown = Instant::now();
    }

    fn silent_at(&self) -> Instant {
        self.shown + SILENCE
    }
}

impl OpenCall {
    /// It is let go now.
    pub(super) fn begin(&mut self) {
        self.deadline = Deadline::within(self.limit);
        self.running = Some(Running::begin());
    }

    /// A sign of life of a call that runs: what was shown last, or how long it has taken, where there is nothing else to see.
    pub(super) fn sign_of_life(&mut self) -> Option<Progress> {
        let running = self.running.as_mut()?;
        running.shown = Instant::now();
        let is_empty = running.last.total == 0 && running.last.terminal.is_none();
        Some(Progress {
            elapsed_s: (is_empty && !self.shows_its_plan).then(|| running.since.elapsed().as_secs()),
            ..running.last.clone()
        })
    }

    /// When it needs to be looked at, whatever happens.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let question = self.question.as_ref().and_then(|question| question.deadline);
        let silence = self.running.as_ref().map(Running::silent_at);
        [question, silence, self.deadline.at()].into_iter().flatten().min()
    }

    /// Whether nothing was shown of it for too long.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.running.as_ref().is_some_and(|running| running.silent_at() <= now)
    }

    /// Whether its deadline has come.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline.at().is_some_and(|at| at <= now)
    }
}
