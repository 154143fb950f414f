//! `agent setup`: chooses a provider and a model, and stores the key. Each question has a flag, so that it also runs
//! without a terminal; nothing is saved until all is answered and the service has answered too.

mod questions;
mod save;

use std::io::{BufRead, Write};

use agent_core::config::{Api, Config, ProviderConfig};
use agent_core::provider::ModelRef;
use agent_core::setup::Setup;
use secrecy::SecretString;

use crate::args::SetupArgs;
use crate::credentials::{Credentials, Environment, KeySource, is_variable};
use crate::exit::{Exit, Fail};
use crate::known::known;
use crate::paths::{NoHome, Paths};
use crate::service::{self, Backend, KeyRule, Remote};
use crate::setup_port::UserSetup;
use crate::wiring::{self, Service};
use questions::Questions;

/// A key that is to be stored.
struct NewKey {
    variable: String,
    secret: SecretString,
}

/// What is to be saved.
struct Answers {
    provider: String,
    entry: ProviderConfig,
    key: Option<NewKey>,
    model: String,
}

/// Asks what the flags leave open, checks, saves.
pub(crate) fn setup(args: SetupArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let paths = paths?;
    let user = UserSetup::new(Some(paths.clone()), Environment::real());
    let config = user.config()?;
    let answers = answer(&args, &user, &config, &Questions::at_terminal())?;
    save_all(paths, &answers)?;
    Ok(Exit::Done)
}

fn answer(args: &SetupArgs, user: &UserSetup, config: &Config, questions: &Questions) -> Result<Answers, Fail> {
    let provider = match &args.provider {
        Some(name) => name.clone(),
        None => questions.provider()?,
    };
    check_name(&provider)?;
    let mut entry = entry(args, config, &provider, questions)?;
    let (key, model) = match resolve(config, &provider, &entry)? {
        Backend::Offline => (None, "offline".to_owned()),
        Backend::Script(_) => (None, args.model.clone().unwrap_or_else(|| "script".to_owned())),
        Backend::OpenAiChat(remote) => {
            if remote.key == KeyRule::None && args.key_stdin {
                entry.api_key_env = Some(own_variable(&provider));
            }
            let Backend::OpenAiChat(remote) = resolve(config, &provider, &entry)? else {
                return Err(Fail::new(
                    Exit::Failed,
                    "a fault of ours: the provider changed its dialect",
                ));
            };
            of_service(args, user, config, &provider, remote, questions)?
        }
    };
    let model = model.strip_prefix(&format!("{provider}/")).unwrap_or(&model).to_owned();
    Ok(Answers {
        provider,
        entry,
        key,
        model,
    })
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

/// The provider's entry as the flags and answers complete it.
fn entry(args: &SetupArgs, config: &Config, provider: &str, questions: &Questions) -> Result<ProviderConfig, Fail> {
    let mut entry = config.providers.get(provider).cloned().unwrap_or_default();
    entry.api = args.api.map(Api::from).or(entry.api);
    entry.base_url = args.base_url.clone().or(entry.base_url);
    if let Some(variable) = &args.key_env {
        if !is_variable(variable) {
            return Err(Fail::usage(format!("--key-env `{variable}` is no name of a variable")));
        }
        entry.api_key_env = Some(variable.clone());
    }
    let is_own = known(provider).is_none() && provider != "offline";
    if is_own && entry.api.is_none() {
        entry.api = Some(Api::OpenaiChat);
    }
    let has_url = entry.base_url.is_some() || entry.api == Some(Api::Offline);
    if is_own && !has_url {
        entry.base_url = Some(questions.base_url(provider)?);
    }
    let is_remote = |entry: &ProviderConfig| matches!(resolve(config, provider, entry), Ok(Backend::OpenAiChat(remote)) if !remote.is_here);
    if is_own && entry.api_key_env.is_none() && is_remote(&entry) {
        entry.api_key_env = Some(own_variable(provider));
    }
    Ok(entry)
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

/// What the entry will stand for once it is saved.
fn resolve(config: &Config, provider: &str, entry: &ProviderConfig) -> Result<Backend, Fail> {
    let mut draft = config.clone();
    draft.providers.insert(provider.to_owned(), entry.clone());
    service::resolve(provider, &draft).map_err(Fail::usage)
}

/// The key and the model of a service, after it has answered.
fn of_service(
    args: &SetupArgs,
    user: &UserSetup,
    config: &Config,
    provider: &str,
    remote: Remote,
    questions: &Questions,
) -> Result<(Option<NewKey>, String), Fail> {
    let credentials = user.credentials();
    let key = new_key(args, &credentials, provider, &remote.key, questions)?;
    let secret = match (&key, &remote.key) {
        (Some(key), _) => Some(key.secret.clone()),
        (None, KeyRule::None) => None,
        (None, KeyRule::Optional(variable) | KeyRule::Required(variable)) => {
            credentials.key(variable).map(|key| key.secret)
        }
    };
    let service = Service {
        key: secret,
        key_env: remote.key.variable().map(str::to_owned),
        headers: remote.headers,
        ..Service::new(provider, remote.base_url)
    };
    let offered = if args.no_check {
        Vec::new()
    } else {
        ask(user, &service)?
    };
    let model = match &args.model {
        Some(model) => model.clone(),
        None => {
            let current = (config.model.provider == provider).then_some(config.model.model.as_str());
            questions.model(&offered, current)?
        }
    };
    let bare = model.strip_prefix(&format!("{provider}/")).unwrap_or(&model);
    if !offered.is_empty() && !offered.iter().any(|offered| offered == bare) {
        tell(&format!("warning: {provider} does not list a model `{bare}`"))?;
    }
    Ok((key, model))
}

/// The key that is to be stored, if one is.
fn new_key(
    args: &SetupArgs,
    credentials: &Credentials,
    provider: &str,
    rule: &KeyRule,
    questions: &Questions,
) -> Result<Option<NewKey>, Fail> {
    let (variable, required) = match rule {
        KeyRule::None => return Ok(None),
        KeyRule::Optional(variable) => (variable, false),
        KeyRule::Required(variable) => (variable, true),
    };
    let new = |secret: String| -> Result<Option<NewKey>, Fail> {
        Ok(Some(NewKey {
            variable: variable.clone(),
            secret: checked_key(&secret)?,
        }))
    };
    if args.key_stdin {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        return new(line);
    }
    match credentials.key(variable) {
        Some(key) if key.from == KeySource::Environment || questions.keep_key(variable)? => {
            tell(&format!("using {variable} {}", key.from))?;
            Ok(None)
        }
        None if args.key_env.is_some() && !args.no_check && required => Err(Fail::new(
            Exit::Failed,
            format!("{variable} is not set, so that {provider} can't be checked: set it, or give --no-check"),
        )),
        None if !required || args.key_env.is_some() => Ok(None),
        Some(_) | None => new(questions.key(provider, variable)?),
    }
}

/// A key as it can be sent in a header. The message never shows it.
fn checked_key(key: &str) -> Result<SecretString, Fail> {
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

/// Asks a service for its models, which shows that it is there and takes the key.
fn ask(user: &UserSetup, service: &Service) -> Result<Vec<String>, Fail> {
    tell(&format!("asking {} …", service.base_url))?;
    let handle = user.http().handle().map_err(|error| Fail::new(Exit::Failed, error))?;
    wiring::list_models(service, &handle).map_err(|error| {
        Fail::new(
            Exit::Failed,
            format!("{error}\nnothing was saved; --no-check saves without asking"),
        )
    })
}

fn save_all(paths: &Paths, answers: &Answers) -> Result<(), Fail> {
    let model = ModelRef {
        provider: answers.provider.clone(),
        model: answers.model.clone(),
    };
    // Worked out first, so that a fault leaves both files as they were.
    let config = save::config_text(&paths.config_file(), &answers.entry, &model)?;
    if let Some(key) = &answers.key {
        save::key(&paths.env_file(), &key.variable, &key.secret)?;
        tell(&format!("stored {} in {}", key.variable, paths.env_file().display()))?;
    }
    crate::paths::write_private(&paths.config_file(), &config)?;
    tell(&format!("model {model} is set in {}", paths.config_file().display()))?;
    tell("try it: agent run \"hello\"")
}

/// Says something to the person; stdout is left to programs.
fn tell(line: &str) -> Result<(), Fail> {
    Ok(writeln!(anstream::stderr(), "{line}")?)
}

#[cfg(test)]
mod tests;
