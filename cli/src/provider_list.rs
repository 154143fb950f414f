//! `agent providers`: who could answer, with which key, and whether it does, a line each.

use std::io::{self, Write};

use agent_core::config::Config;
use agent_core::setup::Setup;
use agent_core::visible;
use serde::Serialize;

use crate::args::ProvidersArgs;
use crate::credentials::{Environment, KeySource};
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;
use crate::survey::{self, KeyFound, Surveyed};
use crate::{local, terminal};

/// Asks all of them and lists them; the exit code is 1 if the default model's provider can't be used.
pub(crate) fn providers(args: &ProvidersArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let setup = UserSetup::new(paths.ok().cloned(), Environment::real());
    let config = setup.config()?;
    let surveyed = survey::all(&setup, &config, &local::usual_places());
    if args.json {
        write_json(&mut io::stdout().lock(), &surveyed, &config)?;
    } else {
        write_table(&mut terminal::stdout(), &surveyed, &config)?;
    }
    Ok(survey::exit(&surveyed, &config))
}

/// A provider as programs see it. The names are a contract.
#[derive(Serialize)]
struct ProviderJson<'a> {
    name: &'a str,
    api: Option<&'a str>,
    host: Option<String>,
    /// The variable that holds the key.
    key_env: Option<&'a str>,
    /// `environment` or `file`; null where there is no key.
    key_from: Option<&'static str>,
    usable: bool,
    /// What it offers, or why it can't be used.
    state: &'a str,
    models: usize,
    default: bool,
}

impl<'a> ProviderJson<'a> {
    fn of(one: &'a Surveyed, config: &Config) -> Self {
        let (key_env, key_from) = match &one.key {
            KeyFound::None => (None, None),
            KeyFound::Missing(variable) => (Some(variable.as_str()), None),
            KeyFound::In(variable, KeySource::Environment) => (Some(variable.as_str()), Some("environment")),
            KeyFound::In(variable, KeySource::File) => (Some(variable.as_str()), Some("file")),
        };
        Self {
            name: &one.name,
            api: one.api,
            host: one.host(),
            key_env,
            key_from,
            usable: one.state.is_ok(),
            state: match &one.state {
                Ok(state) | Err(state) => state,
            },
            models: one.models.len(),
            default: one.name == config.model.provider,
        }
    }
}

fn write_json(out: &mut dyn Write, surveyed: &[Surveyed], config: &Config) -> Result<(), Fail> {
    let array: Vec<ProviderJson<'_>> = surveyed.iter().map(|one| ProviderJson::of(one, config)).collect();
    let mut text = serde_json::to_vec(&array)?;
    text.push(b'\n');
    Ok(out.write_all(&text)?)
}

fn write_table(out: &mut dyn Write, surveyed: &[Surveyed], config: &Config) -> io::Result<()> {
    let head = ["PROVIDER", "API", "HOST", "KEY"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(surveyed.iter().map(row)).collect();
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let states = surveyed.iter().map(|one| state(one, config));
    for (row, state) in rows.iter().zip(std::iter::once("STATE".to_owned()).chain(states)) {
        for (cell, width) in row.iter().zip(widths) {
            write!(out, "{cell:<width$}  ")?;
        }
        writeln!(out, "{state}")?;
    }
    Ok(())
}

/// All of a provider but its state.
fn row(one: &Surveyed) -> [String; 4] {
    let none = || "-".to_owned();
    let key = match &one.key {
        KeyFound::None => none(),
        KeyFound::In(variable, from) => format!("{variable} {from}"),
        KeyFound::Missing(variable) => format!("{variable} is not set"),
    };
    let api = one.api.map_or_else(none, str::to_owned);
    [one.name.clone(), api, one.host().unwrap_or_else(none), key].map(|cell| visible::line(&cell))
}

fn state(one: &Surveyed, config: &Config) -> String {
    let default = if one.name == config.model.provider {
        "default; "
    } else {
        ""
    };
    visible::line(&match &one.state {
        Ok(state) => format!("{default}{state}"),
        Err(why) => format!("{default}not usable: {why}"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn surveyed() -> [Surveyed; 2] {
        let one = |name: &str, base_url: &str, key, state: Result<&str, &str>| Surveyed {
            name: name.into(),
            api: Some("openai-chat"),
            base_url: Some(base_url.into()),
            key,
            state: state.map(str::to_owned).map_err(str::to_owned),
            models: vec!["m".into()],
        };
        [
            one("ollama", "http://127.0.0.1:11434/v1", KeyFound::None, Ok("answers")),
            one(
                "groq",
                "https://api.groq.com/openai/v1",
                KeyFound::In("GROQ_API_KEY".into(), KeySource::File),
                Err("refused"),
            ),
        ]
    }

    fn config() -> Config {
        Config {
            model: "groq/a".parse().unwrap(),
            ..Config::default()
        }
    }

    #[test]
    fn a_row_says_where_it_is_and_where_its_key_comes_from() {
        let mut out = Vec::new();
        write_table(&mut out, &surveyed(), &config()).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
PROVIDER  API          HOST             KEY                     STATE
ollama    openai-chat  127.0.0.1:11434  -                       answers
groq      openai-chat  api.groq.com     GROQ_API_KEY from .env  default; not usable: refused
"
        );
    }

    #[test]
    fn the_json_of_a_provider_has_the_promised_names() {
        let mut out = Vec::new();
        assert!(write_json(&mut out, &surveyed()[1..], &config()).is_ok());
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"[{"name":"groq","api":"openai-chat","host":"api.groq.com","key_env":"GROQ_API_KEY","#,
                r#""key_from":"file","usable":false,"state":"refused","models":1,"default":true}]"#,
                "\n"
            )
        );
    }
}
