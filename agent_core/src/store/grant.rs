//! Standing permissions for commands.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::value::{PathColumn, StoredPath};
use crate::approval::Grant;
use crate::plan::ExactCommand;

/// A grant as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingGrant {
    /// Its number.
    pub id: i64,
    /// The command it covers.
    pub command: ExactCommand,
    /// The real path of the folder whose sessions it is for.
    pub root: PathBuf,
    /// When it was given, in Unix ms.
    pub created_ms: i64,
}

/// A grant that outlives its session.
pub(super) struct CommandGrant {
    pub(super) command: ExactCommand,
    pub(super) root: PathBuf,
}

/// What is done to the grants.
pub(super) enum GrantChange {
    /// One is added.
    Add(CommandGrant),
    /// The one of this number is taken back.
    Revoke(i64),
}

/// Does it.
pub(super) fn write(connection: &Connection, change: &GrantChange, now_ms: i64) -> rusqlite::Result<()> {
    match change {
        GrantChange::Add(grant) => add(connection, grant, now_ms),
        GrantChange::Revoke(id) => connection.execute("DELETE FROM grants WHERE id = ?1", [id]).map(drop),
    }
}

/// Stores a grant; one that is there already stays as it is.
fn add(connection: &Connection, grant: &CommandGrant, now_ms: i64) -> rusqlite::Result<()> {
    let args = serde_json::to_string(&grant.command.args).expect("a list of strings is always JSON");
    connection.execute(
        "INSERT OR IGNORE INTO grants (root, program, args, created_ms) VALUES (?1, ?2, ?3, ?4)",
        params![
            PathColumn(&grant.root),
            PathColumn(&grant.command.program),
            args,
            now_ms
        ],
    )?;
    Ok(())
}

/// The grants of one root, oldest first.
pub(super) fn read(connection: &Connection, root: &Path) -> rusqlite::Result<Vec<Grant>> {
    let all = read_all(connection)?.into_iter();
    let of_root = all.filter(|grant| grant.root == root);
    let grants = of_root.map(|grant| Grant::Command {
        command: grant.command,
        root: grant.root,
    });
    Ok(grants.collect())
}

/// All grants, oldest first. A handful: each was given by a person.
pub(super) fn read_all(connection: &Connection) -> rusqlite::Result<Vec<StandingGrant>> {
    let mut statement = connection.prepare("SELECT id, root, program, args, created_ms FROM grants ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let args: String = row.get(3)?;
        let grant = StandingGrant {
            id: row.get(0)?,
            root: row.get::<_, StoredPath>(1)?.0,
            command: ExactCommand {
                program: row.get::<_, StoredPath>(2)?.0,
                args: Vec::new(),
            },
            created_ms: row.get(4)?,
        };
        Ok((grant, args))
    })?;
    let mut grants = Vec::new();
    for row in rows {
        let (mut grant, args) = row?;
        match serde_json::from_str(&args) {
            Ok(args) => {
                grant.command.args = args;
                grants.push(grant);
            }
            Err(error) => tracing::warn!(%error, id = grant.id, "a stored grant can't be read"),
        }
    }
    Ok(grants)
}
