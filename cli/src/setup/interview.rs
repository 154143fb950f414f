//! Finds out what is to be saved: from the flags, else from the configuration and the keys there are, else from the
//! person. Saves nothing.

use std::path::Path;

use agent_core::config::{Api, Config, ProviderConfig};
use agent_core::provider::ModelRef;
use secrecy::SecretString;

use super::access::{Access, Stop};
use super::answer::{bare, checked_name, near_name, own_variable, variable_fault};
use super::piped;
use super::questions::Questions;
use super::{Answers, KeyChoice, NewKey, offer, tell};
use crate::args::SetupArgs;
use crate::credentials::KeySource;
use crate::exit::{Exit, Fail};
use crate::known::known;
use crate::service::{self, Backend, KeyRule, Remote};
use crate::setup_port::UserSetup;
use crate::wiring;

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
            None => self
                .questions
                .provider(self.config, || offer::all(self.user, self.config))?,
        };
        checked_name(&provider).map_err(|why| Fail::usage(format!("--provider {why}")))?;
        self.check_known(&provider)?;
        let mut entry = self.entry(&provider)?;
        let (key, model) = match self.resolve(&provider, &entry)? {
            Backend::Offline => (KeyChoice::Stays, "offline".to_owned()),
            Backend::Script(path) => {
                let model = self.args.model.clone().unwrap_or_else(|| "script".to_owned());
                self.check_script(&path, &provider, &model)?;
                (KeyChoice::Stays, model)
            }
            Backend::Remote(remote) => self.service(&provider, remote, &mut entry)?,
        };
        Ok(Answers {
            model: bare(&provider, &model).to_owned(),
            provider,
            entry,
            key,
        })
    }

    /// A script that can't be played is not saved, unless it is not to be looked at.
    fn check_script(&self, path: &Path, provider: &str, model: &str) -> Result<(), Fail> {
        if self.args.no_check {
            return Ok(());
        }
        let name = ModelRef {
            provider: provider.to_owned(),
            model: bare(provider, model).to_owned(),
        };
        let played = wiring::script(path, name).map(drop);
        played.map_err(|why| Fail::new(Exit::Failed, format!("{why}; nothing was saved")))
    }

    /// An address at which nobody answered may be replaced: it was not given by a flag.
    fn may_ask_address(&self) -> bool {
        self.questions.can_ask() && self.args.base_url.is_none()
    }

    /// The person's address of a provider; `current` if that is to be tried again.
    fn address(&self, provider: &str, entry: &ProviderConfig, current: Option<&str>) -> Result<String, Fail> {
        let check = |url: &str| self.resolve_at(provider, entry, url).map(drop);
        self.questions.base_url(provider, current, &check)
    }

    /// What the entry would stand for with this address.
    fn resolve_at(&self, provider: &str, entry: &ProviderConfig, url: &str) -> Result<Backend, Fail> {
        let draft = ProviderConfig {
            base_url: Some(url.to_owned()),
            ..entry.clone()
        };
        self.resolve(provider, &draft)
    }

    /// A new name that is like one there is, and comes without an address, is a slip.
    fn check_known(&self, provider: &str) -> Result<(), Fail> {
        if self.args.provider.is_none() || self.args.base_url.is_some() {
            return Ok(());
        }
        match near_name(provider, self.config) {
            None => Ok(()),
            Some(near) => Err(Fail::usage(format!(
                "there is no provider `{provider}`: did you mean `{near}`? One of your own needs --base-url URL"
            ))),
        }
    }

    /// The provider's entry as the flags and answers complete it.
    fn entry(&self, provider: &str) -> Result<ProviderConfig, Fail> {
        let mut entry = self.config.providers.get(provider).cloned().unwrap_or_default();
        entry.api = self.args.api.map(Api::from).or(entry.api);
        entry.base_url = self.args.base_url.clone().or(entry.base_url);
        entry.api_key_env = self.args.key_env.clone().or(entry.api_key_env);
        if let Some(fault) = self.args.key_env.as_deref().and_then(variable_fault) {
            return Err(Fail::usage(format!("--key-env {fault}")));
        }
        let is_own = known(provider).is_none() && provider != "offline";
        if is_own {
            let api = *entry.api.get_or_insert(Api::OpenaiChat);
            if entry.base_url.is_none() && api != Api::Offline {
                entry.base_url = Some(self.address(provider, &entry, None)?);
            }
        }
        if let Backend::Remote(remote) = self.resolve(provider, &entry)? {
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
        let backend = service::resolve(provider, &draft).map_err(Fail::usage)?;
        match &backend {
            Backend::Remote(remote) if !remote.is_safe() => Err(Fail::usage(format!(
                "{} is on another machine, where a key and all that is said could be read on the way: use https, plain \
                 http is for this machine only",
                remote.base_url
            ))),
            Backend::Remote(_) | Backend::Offline | Backend::Script(_) => Ok(backend),
        }
    }

    /// The key and the model of a service, after that has answered. The address where it did, and the variable of a key
    /// that it turned out to need, are in the entry then.
    fn service(&self, provider: &str, remote: Remote, entry: &mut ProviderConfig) -> Result<(KeyChoice, String), Fail> {
        let mut key = self.key(provider, &remote)?;
        let mut remote = remote;
        loop {
            let at_first = entry.clone();
            let mut access = Access {
                user: self.user,
                config: self.config,
                questions: self.questions,
                provider,
                remote: remote.clone(),
                key,
                key_is_open: !self.args.key_stdin && self.args.key_env.is_none(),
                check_address: &|url| self.resolve_at(provider, &at_first, url).map(drop),
            };
            let url = match self.ask(&mut access) {
                Ok(model) => {
                    if access.remote.base_url != remote.base_url {
                        entry.base_url = Some(access.remote.base_url);
                    }
                    if let (KeyChoice::New(key), None) = (&access.key, remote.key.variable()) {
                        entry.api_key_env = Some(key.variable.clone());
                    }
                    return Ok((access.key, model));
                }
                Err(Stop::Failed(fail)) => return Err(fail),
                Err(Stop::Unreachable(fail)) if !self.may_ask_address() => return Err(fail),
                Err(Stop::Unreachable(fail)) => {
                    // The rest is for whoever is not asked again.
                    let said = fail.error.to_string();
                    tell(said.lines().next().unwrap_or_default())?;
                    self.address(provider, entry, Some(&remote.base_url))?
                }
                Err(Stop::Elsewhere(url)) => url,
            };
            let given = access.key;
            let Backend::Remote(next) = self.resolve_at(provider, entry, &url)? else {
                return Err(Fail::usage(format!("{url} is no address of a service")));
            };
            if url != remote.base_url {
                entry.base_url = Some(url);
            }
            // A key that was typed for one host is for no other.
            key = if next.is_at(&remote) {
                given
            } else {
                self.key(provider, &next)?
            };
            remote = next;
        }
    }

    /// The model, after the service has answered.
    fn ask(&self, access: &mut Access<'_>) -> Result<String, Stop> {
        let provider = access.provider;
        if self.args.no_check {
            let model = self.model(provider, &[])?;
            access.usable(&model)?;
            return Ok(model);
        }
        let offered = match self.args.model {
            Some(_) => Vec::new(),
            None => access.offered()?,
        };
        let model = access.answering(self.model(provider, &offered)?)?;
        if offered.is_empty() {
            access.learn();
        }
        Ok(model)
    }

    fn model(&self, provider: &str, offered: &[String]) -> Result<String, Fail> {
        let now = &self.config.model;
        let current = (now.provider == provider).then_some(now.model.as_str());
        match &self.args.model {
            Some(model) => Ok(model.clone()),
            None => self.questions.model(offered, current),
        }
    }

    /// Where the provider was so far, if it moves to another host with the same variable for its key.
    fn left(&self, provider: &str, remote: &Remote) -> Option<String> {
        let Ok(Backend::Remote(before)) = service::resolve(provider, self.config) else {
            return None;
        };
        let moves = before.key.variable() == remote.key.variable() && !before.is_at(remote);
        (moves && self.args.key_env.is_none()).then_some(before.base_url)
    }

    /// What becomes of the key.
    fn key(&self, provider: &str, remote: &Remote) -> Result<KeyChoice, Fail> {
        let (variable, required) = match &remote.key {
            KeyRule::None => return Ok(KeyChoice::Stays),
            KeyRule::Optional(variable) => (variable, false),
            KeyRule::Required(variable) => (variable, true),
        };
        if self.args.key_stdin {
            return Ok(new_key(variable, piped::key()?));
        }
        if let Some(key) = self.user.credentials().key(variable) {
            let keeps = match self.left(provider, remote) {
                Some(before) => self.questions.send_key(variable, &before, &remote.base_url)?,
                None => key.from == KeySource::Environment || self.questions.keep_key(variable)?,
            };
            if keeps {
                tell(&format!("using {} {}", key.variable, key.from))?;
                return Ok(KeyChoice::Stays);
            }
            // What the environment says comes before what is stored.
            if key.from == KeySource::Environment {
                return Err(Fail::usage(format!(
                    "{} is set in the environment: give another variable for {} by --key-env NAME",
                    key.variable, remote.base_url
                )));
            }
            if !required {
                let secret = self.questions.key_if_any(provider)?;
                return Ok(match secret {
                    Some(secret) => new_key(variable, secret),
                    None => KeyChoice::Goes(key.variable),
                });
            }
        }
        if !required || (self.args.key_env.is_some() && self.args.no_check) {
            return Ok(KeyChoice::Stays);
        }
        if self.args.key_env.is_some() {
            return Err(Fail::new(
                Exit::Failed,
                format!("{variable} is not set, so that {provider} can't be asked: set it, or give --no-check"),
            ));
        }
        Ok(new_key(variable, self.questions.key(provider, variable)?))
    }
}

fn new_key(variable: &str, secret: SecretString) -> KeyChoice {
    KeyChoice::New(NewKey {
        variable: variable.to_owned(),
        secret,
    })
}
