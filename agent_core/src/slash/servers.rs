//! `/mcp`: the MCP servers of this session and how they do, as Markdown.

use crate::server::{ServerState, ServerView};
use crate::session::Session;
use crate::visible;

/// The servers, with what is amiss and their tools.
pub(super) fn answer(session: &Session) -> String {
    let servers = session.settings().workspace.servers();
    if servers.is_empty() {
        return "This session has no MCP servers. `[mcp_servers.NAME]` in `config.toml` gives every new session one."
            .into();
    }
    servers.iter().map(server).collect()
}

fn server(server: &ServerView) -> String {
    let state = match &server.state {
        ServerState::Starting => "is being started".to_owned(),
        ServerState::Ready => match server.tools.len() {
            1 => "ready, 1 tool".to_owned(),
            tools => format!("ready, {tools} tools"),
        },
        ServerState::Gone(why) => format!("gone, and started again when it is needed: {why}"),
        ServerState::Failed(why) => format!("can't be used: {why}"),
    };
    let place = visible::line(&server.place);
    let line = format!("- **{}** (`{place}`): {}\n", server.name, visible::line(&state));
    let faults = server
        .faults
        .iter()
        .map(|fault| format!("  - {}\n", visible::line(fault)));
    let tools = server.tools.iter().map(|tool| format!("  - `{tool}`\n"));
    std::iter::once(line).chain(faults).chain(tools).collect()
}
