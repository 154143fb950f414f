//! How a call ends: by itself, at a cancel, at its deadline, or left behind.

use std::time::{Duration, Instant};

use super::super::guard::ended;
use super::super::open::{Deadline, OpenCall};
use super::Wave;
use crate::approval::{DecidedBy, Decision};
use crate::event::{Event, Severity, ToolOutcome, ToolOutput, ToolStatus};
use crate::id::ToolCallId;
use crate::tool::ToolError;

/// What a call gets after a cancel or its deadline to end by itself.
const GRACE: Duration = Duration::from_millis(1500);

impl Wave<'_, '_> {
    pub(super) fn finished(&mut self, id: &ToolCallId, result: Result<ToolOutput, ToolError>) {
        let stopped = self.open.get(id).and_then(|open| open.deadline.passed());
        let outcome = match (result, stopped) {
            (Err(_), Some(limit)) => overdue(limit, STOPPED),
            (Ok(output), _) => ToolOutcome {
                status: ToolStatus::Completed,
                output,
            },
            (Err(error), None) => ToolOutcome {
                status: if self.turn.cancel().is_set() {
                    ToolStatus::Cancelled
                } else {
                    ToolStatus::Failed
                },
                output: error.output.unwrap_or_else(|| ToolOutput::text(error.message)),
            },
        };
        self.end(id, outcome);
    }

    pub(super) fn end(&mut self, id: &ToolCallId, outcome: ToolOutcome) {
        if let Some(OpenCall { guard, terminal, .. }) = self.open.remove(id) {
            guard.finish(self.turn, outcome);
            drop(terminal);
        }
    }

    /// Ends what is not running, and gives the rest a time.
    pub(super) fn cancel(&mut self) {
        self.give_up = Some(Instant::now() + GRACE);
        let asked = self.ids(|open| open.question.is_some());
        for id in asked {
            self.decided(&id, Decision::Cancelled, DecidedBy::Cancel);
        }
        // A call that has no go yet will not get one.
        for id in self.ids(|open| open.go.is_some()) {
            self.end(&id, ended(ToolStatus::Cancelled, NOT_BEGUN));
        }
    }

    /// The same where nothing runs any more.
    pub(super) fn cancel_all(&mut self) {
        self.cancel();
        for id in self.ids(|_| true) {
            self.end(&id, ended(ToolStatus::Cancelled, ABANDONED));
        }
    }

    pub(super) fn time_is_up(&mut self) {
        let now = Instant::now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        for id in self.ids(|open| open.question.as_ref().is_some_and(|asked| due(asked.deadline))) {
            self.decided(&id, Decision::Unanswered, DecidedBy::Timeout);
        }
        if due(self.give_up) {
            for id in self.ids(|_| true) {
                self.abandon(&id);
            }
        }
        for id in self.ids(|open| open.is_due(now)) {
            self.stop(&id);
        }
        for id in self.ids(|open| open.is_silent(now)) {
            self.show_life(id);
        }
    }

    /// A call has come to its deadline: it is told to stop, and left behind if it does not.
    fn stop(&mut self, id: &ToolCallId) {
        let Some(open) = self.open.get_mut(id) else { return };
        match open.deadline {
            Deadline::None => {}
            Deadline::Stop { limit, .. } => {
                let at = Instant::now() + GRACE;
                open.deadline = Deadline::Leave { at, limit };
                open.cancel.set();
            }
            Deadline::Leave { .. } => self.abandon(id),
        }
    }

    fn show_life(&mut self, id: ToolCallId) {
        if let Some(progress) = self.open.get_mut(&id).and_then(OpenCall::sign_of_life) {
            self.turn.emit(Event::ToolProgress { id, progress });
        }
    }

    fn abandon(&mut self, id: &ToolCallId) {
        let Some(open) = self.open.get(id) else { return };
        let name = open.call.name.clone();
        let outcome = match open.deadline.passed() {
            Some(limit) if !self.turn.cancel().is_set() => overdue(limit, LEFT),
            Some(_) | None => ended(ToolStatus::Cancelled, ABANDONED),
        };
        let lane = open.lane.upgrade();
        tracing::warn!(call = %id, tool = name, "abandoned: it did not end in time after it was told to");
        self.turn.emit(Event::Notice {
            severity: Severity::Warning,
            title: format!("`{name}` did not stop in time and was left behind"),
            detail: None,
        });
        self.end(id, outcome);
        if let Some(lane) = lane.filter(|lane| lane.leave(id)) {
            self.start(&lane);
        }
    }
}

/// The end of a call that took too long.
fn overdue(limit: Duration, what_came_of_it: &str) -> ToolOutcome {
    let seconds = limit.as_secs_f64();
    ended(
        ToolStatus::Failed,
        &format!("It did not end within {seconds} s. {what_came_of_it}"),
    )
}

const STOPPED: &str = "It was stopped; whether it took effect is unknown.";
const LEFT: &str =
    "It did not stop either and was left behind. Whether it takes effect is unknown: look before you try again.";
pub(super) const NOT_BEGUN: &str = "Not run: the turn was cancelled before it began.";
const ABANDONED: &str = "Cancelled, but it did not stop in time. Whether it took effect is unknown.";
