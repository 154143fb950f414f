//! `agent permissions`: the standing permissions for commands and MCP tools, and how to take them back.

use std::io::{self, Write};

use agent_core::approval::Grant;
use agent_core::store::StandingGrant;
use agent_core::visible;
use anyhow::Context;
use serde::Serialize;

use crate::args::PermissionsCommand;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::terminal;
use crate::wiring::{self, Store};

/// Does what the command says.
pub(crate) fn permissions(command: PermissionsCommand, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let paths = paths?;
    let store = match command {
        PermissionsCommand::List { .. } => wiring::stored_to_read(paths),
        PermissionsCommand::Revoke { .. } => {
            wiring::stored(paths).context("can't take back a permission, and nothing was changed")
        }
    }?;
    let done = match command {
        PermissionsCommand::List { json: true } => list_json(&store),
        PermissionsCommand::List { json: false } => list_table(&store),
        PermissionsCommand::Revoke { ids } => revoke(&store, &ids).and_then(|gone| tell_revoked(&gone)),
    };
    store.close();
    done.map(|()| Exit::Done)
}

/// A permission as programs see it. The names are a contract.
#[derive(Serialize)]
struct PermissionJson<'a> {
    id: i64,
    #[serde(flatten)]
    what: WhatJson<'a>,
    created: i64,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WhatJson<'a> {
    Command {
        program: String,
        args: &'a [String],
        root: String,
    },
    McpTool {
        server: &'a str,
        identity: &'a str,
        tool: &'a str,
        schema: &'a str,
    },
}

impl<'a> PermissionJson<'a> {
    /// None for what is never stored.
    fn of(standing: &'a StandingGrant) -> Option<Self> {
        let what = match &standing.grant {
            Grant::EditsThisSession | Grant::HostThisSession { .. } => return None,
            Grant::Command { command, root } => WhatJson::Command {
                program: command.program.display().to_string(),
                args: &command.args,
                root: root.display().to_string(),
            },
            Grant::Tool { tool } => WhatJson::McpTool {
                server: &tool.server,
                identity: &tool.identity,
                tool: &tool.tool,
                schema: &tool.schema,
            },
        };
        Some(Self {
            id: standing.id,
            what,
            created: standing.created_ms,
        })
    }
}

fn list_json(store: &Store) -> Result<(), Fail> {
    let grants = store.all_grants()?;
    let array: Vec<PermissionJson<'_>> = grants.iter().filter_map(PermissionJson::of).collect();
    let mut text = serde_json::to_vec(&array)?;
    text.push(b'\n');
    Ok(io::stdout().lock().write_all(&text)?)
}

fn list_table(store: &Store) -> Result<(), Fail> {
    let grants = store.all_grants()?;
    if grants.is_empty() {
        writeln!(
            terminal::stderr(),
            "no standing permissions: a question's `always` gives one"
        )?;
        return Ok(());
    }
    Ok(write_table(&mut terminal::stdout(), &grants)?)
}

fn write_table(out: &mut dyn Write, grants: &[StandingGrant]) -> io::Result<()> {
    writeln!(out, "{:>4}  WHAT", "ID")?;
    for grant in grants {
        writeln!(out, "{:>4}  {}", grant.id, visible::line(&what(&grant.grant)))?;
    }
    Ok(())
}

fn what(grant: &Grant) -> String {
    match grant {
        Grant::Command { command, root } => {
            // Quoted, so that the ends of an argument can be seen.
            let args: String = command.args.iter().map(|arg| format!(" {arg:?}")).collect();
            format!("{}{args}  (in {})", command.program.display(), root.display())
        }
        Grant::Tool { tool } => {
            let marks = [&tool.identity, &tool.schema].map(|hash| hash.get(..8).unwrap_or(hash));
            format!(
                "MCP tool {:?} of {:?}  ({} {})",
                tool.tool, tool.server, marks[0], marks[1]
            )
        }
        Grant::EditsThisSession | Grant::HostThisSession { .. } => "something of one session".to_owned(),
    }
}

fn tell_revoked(gone: &[StandingGrant]) -> Result<(), Fail> {
    writeln!(terminal::stderr(), "revoked; these are asked about again:")?;
    Ok(write_table(&mut terminal::stderr(), gone)?)
}

/// Takes back all of them, or none if one is not there. They come back.
fn revoke(store: &Store, ids: &[i64]) -> Result<Vec<StandingGrant>, Fail> {
    let mut grants = store.all_grants()?;
    if let Some(unknown) = ids.iter().find(|id| grants.iter().all(|grant| grant.id != **id)) {
        let message =
            format!("there is no permission {unknown}, and none was revoked: `agent permissions list` shows them");
        return Err(Fail::new(Exit::Failed, message));
    }
    for id in ids {
        store.revoke(*id)?;
    }
    grants.retain(|grant| ids.contains(&grant.id));
    Ok(grants)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::plan::{ExactCommand, ForeignTool};

    use super::*;

    fn store() -> Store {
        let store = Store::memory();
        for arg in ["a b", "c\u{1b}[2J"] {
            store.grant(&Grant::Command {
                command: ExactCommand {
                    program: "/bin/rm".into(),
                    args: vec![arg.into()],
                },
                root: "/w".into(),
            });
        }
        store
    }

    #[test]
    fn what_is_revoked_is_gone_and_the_rest_stays() {
        let store = store();
        let ids = |store: &Store| -> Vec<i64> { store.all_grants().unwrap().iter().map(|grant| grant.id).collect() };
        assert_eq!(ids(&store), [1, 2]);
        let fail = revoke(&store, &[1, 7]).unwrap_err();
        assert_eq!((fail.exit, ids(&store)), (Exit::Failed, vec![1, 2]));
        let gone = revoke(&store, &[1]).unwrap();
        assert_eq!(gone.iter().map(|grant| grant.id).collect::<Vec<_>>(), [1]);
        assert_eq!(ids(&store), [2]);
        assert_eq!(store.grants("/w".as_ref()).unwrap().len(), 1);
    }

    #[test]
    fn the_json_of_a_permission_has_the_promised_names() {
        let mut grants = store().all_grants().unwrap();
        grants[0].created_ms = 5;
        let json = serde_json::to_string(&PermissionJson::of(&grants[0]).unwrap()).unwrap();
        assert_eq!(
            json,
            r#"{"id":1,"kind":"command","program":"/bin/rm","args":["a b"],"root":"/w","created":5}"#
        );
    }

    #[test]
    fn a_permission_for_a_tool_is_shown_with_what_it_is_bound_to() {
        let store = Store::memory();
        store.grant(&Grant::Tool {
            tool: ForeignTool {
                server: "git\n".into(),
                identity: "aaaaaaaaaaaa".into(),
                tool: "push".into(),
                schema: "bbbbbbbbbbbb".into(),
            },
        });
        let mut grants = store.all_grants().unwrap();
        grants[0].created_ms = 5;
        let json = serde_json::to_string(&PermissionJson::of(&grants[0]).unwrap()).unwrap();
        assert_eq!(
            json,
            r#"{"id":1,"kind":"mcp_tool","server":"git\n","identity":"aaaaaaaaaaaa","tool":"push","schema":"bbbbbbbbbbbb","created":5}"#
        );
        let mut out = Vec::new();
        write_table(&mut out, &grants).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "  ID  WHAT\n   1  MCP tool \"push\" of \"git\\n\"  (aaaaaaaa bbbbbbbb)\n"
        );
    }

    #[test]
    fn a_row_shows_where_arguments_end_and_hides_nothing() {
        let mut out = Vec::new();
        write_table(&mut out, &store().all_grants().unwrap()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "  ID  WHAT\n   1  /bin/rm \"a b\"  (in /w)\n   2  /bin/rm \"c\\u{1b}[2J\"  (in /w)\n"
        );
    }
}
