//! Signing in and out, and what is answered where one has to.

use std::collections::BTreeSet;
use std::thread;

use agent_client_protocol_schema::v1::{AuthenticateResponse, Error, LogoutResponse, RequestId};
use agent_core::outward::CallError;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::Connection;
use crate::agent::call::Call;
use crate::agent::fault;
use crate::agent::settings::Settings;

/// Whether the user has signed in.
pub(super) struct Signing {
    /// The user has signed out and not in again: nothing new begins.
    is_signed_out: bool,
    /// The providers whose sign-in was offered after a refusal. A session may have another model than the configured one.
    offered: BTreeSet<String>,
    /// To ourselves, from the threads that look at what is set up.
    done: UnboundedSender<SignedIn>,
}

/// What came of an `authenticate` or a `logout`, by its number.
pub(crate) struct SignedIn {
    number: u64,
    way: Way,
    result: Result<(), Error>,
}

/// Which of the two it was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

impl Signing {
    pub(super) fn new(done: UnboundedSender<SignedIn>) -> Self {
        Self {
            is_signed_out: false,
            offered: BTreeSet::new(),
            done,
        }
    }
}

impl Connection {
    /// Lets a call pass, unless it begins something and the user has signed out.
    pub(super) fn admit(&self, call: Call) -> Result<Call, Error> {
        if self.signing.is_signed_out && call.begins_something() {
            let methods = self.settings.auth_methods(&self.client(), None);
            return Err(fault::signed_out(&json!(methods)));
        }
        Ok(call)
    }

    pub(super) fn authenticate(&mut self, id: RequestId, method: String) {
        let was_offered = self.signing.offered.contains(&method);
        self.sign(id, Way::In, move |settings| settings.authenticate(&method, was_offered));
    }

    /// From now on nothing begins, whatever comes of the key.
    pub(super) fn log_out(&mut self, id: RequestId) {
        self.signing.is_signed_out = true;
        self.sign(id, Way::Out, Settings::log_out);
    }

    /// Looks at what is set up, or changes it, on a thread of its own, since that reads and writes files.
    fn sign(&mut self, id: RequestId, way: Way, look: impl FnOnce(&Settings) -> Result<(), Error> + Send + 'static) {
        let number = self.inbound.add_sign_in(id);
        let (settings, signed_in) = (self.settings.clone(), self.signing.done.clone());
        let look = move || {
            let result = look(&settings);
            // An error means that the connection is over.
            let _ = signed_in.send(SignedIn { number, way, result });
        };
        if let Err(error) = thread::Builder::new().name("acp-sign-in".into()).spawn(look) {
            let message = format!("can't look at what is set up: no thread could be started ({error})");
            let result = Err(Error::new(fault::INTERNAL, message));
            self.signed_in(SignedIn { number, way, result });
        }
    }

    /// Answers an `authenticate` or a `logout`.
    pub(crate) fn signed_in(&mut self, signed_in: SignedIn) {
        let SignedIn { number, way, result } = signed_in;
        if way == Way::In && result.is_ok() {
            self.signing.is_signed_out = false;
        }
        match (self.inbound.take_sign_in(number), result, way) {
            (Some(id), Ok(()), Way::In) => self.respond(&id, AuthenticateResponse::new()),
            (Some(id), Ok(()), Way::Out) => self.respond(&id, LogoutResponse::new()),
            (Some(id), Err(error), _) => self.refuse(&id, &error),
            (None, _, _) => tracing::debug!("a sign-in has ended that nobody waits for"),
        }
    }

    /// Refuses a request that the core could not do.
    pub(super) fn fail(&mut self, id: &RequestId, error: &CallError, option_field: &str) {
        let ways = match error {
            CallError::NoCredentials { provider, .. } => self.ways_in(Some(provider)),
            CallError::UnknownSession(_)
            | CallError::BadFolder { .. }
            | CallError::BadOption { .. }
            | CallError::Held { .. }
            | CallError::QueueFull
            | CallError::BadCursor
            | CallError::Config(_)
            | CallError::Store(_)
            | CallError::Internal(_) => Value::Null,
        };
        self.refuse(id, &fault::of_call(error, option_field, &ways));
    }

    /// Refuses a prompt whose turn has failed; where that needs a key, with the ways to sign in, as all such errors have
    /// them.
    pub(super) fn refuse_turn(&mut self, id: &RequestId, error: Error) {
        let needs_key = i32::from(error.code) == fault::AUTH_REQUIRED;
        let Some(mut data) = error.data.clone().filter(|_| needs_key) else {
            return self.refuse(id, &error);
        };
        data["authMethods"] = self.ways_in(data["provider"].as_str());
        self.refuse(id, &error.data(data));
    }

    /// The ways to sign in to a provider, which are offered with that.
    fn ways_in(&mut self, provider: Option<&str>) -> Value {
        self.signing.offered.extend(provider.map(ToOwned::to_owned));
        json!(self.settings.auth_methods(&self.client(), provider))
    }
}
