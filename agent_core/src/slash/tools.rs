//! `/tools`: what the model can call in this session, as Markdown.

use std::sync::Arc;

use crate::server::ServerState;
use crate::session::Session;
use crate::tool::Tool;

/// The tools, a line each.
pub(super) fn answer(session: &Session) -> String {
    let settings = session.settings();
    let line = |tool: &Arc<dyn Tool>| {
        let first = tool.spec().description.lines().next().unwrap_or_default();
        format!("- `{}`: {first}\n", tool.spec().name)
    };
    // First: servers that are being started get a moment.
    let servers = settings.workspace.servers();
    let mut tools: String = settings.workspace.tools().iter().map(line).collect();
    for server in servers.iter().filter(|server| server.state != ServerState::Ready) {
        tools.push_str(&format!(
            "- tools of the MCP server `{}` are not there now: see `/mcp`\n",
            server.name
        ));
    }
    let model = settings.provider.model();
    if model.tools {
        return tools;
    }
    format!(
        "`{}` gets none of these, since its entry in the configuration says `tools = false`:\n\n{tools}",
        model.name
    )
}
