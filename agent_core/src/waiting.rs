//! A prompt that has no thread yet. Whoever takes it runs it: a thread of the turns, or what answers its cancel.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::cancel::WakeUpGuard;
use crate::id::TurnId;
use crate::session::Prompt;

/// The prompt's place. Clones share it.
#[derive(Clone)]
pub(crate) struct Waiting(Arc<Mutex<Place>>);

struct Place {
    /// None once it was taken.
    prompt: Option<Prompt>,
    /// Set while all threads are busy.
    wake_up: Option<WakeUpGuard>,
}

impl Waiting {
    pub(crate) fn new(prompt: Prompt) -> Self {
        Self(Arc::new(Mutex::new(Place {
            prompt: Some(prompt),
            wake_up: None,
        })))
    }

    /// The prompt, for the first who asks.
    pub(crate) fn take(&self) -> Option<Prompt> {
        let (prompt, wake_up) = {
            let mut place = self.0.lock();
            (place.prompt.take(), place.wake_up.take())
        };
        drop(wake_up);
        prompt
    }

    /// Does something about its turn if it waits and is not cancelled. Nobody takes it before that is done, so that what
    /// is said of it comes before its end.
    pub(crate) fn while_it_waits<T>(&self, tell: impl FnOnce(TurnId) -> T) {
        let place = self.0.lock();
        if let Some(prompt) = place.prompt.as_ref().filter(|prompt| !prompt.cancel.is_set()) {
            tell(prompt.turn);
        }
    }

    /// Does something at its cancel, if it has not been taken by then.
    pub(crate) fn on_cancel(&self, act: impl FnOnce() + Send + 'static) {
        let mut place = self.0.lock();
        let Some(cancel) = place.prompt.as_ref().map(|prompt| prompt.cancel.clone()) else {
            return;
        };
        place.wake_up = Some(cancel.on_cancel(act));
    }
}
