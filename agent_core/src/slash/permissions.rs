//! What a session may do: its mode, what holds in its commands, and what the user has allowed for good.

use crate::approval::Grant;
use crate::engine::Engine;
use crate::session::Session;
use crate::turn::TurnError;
use crate::visible;

/// The answer to `/permissions`.
pub(super) fn answer(engine: &Engine, session: &Session) -> Result<String, TurnError> {
    let settings = session.settings();
    let mode = settings.mode;
    let mut text = format!("- Mode: `{mode}` ({}). {}.\n", mode.name(), mode.description());
    let sandbox = settings.workspace.sandbox();
    if !sandbox.is_empty() {
        text.push_str(&format!("- {}.\n", visible::line(&sandbox)));
    }
    if settings.edits_granted {
        text.push_str("- All edits in this workspace are allowed for this session.\n");
    }
    for host in settings.hosts_granted.iter() {
        text.push_str(&format!(
            "- All pages of {} are allowed for this session.\n",
            visible::line(host)
        ));
    }
    let root = settings.roots.first();
    let grants = root
        .map(|root| engine.store.grants(root))
        .transpose()?
        .unwrap_or_default();
    for grant in &grants {
        if let Some(line) = line(grant) {
            text.push_str(&format!(
                "- Always allowed here, until revoked: {}\n",
                visible::line(&line)
            ));
        }
    }
    if !grants.is_empty() {
        text.push_str("\n`agent permissions revoke` takes these back.\n");
    }
    Ok(text)
}

fn line(grant: &Grant) -> Option<String> {
    match grant {
        Grant::Command { command, .. } => {
            let program = command.program.display().to_string();
            let words = std::iter::once(program).chain(command.args.iter().cloned());
            Some(format!("the command `{}`", words.collect::<Vec<_>>().join(" ")))
        }
        Grant::Tool { tool } => Some(format!("the tool `{}` of the MCP server `{}`", tool.tool, tool.server)),
        // Never stored.
        Grant::EditsThisSession | Grant::HostThisSession { .. } => None,
    }
}
