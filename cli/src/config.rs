//! Reads `config.toml`. What its keys mean is said by [`Config`]; what they are good for, by those who use it.

use std::io;
use std::path::{Path, PathBuf};

use agent_core::config::Config;

use crate::nearest::nearest;
use crate::{service, wiring};

/// The configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// Its file can't be read.
    #[error("can't read the configuration {path}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of it makes no sense.
    #[error("{path}:{line}: {what}", path = .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A value makes no sense beside the others.
    #[error("{path}: {what}", path = .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Which value, what is wrong with it, and what would be right.
        what: String,
    },
}

/// Reads the configuration; without a file it is the default one.
pub(crate) fn read(path: &Path) -> Result<Config, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path),
        Err(error) if is_absent(error.kind()) => Ok(Config::default()),
        Err(source) => Err(ConfigError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Whether there is no such file, or no such folder for it.
fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads the text of a configuration; the path is for its errors.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
    let at_line = |error: &toml_edit::de::Error, key: &str| ConfigError::Line {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        what: explain(error.message(), key),
    };
    let document = toml_edit::de::Deserializer::parse(text).map_err(|error| at_line(&error, ""))?;
    let config: Config = serde_path_to_error::deserialize(document)
        .map_err(|error| at_line(error.inner(), &error.path().to_string()))?;
    make_sense(&config).map_err(|what| ConfigError::Value {
        path: path.to_owned(),
        what,
    })?;
    Ok(config)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// Turns serde's words about an unknown key into ours. Its form is "unknown field `a`, expected one of `b`, `c`".
fn explain(message: &str, key: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown field") => {
            let table = key.strip_suffix(unknown).unwrap_or(key).trim_end_matches('.');
            let place = match table {
                "" | "?" => String::new(),
                table => format!(" in [{table}]"),
            };
            let known: Vec<&str> = quoted.collect();
            match nearest(unknown, known.iter().copied()) {
                Some(near) => format!("unknown key `{unknown}`{place}: did you mean `{near}`?"),
                None => format!("unknown key `{unknown}`{place}; known are {}", known.join(", ")),
            }
        }
        _ if key.is_empty() || key == "." => message.to_owned(),
        _ => format!("`{key}`: {message}"),
    }
}

/// What the types alone can't say.
fn make_sense(config: &Config) -> Result<(), String> {
    if config.agent.max_steps == 0 {
        return Err("agent.max_steps is 0, so that no turn could do anything; the default is 90".into());
    }
    if config.terminal.timeout_s == 0 {
        return Err("terminal.timeout_s is 0, so that no command could run; the default is 180".into());
    }
    for (name, provider) in &config.providers {
        if provider.ca_file.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(format!("providers.{name}.ca_file must be an absolute path"));
        }
        if provider.stall_s == Some(0) {
            return Err(format!(
                "providers.{name}.stall_s is 0, so that nothing could ever come; the default is 120"
            ));
        }
    }
    for name in &config.agent.disabled_tools {
        known_tool(name)?;
    }
    for rule in &config.approvals.deny {
        if let Some(fault) = wiring::deny_rule_fault(rule) {
            return Err(format!("approvals.deny: the rule `{rule}` {fault}"));
        }
    }
    for name in config.providers.keys() {
        service::resolve(name, config).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn known_tool(name: &str) -> Result<(), String> {
    if wiring::TOOLS.contains(&name) {
        return Ok(());
    }
    let hint = match nearest(name, wiring::TOOLS) {
        Some(near) => format!(": did you mean `{near}`?"),
        None => format!("; there are {}", wiring::TOOLS.join(", ")),
    };
    Err(format!("agent.disabled_tools: there is no tool `{name}`{hint}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::approval::Mode;

    use super::*;

    #[test]
    fn a_missing_file_is_the_default() {
        for path in ["/nowhere/config.toml", "/dev/null/config.toml"] {
            assert_eq!(read(Path::new(path)).unwrap(), Config::default(), "{path}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told() {
        let error = anyhow::Error::new(read(Path::new("/")).unwrap_err());
        assert!(
            format!("{error:#}").starts_with("can't read the configuration /: "),
            "{error:#}"
        );
    }

    #[test]
    fn an_error_names_the_file_the_line_and_the_way_out() {
        let check = |text: &str, expect: &str| {
            let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
            assert!(
                error.contains(expect),
                "{text:?}\n     was: {error}\nexpected: {expect}"
            );
        };
        check(
            "modle = \"a/b\"",
            "/c.toml:1: unknown key `modle`: did you mean `model`?",
        );
        check(
            "\n[agent]\nmode = \"plan\"\nmax_stepz = 3\n",
            "/c.toml:4: unknown key `max_stepz` in [agent]: did you mean `max_steps`?",
        );
        check(
            "[providers.local]\nurl = \"x\"\n",
            "/c.toml:2: unknown key `url` in [providers.local]; known are api, base_url",
        );
        check("colour = 1", "unknown key `colour`; known are model, fallback_models");
        check("model = \"gpt-5\"", "/c.toml:1: `model`: `gpt-5` is not a model's name");
        check("model = 5", "/c.toml:1: `model`: invalid type");
        check("a = = 1", "/c.toml:1: ");
        check(
            "[agent]\nmode = \"yolo\"",
            "/c.toml:2: `agent.mode`: `yolo` is not a mode: choose plan, default, accept_edits or dont_ask",
        );
        check(
            "[agent]\nthought_level = \"max\"",
            "/c.toml:2: `agent.thought_level`: `max` is not a thought level: choose off, low, medium or high",
        );
        check("[agent]\nmax_steps = 0", "/c.toml: agent.max_steps is 0");
        check("[agent]\nmax_steps = -1", "/c.toml:2: `agent.max_steps`: ");
        check(
            "[agent]\ndisabled_tools = [\"todo\", \"terminl\"]",
            "agent.disabled_tools: there is no tool `terminl`: did you mean `terminal`?",
        );
        check(
            "[agent]\ndisabled_tools = [\"shell\"]",
            "there is no tool `shell`; there are read_file, ",
        );
        check(
            "[approvals]\ndeny = [\"rm *\", \"/usr/bin/sudo\"]",
            "approvals.deny: the rule `/usr/bin/sudo` does not begin with a program's name alone",
        );
        check(
            "[providers.openai]\nca_file = \"ca.pem\"",
            "providers.openai.ca_file must be an absolute path",
        );
        check("[providers.openai]\nstall_s = 0", "providers.openai.stall_s is 0");
        check("[terminal]\ntimeout_s = 0", "terminal.timeout_s is 0");
        check(
            "[providers.mine]\napi = \"openai-chat\"",
            "providers.mine needs base_url",
        );
        check(
            "[providers.mine]\nbase_url = \"http://x/v1\"",
            "providers.mine needs api",
        );
        check("[providers.openai]\nbase_url = \"api.x\"", "providers.openai.base_url");
        check("[providers.s]\napi = \"script\"\nbase_url = \"a.json\"", "absolute");
        check(
            "[providers.openai.headers]\n\"X Team\" = \"a\"",
            "providers.openai.headers",
        );
        check("[providers.x]\napi = \"smoke\"", "unknown variant `smoke`");
    }

    #[test]
    fn what_the_product_shows_is_understood() {
        let text = r#"
            model = "local/qwen3"
            [providers.local]
            api = "openai-chat"
            base_url = "http://127.0.0.1:8080/v1"
            api_key_env = "LOCAL_API_KEY"
            headers = { "X-Team" = "a" }
            models = [{ id = "qwen3", context_window = 32768, max_output = 8192, images = false, tools = true }]
            [agent]
            mode = "accept_edits"
            max_steps = 90
            disabled_tools = []
            [approvals]
            timeout_s = 0
            deny = ["sudo *"]
            [terminal]
            timeout_s = 180
        "#;
        let by_its_other_name = parse("[agent]\nmode = \"Don't ask\"", Path::new("/c.toml")).unwrap();
        assert_eq!(by_its_other_name.agent.mode, Mode::DontAsk);
        let config = parse(text, Path::new("/c.toml")).unwrap();
        assert_eq!(config.model.to_string(), "local/qwen3");
        assert_eq!(config.providers["local"].models[0].context_window, Some(32768));
        assert_eq!(config.approvals.deny, ["sudo *"]);
    }
}
