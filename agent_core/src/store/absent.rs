//! A database that is not there any more: something beside it shows that there was one.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What stands in the file of the lock once a database was made. An empty one says nothing: it is made first.
const MARK: &[u8] = b"state.db is beside this file\n";

/// The copies that are named.
const NAMED: usize = 3;

/// What the user should know of a database that is about to be begun anew, under the lock of opening.
pub(super) fn look(database: &Path, opening: &File) -> Option<String> {
    let is_gone = fs::symlink_metadata(database).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if !is_gone {
        return None;
    }
    let copies = copies(database);
    if copies.is_empty() && !is_marked(opening) {
        return None;
    }
    let place = database.display();
    let gone = format!("the history file {place} is not there any more, and a new one begins.");
    Some(match copies.as_slice() {
        [] => format!("{gone} If you have it elsewhere, end all agents and put it back."),
        copies => {
            let named: Vec<String> = copies.iter().map(|copy| copy.display().to_string()).collect();
            format!(
                "{gone} Copies of before are in {}: to go on with one, end all agents, give it that name, and run \
                 `agent doctor --repair`.",
                named.join(" and ")
            )
        }
    })
}

/// Notes that there is a database. Where that can't be written nobody will miss it later.
pub(super) fn mark(opening: &File) {
    if !is_marked(opening) {
        let mut opening = opening;
        let marked = opening.write_all(MARK);
        if let Err(error) = marked {
            tracing::debug!(%error, "the lock file can't be marked");
        }
    }
}

fn is_marked(opening: &File) -> bool {
    opening.metadata().is_ok_and(|facts| facts.len() > 0)
}

/// What an update or a repair has left, the newest first.
fn copies(database: &Path) -> Vec<PathBuf> {
    let Some(entries) = database.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let is_copy = |name: &str| {
        let is_update = name.starts_with("state.db.schema-") && name.ends_with(".bak");
        let is_repair = name.starts_with("state.db.damaged-") && !name.ends_with("-wal") && !name.ends_with("-journal");
        is_update || is_repair
    };
    let mut copies: Vec<(std::time::SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_copy))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    copies.sort_by(|a, b| b.cmp(a));
    copies.into_iter().take(NAMED).map(|(_, path)| path).collect()
}
