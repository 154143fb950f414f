//! Whether the MCP servers of the configuration can be used, which is known only by starting them.

use std::path::Path;

use agent_core::config::Config;
use agent_core::server::{ServerState, ServerView};

use super::Finding;
use crate::setup_port::UserSetup;
use crate::wiring;

const CHECK: &str = "MCP server";

/// How each server does. They are started where the user is, as they are in a session of this folder.
pub(crate) fn mcp_servers(setup: &UserSetup, config: &Config) -> Vec<Finding> {
    if config.mcp_servers.is_empty() {
        return Vec::new();
    }
    let Ok(cwd) = std::env::current_dir() else {
        return vec![Finding::warning(
            CHECK,
            "none was started: this folder does not exist any more",
        )];
    };
    look(setup, config, &cwd)
}

fn look(setup: &UserSetup, config: &Config, cwd: &Path) -> Vec<Finding> {
    let handle = setup.http().handle();
    let views = wiring::look_at_servers(cwd, config, &wiring::edge(handle));
    views.into_iter().map(finding).collect()
}

fn finding(server: ServerView) -> Finding {
    let ServerView {
        name,
        place,
        state,
        tools,
        faults,
    } = server;
    let named = |what: &str| format!("`{name}` ({place}) {what}");
    match state {
        ServerState::Ready if !faults.is_empty() => Finding::warning(
            CHECK,
            named(&format!("{}, and {}", answers(tools.len()), faults.join(", and "))),
        ),
        ServerState::Ready if tools.is_empty() => Finding::warning(CHECK, named("answers, and has no tools")),
        ServerState::Ready => Finding::ok(CHECK, named(&answers(tools.len()))),
        ServerState::Starting => Finding::warning(
            CHECK,
            named("takes longer than a prompt waits for it; it may be there for a later one"),
        ),
        ServerState::Gone(how) | ServerState::Failed(how) => {
            Finding::failed(CHECK, named(&format!("can't be used: {how}")))
        }
    }
}

fn answers(tools: usize) -> String {
    match tools {
        1 => "answers with 1 tool".to_owned(),
        count => format!("answers with {count} tools"),
    }
}
