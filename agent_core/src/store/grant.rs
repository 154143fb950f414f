//! Standing permissions for commands.

use std::path::Path;

use rusqlite::{Connection, params};

use super::value::{PathColumn, StoredPath};
use crate::approval::Grant;
use crate::plan::ExactCommand;

/// A grant that outlives its session.
pub(super) struct CommandGrant {
    pub(super) command: ExactCommand,
    pub(super) root: std::path::PathBuf,
}

/// Stores a grant; one that is there already stays as it is.
pub(super) fn write(connection: &Connection, grant: &CommandGrant, now_ms: i64) -> rusqlite::Result<()> {
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
    let mut statement = connection.prepare("SELECT program, args FROM grants WHERE root = ?1 ORDER BY id")?;
    let rows = statement.query_map([PathColumn(root)], |row| {
        Ok((row.get::<_, StoredPath>(0)?.0, row.get::<_, String>(1)?))
    })?;
    let mut grants = Vec::new();
    for row in rows {
        let (program, args) = row?;
        match serde_json::from_str(&args) {
            Ok(args) => grants.push(Grant::Command {
                command: ExactCommand { program, args },
                root: root.to_owned(),
            }),
            Err(error) => tracing::warn!(%error, program = %program.display(), "a stored grant can't be read"),
        }
    }
    Ok(grants)
}
