//! Standing permissions for commands and for tools of MCP servers.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};

use super::queue::{Outcome, Work};
use super::value::{PathColumn, StoredPath};
use super::{Store, StoreError};
use crate::approval::Grant;
use crate::plan::{ExactCommand, ForeignTool};

/// A grant as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingGrant {
    /// Its number.
    pub id: i64,
    /// What it allows; never one for a session.
    pub grant: Grant,
    /// When it was given, in Unix ms.
    pub created_ms: i64,
}

/// What is done to the grants.
pub(super) enum GrantChange {
    /// One is added.
    Add(Grant),
    /// The one of this number is taken back.
    Revoke(i64),
}

impl Store {
    /// Stores a standing permission, if it is one that outlives its session.
    pub fn grant(&self, grant: &Grant) {
        match grant {
            Grant::Command { .. } | Grant::Tool { .. } => {
                self.database()
                    .write_or_warn(Work::Grant(GrantChange::Add(grant.clone())));
            }
            Grant::EditsThisSession | Grant::HostThisSession { .. } => {}
        }
    }

    /// The standing permissions that hold in sessions with this root, a real path.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn grants(&self, root: &Path) -> Result<Vec<Grant>, StoreError> {
        self.database()
            .read(format!("the permissions of {}", root.display()), |connection| {
                read(connection, root)
            })
    }

    /// All standing permissions, oldest first.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn all_grants(&self) -> Result<Vec<StandingGrant>, StoreError> {
        self.database().read("the permissions".to_owned(), read_all)
    }

    /// Takes a standing permission back; one that is not there stays away.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn revoke(&self, id: i64) -> Result<(), StoreError> {
        match self.database().change(Work::Grant(GrantChange::Revoke(id))) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(StoreError::Revoke {
                id,
                reason: held.to_string(),
            }),
            Ok(Outcome::Refused(reason)) | Err(reason) => Err(StoreError::Revoke { id, reason }),
        }
    }
}

/// Does it.
pub(super) fn write(connection: &Connection, change: &GrantChange, now_ms: i64) -> rusqlite::Result<()> {
    match change {
        GrantChange::Add(Grant::EditsThisSession | Grant::HostThisSession { .. }) => Ok(()),
        GrantChange::Add(Grant::Command { command, root }) => add_command(connection, command, root, now_ms),
        GrantChange::Add(Grant::Tool { tool }) => add_tool(connection, tool, now_ms),
        GrantChange::Revoke(id) => connection.execute("DELETE FROM grants WHERE id = ?1", [id]).map(drop),
    }
}

/// Stores a grant; one that is there already stays as it is.
fn add_command(connection: &Connection, command: &ExactCommand, root: &Path, now_ms: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR IGNORE INTO grants (root, program, args, created_ms) VALUES (?1, ?2, ?3, ?4)",
        params![
            PathColumn(root),
            PathColumn(&command.program),
            json(&command.args),
            now_ms
        ],
    )?;
    Ok(())
}

/// The same for a tool.
fn add_tool(connection: &Connection, tool: &ForeignTool, now_ms: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR IGNORE INTO grants (root, program, args, created_ms, tool) VALUES ('', ?1, ?2, ?3, ?4)",
        params![tool.identity, json(&[&tool.tool, &tool.schema]), now_ms, json(tool)],
    )?;
    Ok(())
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("texts in lists and structs are always JSON")
}

/// The grants that hold in sessions with this root, oldest first.
pub(super) fn read(connection: &Connection, root: &Path) -> rusqlite::Result<Vec<Grant>> {
    let all = read_all(connection)?.into_iter().map(|standing| standing.grant);
    let holds = |grant: &Grant| match grant {
        Grant::Command { root: of, .. } => of == root,
        Grant::Tool { .. } => true,
        Grant::EditsThisSession | Grant::HostThisSession { .. } => false,
    };
    Ok(all.filter(holds).collect())
}

/// All grants, oldest first. A handful: each was given by a person.
pub(super) fn read_all(connection: &Connection) -> rusqlite::Result<Vec<StandingGrant>> {
    let mut statement =
        connection.prepare("SELECT id, created_ms, tool, root, program, args FROM grants ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let (id, created_ms) = (row.get(0)?, row.get(1)?);
        let tool: Option<String> = row.get(2)?;
        let grant = match tool {
            Some(tool) => serde_json::from_str(&tool).map(|tool| Grant::Tool { tool }),
            None => command(row)?,
        };
        Ok(grant
            .map(|grant| StandingGrant { id, grant, created_ms })
            .map_err(|error| (id, error)))
    })?;
    let mut grants = Vec::new();
    for row in rows {
        match row? {
            Ok(grant) => grants.push(grant),
            Err((id, error)) => tracing::warn!(%error, id, "a stored grant can't be read"),
        }
    }
    Ok(grants)
}

fn command(row: &Row<'_>) -> rusqlite::Result<Result<Grant, serde_json::Error>> {
    let root: PathBuf = row.get::<_, StoredPath>(3)?.0;
    let program = row.get::<_, StoredPath>(4)?.0;
    let args: String = row.get(5)?;
    Ok(serde_json::from_str(&args).map(|args| Grant::Command {
        command: ExactCommand { program, args },
        root,
    }))
}
