//! Reads `config.toml`. What its keys mean is said by [`Config`]; what they are good for, by those who use it.

use std::io;
use std::path::{Path, PathBuf};

use agent_core::config::{Config, McpServerConfig, ModelConfig};
use url::Url;

use crate::credentials::variable_fault;
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

/// Where a key of a service belongs.
const OF_KEYS: &str = "keys don't stand in this file: `agent setup` stores one in .env beside it, and api_key_env names the \
                       variable that holds it";

/// Turns serde's words into ours; `key` is where it stood. Words that are none of those below stay.
fn explain(message: &str, key: &str) -> String {
    if let Some(fields) = message.strip_prefix("unknown field ") {
        return unknown_key(fields, key);
    }
    let what = variant(message).or_else(|| shape(message)).or_else(|| missing(message));
    let what = what.unwrap_or_else(|| message.to_owned());
    match key {
        "" | "." => what,
        key => format!("`{key}`: {what}"),
    }
}

/// "`a`, expected one of `b`, `c`".
fn unknown_key(fields: &str, key: &str) -> String {
    let mut quoted = quoted(fields);
    let unknown = quoted.next().unwrap_or_default();
    let table = key.strip_suffix(unknown).unwrap_or(key).trim_end_matches('.');
    let place = match table {
        "" | "?" => String::new(),
        table => format!(" in [{table}]"),
    };
    if ["api_key", "apikey", "api-key", "key", "token", "secret"].contains(&unknown.to_lowercase().as_str()) {
        return format!("unknown key `{unknown}`{place}: {OF_KEYS}");
    }
    let known: Vec<&str> = quoted.collect();
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("unknown key `{unknown}`{place}: did you mean `{near}`?"),
        None => format!("unknown key `{unknown}`{place}; known are {}", known.join(", ")),
    }
}

/// "unknown variant `a`, expected one of `b`, `c`".
fn variant(message: &str) -> Option<String> {
    let mut quoted = quoted(message.strip_prefix("unknown variant ")?);
    let wrong = quoted.next()?;
    Some(format!(
        "`{wrong}` is none of {}",
        quoted.collect::<Vec<_>>().join(", ")
    ))
}

/// "invalid type: integer `5`, expected a string".
fn shape(message: &str) -> Option<String> {
    let said = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = said.split_once(", expected ")?;
    let found = match found.split_once(' ') {
        Some(("integer", number)) => format!("the number {number}"),
        Some(("boolean", value)) => value.to_owned(),
        // It is not shown, as it may be a key.
        Some(("string", _)) => "a text".to_owned(),
        Some(("floating", number)) => number.replacen("point", "the number", 1),
        Some(_) | None => match found {
            "map" => "a table".to_owned(),
            "sequence" => "a list".to_owned(),
            other => other.to_owned(),
        },
    };
    let expected = match expected {
        "a string" => "a text in quotes",
        "u64" | "u32" => "a whole number from 0 up",
        "f64" => "a number",
        "a sequence" => "a list in brackets",
        "a boolean" => "true or false",
        "struct ModelConfig" => "a table, such as { id = \"qwen3\" }",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    Some(format!("is {found}, and should be {expected}"))
}

/// "missing field `a`".
fn missing(message: &str) -> Option<String> {
    let field = quoted(message.strip_prefix("missing field ")?).next()?;
    Some(format!("`{field}` is missing"))
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What the types alone can't say.
fn make_sense(config: &Config) -> Result<(), String> {
    if config.agent.max_steps == 0 {
        return Err("agent.max_steps is 0, so that no turn could do anything; the default is 90".into());
    }
    if config.terminal.timeout_s == 0 {
        return Err("terminal.timeout_s is 0, so that no command could run; the default is 180".into());
    }
    let most = config.budget.max_cost_usd;
    if !is_amount(most) {
        return Err(format!(
            "budget.max_cost_usd is {most}, and should be an amount of US dollars; 0 is as much as it takes"
        ));
    }
    for (name, provider) in &config.providers {
        if let Some(fault) = provider.api_key_env.as_deref().and_then(variable_fault) {
            return Err(format!("providers.{name}.api_key_env {fault}; {OF_KEYS}"));
        }
        models_make_sense(&provider.models).map_err(|what| format!("providers.{name}.models: {what}"))?;
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
    for (name, server) in &config.mcp_servers {
        server_makes_sense(server).map_err(|fault| format!("mcp_servers.{name}{fault}"))?;
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

fn models_make_sense(models: &[ModelConfig]) -> Result<(), String> {
    /// With less there is no room for the tools and a word beside them.
    const LEAST: u64 = 1_000;
    for (index, model) in models.iter().enumerate() {
        let id = &model.id;
        if id.is_empty() {
            return Err("there is an entry without a name: its `id` is empty".to_owned());
        }
        if models[..index].iter().any(|before| before.id == *id) {
            return Err(format!("there are two entries for `{id}`: leave one"));
        }
        if let Some(window) = model.context_window.filter(|window| *window < LEAST) {
            return Err(format!(
                "the context_window of `{id}` is {window}, which is too little to work with; leave it out where you don't know it"
            ));
        }
        if model.max_output == Some(0) {
            return Err(format!(
                "the max_output of `{id}` is 0, so that it could say nothing; leave it out where you don't know it"
            ));
        }
        if let (Some(window), Some(most)) = (model.context_window, model.max_output)
            && most > window
        {
            return Err(format!(
                "with a max_output of {most} `{id}` could say more than its context_window of {window} holds"
            ));
        }
        let prices = model.price.iter().flat_map(|price| {
            [
                Some(price.input),
                Some(price.output),
                price.cached_read,
                price.cached_write,
            ]
        });
        if let Some(wrong) = prices.flatten().find(|price| !is_amount(*price)) {
            return Err(format!(
                "a price of `{id}` is {wrong}, and should be an amount of US dollars a million tokens"
            ));
        }
    }
    Ok(())
}

/// What is wrong with an MCP server, to be read after its name.
fn server_makes_sense(server: &McpServerConfig) -> Result<(), String> {
    match (&server.command, &server.url) {
        (None, None) => return Err(" has neither a `command` to start nor a `url` to ask".into()),
        (Some(_), Some(_)) => return Err(" has both a `command` and a `url`: leave out one".into()),
        (Some(_), None) if !server.headers.is_empty() => {
            return Err(".headers is for a `url`, not for a `command`".into());
        }
        (None, Some(_)) if !(server.args.is_empty() && server.env.is_empty() && server.cwd.is_none()) => {
            return Err(": `args`, `env` and `cwd` are for a `command`, not for a `url`".into());
        }
        (None, Some(url)) => match Url::parse(url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {}
            Ok(_) | Err(_) => return Err(".url must begin with `https://` or `http://`".into()),
        },
        (Some(_), None) => {}
    }
    if server.timeout_s == Some(0) {
        return Err(".timeout_s is 0, so that no call could end well; the default is 60".into());
    }
    Ok(())
}

fn is_amount(dollars: f64) -> bool {
    dollars.is_finite() && dollars >= 0.0
}

fn known_tool(name: &str) -> Result<(), String> {
    // Nobody knows a server's tools before it is asked.
    if wiring::TOOLS.contains(&name) || name.starts_with("mcp__") {
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
        check("a = = 1", "/c.toml:1: ");
        check(
            "[agent]\nmode = \"yolo\"",
            "/c.toml:2: `agent.mode`: `yolo` is not a mode: choose plan, default, accept_edits or dont_ask",
        );
        check(
            "[agent]\nthought_level = \"max\"",
            "/c.toml:2: `agent.thought_level`: `max` is not a thought level: choose off, low, medium or high",
        );
        check(
            "model = 5",
            "`model`: is the number `5`, and should be a text in quotes",
        );
        check(
            "[agent]\nmax_steps = -1",
            "is the number `-1`, and should be a whole number from 0 up",
        );
        check(
            "[agent]\nmax_steps = \"a\"",
            "is a text, and should be a whole number from 0 up",
        );
        check("[budget]\nmax_cost_usd = true", "is `true`, and should be a number");
        check(
            "[providers.openai]\nmodels = [\"a\"]",
            "`providers.openai.models[0]`: is a text, and should be a table, such as { id = \"qwen3\" }",
        );
        check("[providers.openai]\nmodels = [{}]", "`id` is missing");
        check(
            "[providers.openai]\nmodels = [{ id = \"a\", price = { input = 1.0 } }]",
            "`providers.openai.models[0].price`: `output` is missing",
        );
        check("[agent]\nmax_steps = 0", "/c.toml: agent.max_steps is 0");
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
        check(
            "[providers.x]\napi = \"smoke\"",
            "`providers.x.api`: `smoke` is none of openai-chat, openai-responses, anthropic, gemini, offline, script",
        );
    }

    #[test]
    fn a_text_in_a_wrong_place_is_not_shown() {
        let error = parse("[providers.openai]\nheaders = \"Bearer sk-1\"", Path::new("/c.toml"));
        let error = error.unwrap_err().to_string();
        assert!(
            !error.contains("sk-1") && error.contains("is a text, and should be a table"),
            "{error}"
        );
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let check = |text: &str, expect: &str| {
            let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
            assert!(error.contains(expect), "{text:?}: {error}");
        };
        for cost in ["-1", "nan", "inf", "-0.5"] {
            check(&format!("[budget]\nmax_cost_usd = {cost}"), "budget.max_cost_usd is ");
        }
        let model = |entry: &str| format!("[providers.openai]\nmodels = [{{ id = \"a\", {entry} }}]");
        for price in [
            "input = -1.0, output = 1.0",
            "input = 1.0, output = nan",
            "input = 1, output = 1, cached_read = inf",
        ] {
            check(
                &model(&format!("price = {{ {price} }}")),
                "providers.openai.models: a price of `a` is ",
            );
        }
        check(&model("context_window = 0"), "the context_window of `a` is 0");
        check(&model("context_window = 10"), "the context_window of `a` is 10");
        check(&model("max_output = 0"), "the max_output of `a` is 0");
        check(
            &model("context_window = 4000, max_output = 4001"),
            "`a` could say more than its context_window of 4000 holds",
        );
        check(
            "[providers.openai]\nmodels = [{ id = \"a\" }, { id = \"b\" }, { id = \"a\" }]",
            "two entries for `a`",
        );
        check(
            "[providers.openai]\nmodels = [{ id = \"\" }]",
            "an entry without a name",
        );
        let fine = model("context_window = 4000, max_output = 4000, price = { input = 0, output = 2.5 }");
        parse(&fine, Path::new("/c.toml")).unwrap();
    }

    #[test]
    fn a_key_in_the_configuration_is_not_shown_and_told_where_it_belongs() {
        for text in [
            "[providers.openai]\napi_key_env = \"sk-1234567890123456\"",
            "[providers.openai]\napi_key_env = \"1234 5678\"",
            "[providers.openai]\napi_key = \"sk-1234567890123456\"",
            "[providers.openai]\nkey = \"sk-1234567890123456\"",
            "api_key = \"sk-1234567890123456\"",
        ] {
            let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
            assert!(!error.contains("1234") && error.contains(".env"), "{text:?}: {error}");
        }
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
