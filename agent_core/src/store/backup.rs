//! A copy of the database beside it, made before it gets a newer schema.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::StoreError;
use super::schema::cannot_open;

/// Makes the copy of a database of this schema, and says where it is. Only the newest is kept.
pub(super) fn make(connection: &Connection, database: &Path, schema: usize) -> Result<PathBuf, StoreError> {
    let name = |end: &str| database.with_file_name(format!("state.db.schema-{schema}.{end}"));
    let (copy, unfinished) = (name("bak"), name("part"));
    remove_all(database, |name| name.contains(".part"));
    let made = fill(connection, database, &unfinished)
        .and_then(|()| fs::rename(&unfinished, &copy).map_err(|source| StoreError::of_file(&copy, source)));
    match made {
        Ok(()) => remove_all(database, |name| copy.file_name().is_none_or(|kept| kept != name)),
        Err(_) => remove_all(database, |name| name.contains(".part")),
    }
    made.map(|()| copy)
}

/// Makes the file first: SQLite would make it with the user's umask, and writes into an empty one.
fn fill(connection: &Connection, database: &Path, copy: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::of_file(copy, source);
    let mut options = OpenOptions::new();
    options
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(copy)
        .map_err(failed)?;
    let path = copy.to_string_lossy();
    connection
        .execute("VACUUM INTO ?1", [path])
        .map_err(|source| cannot_open(database, source))?;
    File::open(copy).and_then(|file| file.sync_all()).map_err(failed)
}

/// Removes those files of copies, whole and unfinished ones, that `goes` says.
fn remove_all(database: &Path, goes: impl Fn(&str) -> bool) {
    let folder = database.parent().map(fs::read_dir);
    for entry in folder.into_iter().flatten().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("state.db.schema-") && goes(&name) {
            remove(&entry.path());
        }
    }
}

/// Removes a file of a copy, if it can be.
pub(super) fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "an older copy of the database is left"),
    }
}
