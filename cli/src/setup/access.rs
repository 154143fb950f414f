//! A service as setup asks it: with the key it has so far. Where the service refuses the key or the model, and there is
//! somebody to ask, the person is asked for another; an address with a usual slip in it is mended.

use std::sync::Arc;

use agent_core::config::Config;
use agent_core::event::{ErrorClass, Failure};
use agent_core::nearest::nearest;
use agent_core::provider::{ModelRef, Provider, ProviderError};

use super::answer::{bare, own_variable};
use super::questions::{Another, Questions};
use super::{KeyChoice, NewKey, tell};
use crate::credentials::KeySource;
use crate::exit::{Exit, Fail};
use crate::probe::{self, probe};
use crate::service::Remote;
use crate::setup_port::{self, UserSetup};
use crate::wiring::{self, Dialect, ListedModel, Service};

/// A service and what opens it.
pub(super) struct Access<'a> {
    pub(super) user: &'a UserSetup,
    /// Says what is known of its models.
    pub(super) config: &'a Config,
    pub(super) questions: &'a Questions,
    pub(super) provider: &'a str,
    /// Where it is; a slip in its address may be mended.
    pub(super) remote: Remote,
    pub(super) key: KeyChoice,
    /// A refused key may be replaced: it was not given by a flag.
    pub(super) key_is_open: bool,
    /// What would be wrong with another address.
    pub(super) check_address: &'a dyn Fn(&str) -> Result<(), Fail>,
}

/// Why a service is asked no further.
pub(super) enum Stop {
    /// Nobody answers at its address.
    Unreachable(Fail),
    /// The person has named another address.
    Elsewhere(String),
    /// There is nothing more to try.
    Failed(Fail),
}

impl From<Fail> for Stop {
    fn from(fail: Fail) -> Self {
        Self::Failed(fail)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Access<'_> {
    /// The models that the service offers; none where it keeps no list.
    pub(super) fn offered(&mut self) -> Result<Vec<String>, Stop> {
        tell(&format!("asking {} for its models …", self.remote.base_url))?;
        let failure = match self.with_key(|access| as_failure(access.user.list_models(&access.service())))? {
            Ok(models) => return Ok(ids(models)),
            Err(failure) => failure,
        };
        if is_no_such_page(&failure) {
            // It answers, and whether it is of use is told by the model.
            return match self.mend_address()? {
                Some(models) => Ok(models),
                None => {
                    tell("it does not say which models it has")?;
                    Ok(Vec::new())
                }
            };
        }
        if self.is_final(&failure) {
            return Err(self.stop(&failure, ""));
        }
        tell(&said(&failure))?;
        Ok(Vec::new())
    }

    /// Asks what the service says of its models, such as how much they hold. That is good to know, and no more.
    pub(super) fn learn(&self) {
        if let Err(error) = self.user.list_models(&self.service()) {
            tracing::info!(%error, "the service says nothing of its models");
        }
    }

    /// The model's name without its provider, once the model has given a word. Where it gives none, the person is asked
    /// what to do.
    pub(super) fn answering(&mut self, model: String) -> Result<String, Stop> {
        let mut model = model;
        loop {
            tell(&format!("asking {} for one word …", self.name(&model)))?;
            let failure = match self.with_key(|access| access.probe(&model))? {
                Ok(answered) => {
                    tell(&format!("{}: {answered}", self.name(&model)))?;
                    return Ok(model);
                }
                Err(failure) => failure,
            };
            if is_no_such_page(&failure) && self.mend_address()?.is_some() {
                continue;
            }
            let hint = self.near_model(&model, &failure);
            if self.is_final(&failure) {
                return Err(self.stop(&failure, &hint));
            }
            tell(&format!("{}{hint}", said(&failure)))?;
            let unchecked = (failure.class != ErrorClass::ModelNotFound).then(|| self.name(&model));
            match self.questions.another(unchecked.as_ref(), self.check_address)? {
                Another::Model(other) => model = other,
                Another::Address(url) => return Err(Stop::Elsewhere(url)),
                Another::Unchecked => return Ok(model),
            }
        }
    }

    /// Goes to the address that was probably meant, where this one has no list of models and that one has: the models
    /// there. An address that ends too early or too late is the usual slip.
    fn mend_address(&mut self) -> Result<Option<Vec<String>>, Fail> {
        let before = &self.remote.base_url;
        let Some(meant) = meant(before, self.remote.dialect) else {
            return Ok(None);
        };
        let there = Remote {
            base_url: meant,
            ..self.remote.clone()
        };
        let listed = |remote: &Remote| self.user.list_models(&self.service_at(remote)).ok();
        if listed(&self.remote).is_some() {
            return Ok(None);
        }
        let Some(models) = listed(&there) else {
            return Ok(None);
        };
        tell(&format!("the service is at {}, not at {before}", there.base_url))?;
        self.remote = there;
        Ok(Some(ids(models)))
    }

    /// Does what needs the service; each time that refuses the key, with another one that the person gives.
    fn with_key<T>(&mut self, attempt: impl Fn(&Self) -> Result<T, Failure>) -> Result<Result<T, Failure>, Fail> {
        loop {
            match attempt(self) {
                Err(failure) if failure.class == ErrorClass::Auth && self.may_ask_key() => {
                    tell(&said(&failure))?;
                    let variable = self.variable();
                    let secret = self.questions.key(self.provider, &variable)?;
                    self.key = KeyChoice::New(NewKey { variable, secret });
                }
                done => return Ok(done),
            }
        }
    }

    fn may_ask_key(&self) -> bool {
        self.questions.can_ask() && self.key_is_open && !self.is_set()
    }

    /// Whether its key is in the environment, which comes before any that is stored.
    fn is_set(&self) -> bool {
        let found = self.user.credentials().key(&self.variable());
        found.is_some_and(|key| key.from == KeySource::Environment)
    }

    /// The variable of its key, or the one it gets should it need a key.
    fn variable(&self) -> String {
        let known = self.remote.key.variable().map(str::to_owned);
        known.unwrap_or_else(|| own_variable(self.provider))
    }

    fn service(&self) -> Service {
        self.service_at(&self.remote)
    }

    fn service_at(&self, remote: &Remote) -> Service {
        let variable = remote.key.variable();
        let (secret, named) = match &self.key {
            KeyChoice::New(key) => (Some(key.secret.clone()), None),
            KeyChoice::Goes(_) => (None, None),
            KeyChoice::Stays => {
                let credentials = self.user.credentials();
                let key = variable.and_then(|variable| credentials.key(variable));
                let named = key.as_ref().map(|key| credentials.words(key));
                (key.map(|key| key.secret), named)
            }
        };
        remote.service(self.provider, secret, named.or_else(|| variable.map(str::to_owned)))
    }

    /// Whether the service could be asked at all; that needs no network.
    pub(super) fn usable(&self, model: &str) -> Result<(), Fail> {
        let opened = self.open(model);
        opened.map(drop).map_err(|failure| {
            let message = format!("{}\nnothing was saved", failure.message);
            Fail::new(Exit::Failed, message)
        })
    }

    fn open(&self, model: &str) -> Result<Arc<dyn Provider>, Failure> {
        let info = setup_port::info(self.config, &self.name(model), &self.remote, &self.user.catalogue());
        wiring::remote(self.service(), info, self.handle()?).map_err(unusable)
    }

    fn probe(&self, model: &str) -> Result<probe::Answered, Failure> {
        probe(self.open(model)?.as_ref(), probe::PATIENCE)
    }

    fn handle(&self) -> Result<wiring::Handle, Failure> {
        self.user.http().handle().map_err(unusable)
    }

    fn name(&self, model: &str) -> ModelRef {
        ModelRef {
            provider: self.provider.to_owned(),
            model: bare(self.provider, model).to_owned(),
        }
    }

    /// A model of the service that is named alike, in words.
    fn near_model(&self, model: &str, failure: &Failure) -> String {
        if failure.class != ErrorClass::ModelNotFound {
            return String::new();
        }
        let asked = bare(self.provider, model);
        let offered = self.user.list_models(&self.service()).unwrap_or_default();
        let others = offered.iter().map(|model| model.id.as_str()).filter(|id| *id != asked);
        match nearest(asked, others) {
            Some(near) => format!(" (did you mean `{near}`?)"),
            None => String::new(),
        }
    }

    /// Whether neither another model nor the person could mend it.
    fn is_final(&self, failure: &Failure) -> bool {
        let of_service = matches!(
            failure.class,
            ErrorClass::Config | ErrorClass::Auth | ErrorClass::Network | ErrorClass::Tls
        );
        of_service || !self.questions.can_ask()
    }

    fn stop(&self, failure: &Failure, hint: &str) -> Stop {
        let way = match (failure.class, self.remote.key.variable()) {
            (ErrorClass::Auth, None) => Some("give its key by --key-stdin or --key-env NAME".to_owned()),
            (ErrorClass::Auth, Some(variable)) if self.is_set() => Some(format!(
                "{variable} of the environment comes before a stored key: correct it or unset it, or name another variable by \
                 --key-env NAME"
            )),
            _ => None,
        };
        // What is wrong with the configuration is so unasked too.
        let unchecked = (failure.class != ErrorClass::Config).then(|| "--no-check saves without asking".to_owned());
        let ways: String = way.into_iter().chain(unchecked).map(|way| format!("; {way}")).collect();
        let fail = Fail::new(
            Exit::Failed,
            format!("{}{hint}\nnothing was saved{ways}", said(failure)),
        );
        if matches!(failure.class, ErrorClass::Network | ErrorClass::Tls) {
            Stop::Unreachable(fail)
        } else {
            Stop::Failed(fail)
        }
    }
}

/// What a failure says, without the advice to run what runs already.
fn said(failure: &Failure) -> String {
    let message = failure.message.replace(" or run `agent setup`", "");
    message.replace(": run `agent setup`", "")
}

/// Whether there is something else at the address, or nothing.
fn is_no_such_page(failure: &Failure) -> bool {
    matches!(failure.class, ErrorClass::ModelNotFound | ErrorClass::Protocol)
}

/// Where the service probably is, if its address has one of the usual slips.
fn meant(base_url: &str, dialect: Dialect) -> Option<String> {
    const TOO_FAR: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/models"];
    if let Some(meant) = TOO_FAR.iter().find_map(|end| base_url.strip_suffix(end)) {
        return Some(meant.to_owned());
    }
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Anthropic if !base_url.ends_with("/v1") => {
            Some(format!("{base_url}/v1"))
        }
        Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Anthropic | Dialect::Gemini => None,
    }
}

fn ids(models: Vec<ListedModel>) -> Vec<String> {
    models.into_iter().map(|model| model.id).collect()
}

fn as_failure<T>(asked: Result<T, ProviderError>) -> Result<T, Failure> {
    asked.map_err(|error| match error {
        ProviderError::Failed(failure) => *failure,
        ProviderError::Cancelled => unusable("cancelled".to_owned()),
    })
}

/// Something is wrong before the service could be asked.
fn unusable(message: String) -> Failure {
    Failure::new(ErrorClass::Config, message)
}
