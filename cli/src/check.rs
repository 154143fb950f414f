//! `agent acp --check`: what a session would need, each in a line. It serves nothing, and asks the model one word.

use std::io::Write;

use agent_core::config::Config;
use agent_core::provider::ModelRef;
use agent_core::setup::Setup;

use crate::args::PreferArgs;
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::probe::{self, probe};
use crate::service::{self, Backend, KeyRule};
use crate::setup_port::UserSetup;
use crate::{terminal, wiring};

/// What came of one check: a sentence either way.
type Checked = Result<String, String>;

/// Checks all and says each; the exit code is 1 if anything is missing.
pub(crate) fn check(prefer: PreferArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let setup = UserSetup::new(paths.ok().cloned(), Environment::real());
    let mut lines = vec![("configuration", configuration(&setup, paths))];
    if let Ok(config) = setup.config() {
        let model = prefer.model.unwrap_or_else(|| config.model.clone());
        let credentials = credentials(&setup, &config, &model);
        let may_ask = credentials.is_ok();
        lines.push(("credentials", credentials));
        // Without them the model's line could only tell the same fault again.
        if may_ask {
            lines.push(("model", answers(&setup, &config, &model)));
        }
    }
    lines.push(("store", store(paths)));

    let mut out = terminal::stdout();
    for (name, checked) in &lines {
        match checked {
            Ok(fine) => writeln!(out, "ok      {name:<14} {fine}")?,
            Err(fault) => writeln!(out, "FAILED  {name:<14} {fault}")?,
        }
    }
    let all_fine = lines.iter().all(|(_, checked)| checked.is_ok());
    Ok(if all_fine { Exit::Done } else { Exit::Failed })
}

fn configuration(setup: &UserSetup, paths: Result<&Paths, NoHome>) -> Checked {
    setup.config().map_err(|error| error.to_string())?;
    match paths.map(Paths::config_file) {
        Ok(file) if file.exists() => Ok(file.display().to_string()),
        Ok(file) => Ok(format!("the default one; there is no {}", file.display())),
        Err(no_home) => Ok(format!("the default one; {no_home}")),
    }
}

fn credentials(setup: &UserSetup, config: &Config, model: &ModelRef) -> Checked {
    let credentials = setup.credentials();
    let rule = match service::resolve(&model.provider, config).map_err(|error| error.to_string())? {
        Backend::Remote(remote) => remote.key,
        Backend::Offline | Backend::Script(_) => KeyRule::None,
    };
    let found = match rule {
        KeyRule::None => format!("{} needs none", model.provider),
        KeyRule::Optional(variable) => match credentials.key(&variable) {
            Some(key) => format!("{variable} {}", key.from),
            None => format!("{variable} is not set; a server of this machine may do without"),
        },
        KeyRule::Required(variable) => match credentials.key(&variable) {
            Some(key) => format!("{variable} {}", key.from),
            None => return Err(format!("{variable} is not set: run `agent setup`, or set it")),
        },
    };
    let lines = std::iter::once(found).chain(credentials.warnings.iter().map(|warning| format!("warning: {warning}")));
    Ok(lines.collect::<Vec<_>>().join("; "))
}

/// Whether the model answers. The built-in ones are not asked: nothing of them can be wrong but their name.
fn answers(setup: &UserSetup, config: &Config, model: &ModelRef) -> Checked {
    let backend = service::resolve(&model.provider, config).map_err(|error| error.to_string())?;
    let provider = setup.provider(config, model).map_err(|error| error.to_string())?;
    match backend {
        Backend::Offline => Ok(format!("{model} is built in, and no language model")),
        Backend::Script(path) => Ok(format!("{model} plays {}", path.display())),
        Backend::Remote(_) => match probe(provider.as_ref(), probe::PATIENCE) {
            Ok(answered) => Ok(format!("{model}: {answered}")),
            Err(failure) => Err(format!("{model}: {}", failure.message)),
        },
    }
}

fn store(paths: Result<&Paths, NoHome>) -> Checked {
    let paths = paths.map_err(|no_home| format!("{no_home}; sessions would not be kept"))?;
    let store = wiring::stored(paths).map_err(|error| format!("{error:#}; sessions would not be kept"))?;
    let told = store.warning();
    store.close();
    match told {
        None => Ok(paths.state.display().to_string()),
        Some(warning) => Err(warning),
    }
}
