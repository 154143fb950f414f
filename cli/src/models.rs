//! `agent models`: which models are configured, whether their services answer, and why not.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::thread;

use agent_core::config::Config;
use agent_core::setup::Setup;

use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::known::KNOWN;
use crate::paths::{NoHome, Paths};
use crate::service::{self, Backend, Remote};
use crate::setup_port::UserSetup;
use crate::{terminal, wiring};

/// What is shown of a provider.
#[derive(Debug, PartialEq)]
struct Report {
    provider: String,
    /// How it is: what it offers, or why it offers nothing.
    state: Result<String, String>,
    models: Vec<String>,
}

/// Asks all services that could answer, side by side, and says what each said.
pub(crate) fn models(paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let setup = UserSetup::new(paths.ok().cloned(), Environment::real());
    let config = setup.config()?;
    let names = providers(&setup, &config);
    let reports = thread::scope(|scope| {
        let asked: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(|| report(&setup, &config, name)))
            .collect();
        let reports = asked
            .into_iter()
            .map(|thread| thread.join().expect("a report doesn't panic"));
        reports.collect::<Vec<_>>()
    });
    let mut out = terminal::stdout();
    for report in &reports {
        write_report(&mut out, report, &config)?;
    }
    Ok(Exit::Done)
}

/// The configured providers, that of the default model, and well-known ones whose key is there.
fn providers(setup: &UserSetup, config: &Config) -> BTreeSet<String> {
    let credentials = setup.credentials();
    let with_key = KNOWN
        .iter()
        .filter(|known| {
            known
                .key_env
                .is_some_and(|variable| credentials.key(variable).is_some())
        })
        .map(|known| known.name.to_owned());
    config
        .providers
        .keys()
        .cloned()
        .chain([config.model.provider.clone(), "offline".to_owned()])
        .chain(with_key)
        .collect()
}

fn report(setup: &UserSetup, config: &Config, name: &str) -> Report {
    let of = |state, models| Report {
        provider: name.to_owned(),
        state,
        models,
    };
    match service::resolve(name, config) {
        Err(error) => of(Err(error.to_string()), Vec::new()),
        Ok(Backend::Offline) => of(Ok("built in".to_owned()), vec!["offline".to_owned()]),
        Ok(Backend::Script(path)) if path.is_file() => {
            of(Ok(format!("plays {}", path.display())), configured(config, name))
        }
        Ok(Backend::Script(path)) => of(Err(format!("there is no script {}", path.display())), Vec::new()),
        Ok(Backend::Remote(remote)) => match ask(setup, name, remote) {
            Err(why) => of(Err(why), configured(config, name)),
            Ok((state, found)) => {
                let said = configured(config, name);
                of(Ok(state), if said.is_empty() { found } else { said })
            }
        },
    }
}

/// The models the user has listed.
fn configured(config: &Config, name: &str) -> Vec<String> {
    let entry = config.providers.get(name);
    let models = entry.map(|entry| entry.models.iter().map(|model| model.id.clone()).collect());
    models.unwrap_or_default()
}

/// Asks a service for its models.
fn ask(setup: &UserSetup, name: &str, remote: Remote) -> Result<(String, Vec<String>), String> {
    let service = setup.service(name, remote).map_err(|error| error.to_string())?;
    let handle = setup.http().handle()?;
    let listed = wiring::list_models(&service, &handle).map_err(|error| error.to_string())?;
    let found: Vec<String> = listed.into_iter().map(|model| model.id).collect();
    Ok((format!("{} answers, {} models", service.base_url, found.len()), found))
}

fn write_report(out: &mut dyn Write, report: &Report, config: &Config) -> io::Result<()> {
    match &report.state {
        Ok(fine) => writeln!(out, "{}: {fine}", report.provider)?,
        Err(why) => writeln!(out, "{}: not usable: {why}", report.provider)?,
    }
    let default = (config.model.provider == report.provider).then_some(&config.model.model);
    let unlisted = default.filter(|default| !report.models.contains(default));
    for model in unlisted.into_iter().chain(&report.models) {
        let mark = if default == Some(model) { "  (default)" } else { "" };
        writeln!(out, "  {}/{model}{mark}", report.provider)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn check(state: Result<&str, &str>, models: &[&str], expect: &str) {
        let config = Config {
            model: "local/a".parse().unwrap(),
            ..Config::default()
        };
        let report = Report {
            provider: "local".into(),
            state: state.map(str::to_owned).map_err(str::to_owned),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        };
        let mut out = Vec::new();
        write_report(&mut out, &report, &config).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn the_default_is_marked_and_never_missing() {
        check(
            Ok("answers"),
            &["b", "a"],
            "local: answers\n  local/b\n  local/a  (default)\n",
        );
        check(
            Ok("answers"),
            &["b"],
            "local: answers\n  local/a  (default)\n  local/b\n",
        );
        check(
            Err("refused"),
            &[],
            "local: not usable: refused\n  local/a  (default)\n",
        );
    }

    #[test]
    fn only_what_could_answer_is_asked() {
        let setup = UserSetup::new(None, Environment::of(&[("GROQ_API_KEY", "k")]));
        let config = Config {
            model: "mistral/m".parse().unwrap(),
            ..Config::default()
        };
        let names: Vec<String> = providers(&setup, &config).into_iter().collect();
        assert_eq!(names, ["groq", "mistral", "offline"]);
    }
}
