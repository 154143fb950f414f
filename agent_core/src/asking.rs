//! Asks the model until there is a reply: a request whose failure can pass by itself is made again, then the fallback
//! models are asked in their order. After the first word nothing is repeated: what was shown stays.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::compact::{self, Reason};
use crate::event::{Event, Failure, Severity};
use crate::id::MessageId;
use crate::line::{Speech, Voice};
use crate::patience::Patience;
use crate::provider::{Delta, ModelRef, Provider, ProviderError, Reply, Request};
use crate::retry;
use crate::turn::Turn;

/// A reply, and whether it said anything.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) spoke: bool,
}

/// The model that answers in place of the session's own, for the rest of the turn.
#[derive(Clone)]
pub(crate) struct Fallback {
    /// The model that can't be had. Another one that the user chooses meanwhile is asked first again.
    instead_of: ModelRef,
    /// Its place in the list.
    index: usize,
    pub(crate) provider: Arc<dyn Provider>,
}

impl Fallback {
    /// Whether it stands in for this model.
    pub(crate) fn is_for(&self, model: &ModelRef) -> bool {
        self.instead_of == *model
    }
}

/// One request without a reply.
struct Attempt {
    error: ProviderError,
    /// Something of a reply has been shown.
    shown: bool,
}

/// Asks until there is a reply or nothing more to try.
pub(crate) fn ask(turn: &mut Turn<'_>) -> Result<Answer, ProviderError> {
    let cancel = turn.cancel.clone();
    let mut patience = Patience::new();
    let mut refusals = 0;
    loop {
        turn.tell_unseen();
        let Attempt { error, shown } = match once(turn) {
            Ok(answer) => return Ok(answer),
            Err(attempt) => attempt,
        };
        let ProviderError::Failed(failure) = error else {
            return Err(error);
        };
        if shown {
            return Err(ProviderError::Failed(failure));
        }
        if refusals < compact::REFUSALS
            && compact::helps(failure.class)
            && turn.make_room(Reason::Refused(failure.class))?
        {
            refusals += 1;
        } else if !patience.wait(&failure, &cancel, |notice| {
            turn.emit(notice);
        })? {
            let failure = retry::final_words(*failure, patience.tries());
            turn.fallback = Some(next_model(turn, failure)?);
            patience = Patience::new();
            // Its context may be smaller.
            turn.make_room(Reason::Full)?;
        }
    }
}

/// The next model of the list that can be opened, told to the user; the failure where there is none.
fn next_model(turn: &mut Turn<'_>, failure: Failure) -> Result<Fallback, ProviderError> {
    let settings = turn.settings();
    let own = settings.provider.model().name.clone();
    if !retry::another_model_may_answer(failure.class) {
        return Err(failed(failure));
    }
    let first = turn.fallback(&own).map_or(0, |fallback| fallback.index + 1);
    let candidates = settings.config.fallback_models.iter().enumerate().skip(first);
    for (index, model) in candidates.filter(|(_, model)| **model != own) {
        match turn.open(&settings.config, model) {
            Ok(provider) => {
                turn.emit(Event::Notice {
                    severity: Severity::Warning,
                    title: format!("asking {model} instead of {own}"),
                    detail: Some(failure.message),
                });
                return Ok(Fallback {
                    instead_of: own,
                    index,
                    provider,
                });
            }
            Err(error) => turn.emit(Event::Notice {
                severity: Severity::Warning,
                title: format!("the fallback model {model} can't be asked"),
                detail: Some(error.to_string()),
            }),
        };
    }
    Err(failed(failure))
}

fn failed(failure: Failure) -> ProviderError {
    ProviderError::Failed(Box::new(failure))
}

/// Asks once; what the model says goes out as it comes.
fn once(turn: &mut Turn<'_>) -> Result<Answer, Attempt> {
    let provider = turn.provider();
    let thinking = turn.settings().thought;
    let system = turn.session.standing().system.unwrap_or_default();
    let id = MessageId::new();
    let mut speech: Option<Speech> = None;
    let mut ended = Vec::new();
    let (mut spoke, mut shown) = (false, false);
    let request = Request {
        system: &system,
        tools: &turn.specs,
        counted: turn.history.counted(turn.fixed_size()),
        messages: turn.history.messages(),
        thinking,
    };
    let (line, cancel) = (&turn.session.line, &turn.cancel);
    let result = provider.complete(&request, cancel, &mut |delta| {
        let (voice, text) = match delta {
            Delta::Text(text) => (Voice::Text, text),
            Delta::Thought(text) => (Voice::Thought, text),
        };
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        shown = true;
        spoke |= voice == Voice::Text;
        if speech.as_ref().is_none_or(|speech| speech.voice() != voice) {
            ended.extend(speech.take().and_then(Speech::end));
            speech = Some(line.speak(Some(turn.id), id.clone(), voice));
        }
        if let Some(speech) = &mut speech {
            speech.say(text, cancel);
        }
        if cancel.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    ended.extend(speech.take().and_then(Speech::end));
    for envelope in &ended {
        turn.history.follow(envelope);
    }
    let error = if turn.cancel.is_set() {
        ProviderError::Cancelled
    } else {
        match result {
            Ok(reply) => return Ok(Answer { reply, spoke }),
            Err(error) => error,
        }
    };
    Err(Attempt { error, shown })
}
