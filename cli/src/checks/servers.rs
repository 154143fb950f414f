//! Whether the MCP servers of the configuration can be used, which is known only by starting them.

use std::path::{Path, PathBuf};

use agent_core::config::{Config, McpServerConfig};
use agent_core::server::{ServerState, ServerView};

use super::Finding;
use crate::setup_port::UserSetup;
use crate::wiring;

const CHECK: &str = "MCP server";

/// How each server does. They are started where the user is, as they are in a session of this folder.
pub(crate) fn mcp_servers(setup: &UserSetup, config: &Config, own: &[PathBuf]) -> Vec<Finding> {
    if config.mcp_servers.is_empty() {
        return Vec::new();
    }
    let Ok(cwd) = std::env::current_dir() else {
        return vec![Finding::warning(
            CHECK,
            "none was started: this folder does not exist any more",
        )];
    };
    look(setup, config, own, &cwd)
}

fn look(setup: &UserSetup, config: &Config, own: &[PathBuf], cwd: &Path) -> Vec<Finding> {
    let handle = setup.http().handle();
    let views = wiring::look_at_servers(cwd, config, own, &wiring::edge(handle));
    // Both are in the order of their names in the configuration.
    let servers = config.mcp_servers.iter().zip(views);
    servers
        .map(|((key, server), view)| finding(key, server, view))
        .collect()
}

/// How a server does; `key` is its name in the configuration.
fn finding(key: &str, config: &McpServerConfig, server: ServerView) -> Finding {
    let ServerView {
        name,
        place,
        state,
        tools,
        faults,
    } = server;
    let named = |what: &str| format!("`{name}` ({place}) {what}");
    match state {
        ServerState::Ready if !faults.is_empty() => {
            let how = format!("{}, and {}", answers(tools.len()), faults.join(", and "));
            let mend = format!("`mcp_servers.{key}.tools` chooses those that are used");
            Finding::warning(CHECK, named(&format!("{how}: {mend}")))
        }
        ServerState::Ready if tools.is_empty() => Finding::warning(
            CHECK,
            named(&format!(
                "answers, and has no tools: take [mcp_servers.{key}] out, as it is of no use"
            )),
        ),
        ServerState::Ready => Finding::ok(CHECK, named(&answers(tools.len()))),
        ServerState::Starting => {
            let mend = match &config.command {
                Some(_) => "start it by hand to see what it waits for",
                None => "see what keeps it",
            };
            let late = "takes longer than a prompt waits for it; it may be there for a later one";
            Finding::warning(CHECK, named(&format!("{late}: {mend}")))
        }
        ServerState::Gone(how) | ServerState::Failed(how) => {
            let mend = mend(key, config);
            Finding::failed(
                CHECK,
                named(&format!("can't be used: {}; {mend}", how.trim_end_matches('.'))),
            )
        }
    }
}

fn answers(tools: usize) -> String {
    match tools {
        1 => "answers with 1 tool".to_owned(),
        count => format!("answers with {count} tools"),
    }
}

/// What to do about a server that can't be used.
fn mend(key: &str, config: &McpServerConfig) -> String {
    match &config.command {
        Some(_) => format!(
            "start it by hand, then correct `command`, `args`, `cwd` or `env` of [mcp_servers.{key}]: a key that it needs \
             stands in its `env`, since it gets none otherwise"
        ),
        None => format!("see that it answers there, then correct `url` or `headers` of [mcp_servers.{key}]"),
    }
}
