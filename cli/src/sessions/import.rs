//! `agent sessions import`: a session from a file. What it says of folders is what anybody may have written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use agent_core::id::SessionId;
use agent_core::portable::{self, Portable};
use agent_core::visible;

use super::{SessionJson, print_json};
use crate::exit::{Exit, Fail};
use crate::terminal;
use crate::wiring::Store;

/// The largest file that is read.
const LARGEST: u64 = 512 * 1024 * 1024;

/// What is stored, and how.
pub(super) struct Wish<'a> {
    pub(super) file: &'a Path,
    /// Where it works instead of the folder of before.
    pub(super) cwd: Option<&'a Path>,
    pub(super) as_new: bool,
    pub(super) json: bool,
}

/// Stores a session from a file.
pub(super) fn import(store: &Store, wish: &Wish<'_>) -> Result<(), Fail> {
    let fail = |why: String| Fail::new(Exit::Failed, format!("can't import {}: {why}", wish.file.display()));
    let bytes = read(wish.file).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(fail(format!("it has more than {} MiB", LARGEST >> 20)));
    }
    let Portable { mut import, left_out } = portable::read(&bytes).map_err(|error| fail(error.to_string()))?;
    if wish.as_new {
        import = portable::as_new(import, &SessionId::new());
    }
    let id = import.record.id.clone();
    if store.session(&id)?.is_some() {
        if portable::has_all(&store.rows(&id, 0, usize::MAX)?, &import.rows) {
            writeln!(terminal::stderr(), "{id} is stored already, with all of this")?;
            return told(store, &id, wish.json);
        }
        return Err(fail(format!(
            "there is a session {id} with other content: add --as-new to store this one beside it"
        )));
    }
    if import.rows.is_empty() {
        return Err(fail("it has no events".to_owned()));
    }
    match wish.cwd {
        Some(cwd) => import.record.cwd = chosen(cwd)?,
        None => check(&import.record.cwd).map_err(fail)?,
    }
    let rows = import.rows.len();
    let cwd = visible::line(&import.record.cwd.to_string_lossy());
    store.import(import).map_err(|error| fail(error.to_string()))?;
    writeln!(terminal::stderr(), "imported, {rows} events; it works in {cwd}")?;
    for folder in left_out {
        let folder = visible::line(&folder.to_string_lossy());
        writeln!(terminal::stderr(), "left out: it had the further folder {folder}")?;
    }
    told(store, &id, wish.json)
}

/// The folder that the user wants.
fn chosen(cwd: &Path) -> Result<PathBuf, Fail> {
    let refused = |why: &dyn std::fmt::Display| Fail::usage(format!("--cwd {}: {why}", cwd.display()));
    let folder = std::path::absolute(cwd).map_err(|error| refused(&error))?;
    match fs::metadata(&folder) {
        Ok(facts) if facts.is_dir() => Ok(folder),
        Ok(_) => Err(refused(&"this is no folder")),
        Err(error) => Err(refused(&error)),
    }
}

/// Refuses a folder in which the tools would have more than a project: a document gives nobody that unasked.
fn check(cwd: &Path) -> Result<(), String> {
    let real = real(cwd);
    let home = dirs::home_dir().filter(|home| home.is_absolute());
    let holds_home = home.is_some_and(|home| home.starts_with(&real) || self::real(&home).starts_with(&real));
    if !holds_home && real.parent().is_some() {
        return Ok(());
    }
    let cwd = visible::line(&cwd.to_string_lossy());
    Err(format!(
        "it would work in {cwd}, where all your files are: say with --cwd DIR in which folder it shall work"
    ))
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => {
                real.push(part);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}

fn told(store: &Store, id: &SessionId, json: bool) -> Result<(), Fail> {
    let Some(session) = store.session(id)? else {
        return Ok(());
    };
    if json {
        return print_json(&SessionJson::from(&session));
    }
    writeln!(terminal::stdout(), "{id}")?;
    Ok(())
}

/// All of a file, and one byte more than may be.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    // Before it is opened: a pipe that nobody writes to has no end.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_folder_that_holds_more_than_a_project_is_refused() {
        let home = dirs::home_dir().unwrap();
        let inside = home.join("project");
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        for wide in [
            Path::new("/"),
            &home,
            &home.join("."),
            &inside.join(".."),
            Path::new("/nowhere/.."),
            &link,
            &link.join("nowhere/.."),
        ] {
            let why = check(wide).unwrap_err();
            assert!(why.contains("--cwd"), "{why}");
        }
        for good in [&inside, folder.path(), Path::new("/nowhere/at/all")] {
            check(good).unwrap();
        }
    }
}
