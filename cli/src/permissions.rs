//! `agent permissions`: the standing permissions for commands, and how to take them back.

use std::io::{self, Write};

use agent_core::store::StandingGrant;
use agent_core::visible;
use serde::Serialize;

use crate::args::PermissionsCommand;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::terminal;
use crate::wiring::{self, Store};

/// Does what the command says.
pub(crate) fn permissions(command: PermissionsCommand, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let store = wiring::stored(paths?)?;
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
    kind: &'static str,
    program: String,
    args: &'a [String],
    root: String,
    created: i64,
}

impl<'a> From<&'a StandingGrant> for PermissionJson<'a> {
    fn from(grant: &'a StandingGrant) -> Self {
        Self {
            id: grant.id,
            kind: "command",
            program: grant.command.program.display().to_string(),
            args: &grant.command.args,
            root: grant.root.display().to_string(),
            created: grant.created_ms,
        }
    }
}

fn list_json(store: &Store) -> Result<(), Fail> {
    let grants = store.all_grants()?;
    let array: Vec<PermissionJson<'_>> = grants.iter().map(PermissionJson::from).collect();
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
    writeln!(out, "{:>4}  COMMAND", "ID")?;
    for grant in grants {
        // Quoted, so that the ends of an argument can be seen.
        let args: String = grant.command.args.iter().map(|arg| format!(" {arg:?}")).collect();
        let program = grant.command.program.to_string_lossy();
        let root = grant.root.to_string_lossy();
        let line = visible::line(&format!("{program}{args}  (in {root})"));
        writeln!(out, "{:>4}  {line}", grant.id)?;
    }
    Ok(())
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

    use agent_core::approval::Grant;
    use agent_core::plan::ExactCommand;

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
        let json = serde_json::to_string(&PermissionJson::from(&grants[0])).unwrap();
        assert_eq!(
            json,
            r#"{"id":1,"kind":"command","program":"/bin/rm","args":["a b"],"root":"/w","created":5}"#
        );
    }

    #[test]
    fn a_row_shows_where_arguments_end_and_hides_nothing() {
        let mut out = Vec::new();
        write_table(&mut out, &store().all_grants().unwrap()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "  ID  COMMAND\n   1  /bin/rm \"a b\"  (in /w)\n   2  /bin/rm \"c\\u{1b}[2J\"  (in /w)\n"
        );
    }
}
