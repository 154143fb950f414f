//! How a turn has ended, from when it has run until everybody knows.

use std::sync::Arc;

use crate::event::{ErrorClass, Event, Failure, StopReason};
use crate::history::History;
use crate::id::TurnId;
use crate::opening;
use crate::provider::{Provider, ProviderError, Usage};
use crate::session::Session;
use crate::turn::TurnError;

/// The one end of a turn.
pub(crate) struct End {
    event: Event,
    /// The history up to here; none where the turn did not come to have it.
    history: Option<History>,
    /// The model that answered last; none where the turn did not come to a good end.
    answered_by: Option<Arc<dyn Provider>>,
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
        Self {
            event,
            history,
            answered_by: None,
        }
    }

    /// The same; this model has answered.
    pub(crate) fn answered_by(self, model: Arc<dyn Provider>) -> Self {
        let is_good = matches!(
            self.event,
            Event::TurnFinished {
                stop: StopReason::EndTurn,
                ..
            }
        );
        Self {
            answered_by: is_good.then_some(model),
            ..self
        }
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
            answered_by: None,
        }
    }

    /// Emits it, and leaves the history to the session's next turn. The model comes back that has answered it well.
    pub(crate) fn emit(self, session: &Session, turn: TurnId) -> Option<Arc<dyn Provider>> {
        let end = session.line.emit(Some(turn), self.event);
        if let Some(mut history) = self.history {
            history.follow(&end);
            session.keep_history(history);
        }
        self.answered_by
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
