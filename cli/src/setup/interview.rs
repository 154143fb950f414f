//! Finds out what is to be saved: from the flags, else from the configuration and the keys there are, else from the
//! person. Saves nothing.

use std::io::BufRead;

use agent_core::config::{Api, Config, ProviderConfig};
use secrecy::SecretString;

use super::questions::Questions;
use super::{Answers, NewKey, tell};
use crate::args::SetupArgs;
use crate::credentials::{KeySource, is_variable};
use crate::exit::{Exit, Fail};
use crate::known::known;
use crate::service::{self, Backend, KeyRule, Remote};
use crate::setup_port::UserSetup;
use crate::wiring::{self, Service};

/// Whatever an answer can come from.
pub(super) struct Interview<'a> {
    pub(super) args: &'a SetupArgs,
    pub(super) user: &'a UserSetup,
    pub(super) config: &'a Config,
    pub(super) questions: &'a Questions,
}

impl Interview<'_> {
    /// All answers; the service has been asked too, unless the flags forbid it.
    pub(super) fn answers(&self) -> Result<Answers, Fail> {
        let provider = match &self.args.provider {
            Some(name) => name.clone(),
            None => self.questions.provider()?,
        };
        check_name(&provider)?;
        let entry = self.entry(&provider)?;
        let (key, model) = match self.resolve(&provider, &entry)? {
            Backend::Offline => (None, "offline".to_owned()),
            Backend::Script(_) => (None, self.args.model.clone().unwrap_or_else(|| "script".to_owned())),
            Backend::OpenAiChat(remote) => self.service(&provider, remote)?,
        };
        Ok(Answers {
            model: bare(&provider, &model).to_owned(),
            provider,
            entry,
            key,
        })
    }

    /// The provider's entry as the flags and answers complete it.
    fn entry(&self, provider: &str) -> Result<ProviderConfig, Fail> {
        let mut entry = self.config.providers.get(provider).cloned().unwrap_or_default();
        entry.api = self.args.api.map(Api::from).or(entry.api);
        entry.base_url = self.args.base_url.clone().or(entry.base_url);
        entry.api_key_env = self.args.key_env.clone().or(entry.api_key_env);
        if let Some(variable) = self.args.key_env.as_ref().filter(|name| !is_variable(name)) {
            return Err(Fail::usage(format!("--key-env `{variable}` is no name of a variable")));
        }
        let is_own = known(provider).is_none() && provider != "offline";
        if is_own {
            let api = *entry.api.get_or_insert(Api::OpenaiChat);
            if entry.base_url.is_none() && api != Api::Offline {
                entry.base_url = Some(self.questions.base_url(provider)?);
            }
        }
        if let Backend::OpenAiChat(remote) = self.resolve(provider, &entry)? {
            let may_have_key = self.args.key_stdin || (is_own && !remote.is_here);
            if remote.key == KeyRule::None && may_have_key {
                entry.api_key_env = Some(own_variable(provider));
            }
        }
        Ok(entry)
    }

    /// What the entry will stand for once it is saved.
    fn resolve(&self, provider: &str, entry: &ProviderConfig) -> Result<Backend, Fail> {
        let mut draft = self.config.clone();
        draft.providers.insert(provider.to_owned(), entry.clone());
        service::resolve(provider, &draft).map_err(Fail::usage)
    }

    /// The key and the model of a service, after it has answered.
    fn service(&self, provider: &str, remote: Remote) -> Result<(Option<NewKey>, String), Fail> {
        let new_key = self.key(provider, &remote.key)?;
        let variable = remote.key.variable().map(str::to_owned);
        let there = |variable: &String| Some(self.user.credentials().key(variable)?.secret);
        let service = Service {
            key: match &new_key {
                Some(key) => Some(key.secret.clone()),
                None => variable.as_ref().and_then(there),
            },
            key_env: variable,
            headers: remote.headers,
            ..Service::new(provider, remote.base_url)
        };
        let offered = if self.args.no_check {
            Vec::new()
        } else {
            self.ask(&service)?
        };
        let model = match &self.args.model {
            Some(model) => model.clone(),
            None => {
                let now = &self.config.model;
                let current = (now.provider == provider).then_some(now.model.as_str());
                self.questions.model(&offered, current)?
            }
        };
        let bare = bare(provider, &model);
        if !offered.is_empty() && !offered.iter().any(|offered| offered == bare) {
            tell(&format!("warning: {provider} does not list a model `{bare}`"))?;
        }
        Ok((new_key, model))
    }

    /// The key that is to be stored, if one is.
    fn key(&self, provider: &str, rule: &KeyRule) -> Result<Option<NewKey>, Fail> {
        let (variable, required) = match rule {
            KeyRule::None => return Ok(None),
            KeyRule::Optional(variable) => (variable, false),
            KeyRule::Required(variable) => (variable, true),
        };
        if self.args.key_stdin {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line)?;
            return new_key(variable, &line).map(Some);
        }
        if let Some(key) = self.user.credentials().key(variable)
            && (key.from == KeySource::Environment || self.questions.keep_key(variable)?)
        {
            tell(&format!("using {variable} {}", key.from))?;
            return Ok(None);
        }
        if !required || (self.args.key_env.is_some() && self.args.no_check) {
            return Ok(None);
        }
        if self.args.key_env.is_some() {
            return Err(Fail::new(
                Exit::Failed,
                format!("{variable} is not set, so that {provider} can't be asked: set it, or give --no-check"),
            ));
        }
        new_key(variable, &self.questions.key(provider, variable)?).map(Some)
    }

    /// Asks a service for its models, which shows that it is there and takes the key.
    fn ask(&self, service: &Service) -> Result<Vec<String>, Fail> {
        tell(&format!("asking {} …", service.base_url))?;
        let handle = self
            .user
            .http()
            .handle()
            .map_err(|error| Fail::new(Exit::Failed, error))?;
        wiring::list_models(service, &handle).map_err(|error| {
            let message = format!("{error}\nnothing was saved; --no-check saves without asking");
            Fail::new(Exit::Failed, message)
        })
    }
}

/// The service's name for a model that may have been given with its provider.
fn bare<'a>(provider: &str, model: &'a str) -> &'a str {
    model
        .strip_prefix(provider)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(model)
}

/// A name is the first part of a model's name and a key of the configuration.
fn check_name(name: &str) -> Result<(), Fail> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(Fail::usage(format!(
            "--provider `{name}`: a name has only letters, digits, `-` and `_`"
        )));
    }
    Ok(())
}

/// The variable that holds the key of a provider nobody knows.
fn own_variable(provider: &str) -> String {
    let name = provider.to_ascii_uppercase().replace('-', "_");
    let prefix = if name.starts_with(|c: char| c.is_ascii_digit()) {
        "_"
    } else {
        ""
    };
    format!("{prefix}{name}_API_KEY")
}

fn new_key(variable: &str, secret: &str) -> Result<NewKey, Fail> {
    Ok(NewKey {
        variable: variable.to_owned(),
        secret: checked_key(secret)?,
    })
}

/// A key as it can be sent in a header. The message never shows it.
pub(super) fn checked_key(key: &str) -> Result<SecretString, Fail> {
    let key = key.trim();
    if key.is_empty() {
        return Err(Fail::usage("the key is empty"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Fail::usage(
            "the key holds a space or another character that no key has",
        ));
    }
    Ok(key.to_owned().into())
}
