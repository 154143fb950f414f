//! Waits before a request whose failure can pass by itself is made again. The user is told of the first wait, and a
//! cancel ends each.

use std::time::Duration;

use crossbeam_channel::{after, select};

use crate::cancel::Cancel;
use crate::event::{Event, Failure, Severity};
use crate::provider::ProviderError;
use crate::retry;

/// How often one request has been made.
pub(crate) struct Patience {
    tries: u32,
}

impl Patience {
    /// It is made for the first time.
    pub(crate) fn new() -> Self {
        Self { tries: 1 }
    }

    /// How often it was made.
    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// Waits until it makes sense to ask again; false where it does not.
    pub(crate) fn wait(
        &mut self,
        failure: &Failure,
        cancel: &Cancel,
        tell: impl FnOnce(Event),
    ) -> Result<bool, ProviderError> {
        let Some(wait) = retry::wait_before_next(failure, self.tries, fastrand::f64()) else {
            return Ok(false);
        };
        if self.tries == 1 {
            tell(notice(failure, wait));
        }
        self.tries += 1;
        select! {
            recv(cancel.closed()) -> _ => Err(ProviderError::Cancelled),
            recv(after(wait)) -> _ => Ok(true),
        }
    }
}

fn notice(failure: &Failure, wait: Duration) -> Event {
    Event::Notice {
        severity: Severity::Warning,
        title: format!("trying again in {}", retry::words(wait)),
        detail: Some(format!(
            "{}. It is tried up to {} times.",
            failure.message.trim_end_matches('.'),
            retry::TRIES
        )),
    }
}
