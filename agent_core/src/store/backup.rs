//! A copy of the database beside it, made before it gets a newer schema.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::StoreError;
use super::schema::cannot_open;

/// Makes the copy of a database of this schema. Only the newest is kept.
pub(super) fn make(connection: &Connection, database: &Path, schema: usize) -> Result<(), StoreError> {
    let name = |end: &str| database.with_file_name(format!("state.db.schema-{schema}.{end}"));
    let (copy, unfinished) = (name("bak"), name("part"));
    let made = fill(connection, database, &unfinished)
        .and_then(|()| fs::rename(&unfinished, &copy).map_err(|source| StoreError::of_file(&copy, source)));
    match made {
        Ok(()) => remove_others(&copy),
        Err(_) => remove(&unfinished),
    }
    made
}

/// Makes the file first: SQLite would make it with the user's umask, and writes into an empty one.
fn fill(connection: &Connection, database: &Path, copy: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::of_file(copy, source);
    remove(copy);
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

fn remove_others(kept: &Path) {
    let entries = kept
        .parent()
        .map(fs::read_dir)
        .into_iter()
        .flatten()
        .flatten()
        .flatten();
    let is_copy = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("state.db.schema-") && path != kept
    };
    entries
        .map(|entry| entry.path())
        .filter(is_copy)
        .for_each(|path| remove(&path));
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "an older copy of the database is left"),
    }
}
