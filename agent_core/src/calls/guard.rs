//! The end of a call, as a type.

use crate::event::{Event, ToolOutcome, ToolOutput, ToolStatus};
use crate::id::{ToolCallId, TurnId};
use crate::line::Line;
use crate::turn::Turn;

/// An announced call that has no end yet. Finishing consumes it; one that is dropped ends as failed, so that a call
/// without an end can't be written.
pub(super) struct CallGuard {
    line: Line,
    turn: TurnId,
    id: ToolCallId,
    open: bool,
}

impl CallGuard {
    /// Guards a call that has just been announced.
    pub(super) fn new(turn: &Turn<'_>, id: ToolCallId) -> Self {
        Self {
            line: turn.line().clone(),
            turn: turn.id(),
            id,
            open: true,
        }
    }

    /// Ends the call.
    pub(super) fn finish(mut self, turn: &mut Turn<'_>, outcome: ToolOutcome) {
        self.open = false;
        turn.emit(Event::ToolFinished {
            id: self.id.clone(),
            outcome,
        });
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if self.open {
            let outcome = ended(
                ToolStatus::Failed,
                "The call ended without a result, by a fault of the agent.",
            );
            let id = self.id.clone();
            self.line.emit(Some(self.turn), Event::ToolFinished { id, outcome });
        }
    }
}

/// An end that is one sentence.
pub(super) fn ended(status: ToolStatus, text: &str) -> ToolOutcome {
    ToolOutcome {
        status,
        output: ToolOutput::text(text),
    }
}
