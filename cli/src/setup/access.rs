//! A service as setup asks it: with the key it has so far. Where the service refuses the key or the model, and there is
//! somebody to ask, the person is asked for another.

use std::sync::Arc;

use agent_core::config::Config;
use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::{ModelRef, Provider, ProviderError};
use secrecy::SecretString;

use super::answer::{bare, own_variable};
use super::questions::Questions;
use super::{NewKey, tell};
use crate::credentials::KeySource;
use crate::exit::{Exit, Fail};
use crate::nearest::nearest;
use crate::probe::{self, probe};
use crate::service::Remote;
use crate::setup_port::{self, UserSetup};
use crate::wiring::{self, Service};

/// A service and what opens it.
pub(super) struct Access<'a> {
    pub(super) user: &'a UserSetup,
    /// Says what is known of its models.
    pub(super) config: &'a Config,
    pub(super) questions: &'a Questions,
    pub(super) provider: &'a str,
    pub(super) remote: &'a Remote,
    /// The key that is to be stored.
    pub(super) new_key: Option<NewKey>,
    /// A refused key may be replaced: it was not given by a flag.
    pub(super) key_is_open: bool,
}

impl Access<'_> {
    /// The models that the service offers; none where it keeps no list.
    pub(super) fn offered(&mut self) -> Result<Vec<String>, Fail> {
        tell(&format!("asking {} for its models …", self.remote.base_url))?;
        let asked = self.with_key(|access| as_failure(access.user.list_models(&access.service())))?;
        match asked {
            Ok(models) => Ok(models.into_iter().map(|model| model.id).collect()),
            // It answers, and whether it is of use is told by the model.
            Err(failure) if matches!(failure.class, ErrorClass::ModelNotFound | ErrorClass::Protocol) => {
                tell("it does not say which models it has")?;
                Ok(Vec::new())
            }
            Err(failure) => Err(self.unsaved(&failure, "")),
        }
    }

    /// Asks what the service says of its models, such as how much they hold. That is good to know, and no more.
    pub(super) fn learn(&self) {
        if let Err(error) = self.user.list_models(&self.service()) {
            tracing::info!(%error, "the service says nothing of its models");
        }
    }

    /// The model's name without its provider, once the model has given a word; where the service has no such model, the
    /// person is asked for another.
    pub(super) fn answering(&mut self, model: String) -> Result<String, Fail> {
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
            if failure.class != ErrorClass::ModelNotFound {
                return Err(self.unsaved(&failure, ""));
            }
            let hint = self.near_model(&model);
            if !self.questions.can_ask() {
                return Err(self.unsaved(&failure, &hint));
            }
            tell(&format!("{}{hint}", failure.message))?;
            model = self.questions.model_by_name()?;
        }
    }

    /// Does what needs the service; each time that refuses the key, with another one that the person gives.
    fn with_key<T>(&mut self, attempt: impl Fn(&Self) -> Result<T, Failure>) -> Result<Result<T, Failure>, Fail> {
        loop {
            match attempt(self) {
                Err(failure) if failure.class == ErrorClass::Auth && self.may_ask_key() => {
                    tell(&failure.message)?;
                    let variable = self.variable();
                    let secret = self.questions.key(self.provider, &variable)?;
                    self.new_key = Some(NewKey { variable, secret });
                }
                done => return Ok(done),
            }
        }
    }

    /// A key of the environment would come before any that is stored.
    fn may_ask_key(&self) -> bool {
        let found = self.user.credentials().key(&self.variable());
        let is_set = found.is_some_and(|key| key.from == KeySource::Environment);
        self.questions.can_ask() && self.key_is_open && !is_set
    }

    /// The variable of its key, or the one it gets should it need a key.
    fn variable(&self) -> String {
        let known = self.remote.key.variable().map(str::to_owned);
        known.unwrap_or_else(|| own_variable(self.provider))
    }

    fn service(&self) -> Service {
        let stored = || -> Option<SecretString> {
            let variable = self.remote.key.variable()?;
            Some(self.user.credentials().key(variable)?.secret)
        };
        let new_key = self.new_key.as_ref().map(|key| key.secret.clone());
        let key_env = self.remote.key.variable().map(str::to_owned);
        self.remote.service(self.provider, new_key.or_else(stored), key_env)
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
        let info = setup_port::info(self.config, &self.name(model), self.remote, &self.user.catalogue());
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
    fn near_model(&self, model: &str) -> String {
        let offered = self.user.list_models(&self.service()).unwrap_or_default();
        match nearest(
            bare(self.provider, model),
            offered.iter().map(|model| model.id.as_str()),
        ) {
            Some(near) => format!(" (did you mean `{near}`?)"),
            None => String::new(),
        }
    }

    fn unsaved(&self, failure: &Failure, hint: &str) -> Fail {
        let keyless = failure.class == ErrorClass::Auth && self.remote.key.variable().is_none();
        let way = if keyless {
            "give its key by --key-stdin or --key-env NAME; "
        } else {
            ""
        };
        // What is wrong with the configuration is so unasked too.
        let unchecked = if failure.class == ErrorClass::Config {
            ""
        } else {
            "--no-check saves without asking"
        };
        let ways = format!("{way}{unchecked}");
        let ways = if ways.is_empty() { ways } else { format!("; {ways}") };
        let unsaved = Unsaved {
            class: failure.class,
            message: format!("{}{hint}\nnothing was saved{ways}", failure.message),
        };
        Fail {
            exit: Exit::Failed,
            error: unsaved.into(),
        }
    }
}

/// The service did not answer as it should, so that nothing was saved.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Unsaved {
    pub(super) class: ErrorClass,
    message: String,
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
