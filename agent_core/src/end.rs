//! How a turn has ended, from when it has run until everybody knows.

use crate::event::{ErrorClass, Event, Failure, StopReason};
use crate::history::History;
use crate::id::TurnId;
use crate::opening;
use crate::provider::{ProviderError, Usage};
use crate::session::Session;
use crate::turn::TurnError;

/// The one end of a turn.
pub(crate) struct End {
    event: Event,
    /// The history up to here; none where the turn did not come to have it.
    history: Option<History>,
}

impl End {
    /// The end of a turn that has come to a stop, or could not.
    pub(crate) fn new(
        session: &Session,
        end: Result<(StopReason, Usage), TurnError>,
        history: Option<History>,
    ) -> Self {
        let event = match end {
            Ok((stop, usage)) => Event::TurnFinished { stop, usage },
            Err(error) => {
                let failure = to_failure(error);
                session.change_standing(|standing| standing.key_refused = failure.class == ErrorClass::Auth);
                Event::TurnFailed { failure }
            }
        };
        Self { event, history }
    }

    /// The end by a fault of the agent.
    pub(crate) fn by_fault() -> Self {
        let failure = Failure::new(
            ErrorClass::Internal,
            "a fault of the agent ended this turn; it is in the log. The session can be used on",
        );
        Self {
            event: Event::TurnFailed { failure },
            history: None,
        }
    }

    /// Emits it, and leaves the history to the session's next turn.
    pub(crate) fn emit(self, session: &Session, turn: TurnId) {
        let end = session.line.emit(Some(turn), self.event);
        if let Some(mut history) = self.history {
            history.follow(&end);
            session.keep_history(history);
        }
    }
}

fn to_failure(error: TurnError) -> Failure {
    let class = match &error {
        TurnError::Provider(ProviderError::Failed(failure)) => return (**failure).clone(),
        TurnError::Provider(ProviderError::Cancelled) | TurnError::ReadHistory(_) => ErrorClass::Internal,
        TurnError::Held(_) => ErrorClass::Held,
    };
    Failure::new(class, opening::with_causes(&error))
}
