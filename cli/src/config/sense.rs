//! What makes sense in a configuration beyond its types.

use agent_core::config::{Config, McpServerConfig, ModelConfig};
use agent_core::nearest::nearest;
use url::Url;

use super::OF_KEYS;
use crate::credentials::variable_fault;
use crate::{service, wiring};

/// What the types alone can't say.
pub(super) fn make_sense(config: &Config) -> Result<(), String> {
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
    for folder in &config.sandbox.writable {
        if !folder.is_absolute() && !folder.starts_with("~") {
            return Err(format!(
                "sandbox.writable: {} is relative; give a whole path, or one that begins with `~/`",
                folder.display()
            ));
        }
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
