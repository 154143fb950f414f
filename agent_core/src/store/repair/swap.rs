//! The files of a repair, and how the new database gets into the old one's place. A process that dies in between leaves
//! a database with all that the old one had; what it was making is thrown away by the next repair.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::RepairError;

/// What holds a part of a database beside its file. The shared memory is not among them: it is made of the log.
const BESIDE: [&str; 2] = ["-wal", "-journal"];

/// The paths.
pub(super) struct Files {
    database: PathBuf,
    /// A copy of the old database, to be read and mended.
    pub(super) image: PathBuf,
    /// The new one.
    pub(super) new: PathBuf,
}

impl Files {
    pub(super) fn of(database: &Path) -> Self {
        Self {
            database: database.to_owned(),
            image: with(database, ".repair-copy"),
            new: with(database, ".repair-new"),
        }
    }

    /// Removes what was made and is not needed, also by a repair that was killed.
    pub(super) fn clear(&self) {
        for file in [&self.image, &self.new] {
            for end in ["", "-shm"].into_iter().chain(BESIDE) {
                remove(&with(file, end)).unwrap_or_else(|error| {
                    tracing::warn!(%error, file = %file.display(), "a file of a repair is left");
                });
            }
        }
    }

    /// Copies the old database byte by byte. No lock is lost by the descriptors: nothing of it is open here.
    pub(super) fn copy_old(&self) -> Result<(), RepairError> {
        for end in [""].into_iter().chain(BESIDE) {
            copy(&with(&self.database, end), &with(&self.image, end))?;
        }
        Ok(())
    }

    /// Makes the new database's file, empty, so that only this user can read it.
    pub(super) fn make_new(&self) -> Result<(), RepairError> {
        let made = private().open(&self.new);
        made.map(drop).map_err(|source| file(&self.new, source))
    }

    /// Brings the new database to the disk.
    pub(super) fn sync_new(&self) -> Result<(), RepairError> {
        sync(&self.new)
    }

    /// Keeps the old files under another name, which comes back. They are in their place too until the swap.
    pub(super) fn put_aside(&self, label: &str) -> Result<PathBuf, RepairError> {
        let aside = (1..)
            .map(|number| match number {
                1 => with(&self.database, &format!(".damaged-{label}")),
                _ => with(&self.database, &format!(".damaged-{label}-{number}")),
            })
            .find(|aside| !aside.exists())
            .expect("there are fewer files than numbers");
        for end in [""].into_iter().chain(BESIDE) {
            let (from, to) = (with(&self.database, end), with(&aside, end));
            match fs::hard_link(&from, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // Some file systems know only one name of a file.
                Err(_) => {
                    copy(&from, &to)?;
                    sync(&to)?;
                }
            }
        }
        self.sync_folder()?;
        Ok(aside)
    }

    /// Puts the new database in the old one's place.
    pub(super) fn swap(&self) -> Result<(), RepairError> {
        self.steps().into_iter().try_for_each(|step| self.take(step))
    }

    /// A log that is found beside a database belongs to it, so it must be gone before the new one comes. Before it goes,
    /// the old one gives way to its copy, which has taken the log in.
    fn steps(&self) -> Vec<Step> {
        let has_log = BESIDE.iter().any(|end| with(&self.database, end).exists());
        let mut steps = Vec::new();
        if has_log {
            steps.push(Step::Replace(self.image.clone()));
            steps.extend(BESIDE.map(|end| Step::Remove(with(&self.database, end))));
        }
        steps.push(Step::Remove(with(&self.database, "-shm")));
        steps.push(Step::Replace(self.new.clone()));
        steps
    }

    fn take(&self, step: Step) -> Result<(), RepairError> {
        match step {
            Step::Replace(by) => {
                sync(&by)?;
                fs::rename(&by, &self.database).map_err(|source| file(&by, source))?;
            }
            Step::Remove(path) => remove(&path).map_err(|source| file(&path, source))?,
        }
        self.sync_folder()
    }

    fn sync_folder(&self) -> Result<(), RepairError> {
        self.database.parent().map_or(Ok(()), sync)
    }
}

/// One of what leads from the old database to the new one.
enum Step {
    /// This file takes the database's place.
    Replace(PathBuf),
    /// This file goes.
    Remove(PathBuf),
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn file(path: &Path, source: io::Error) -> RepairError {
    RepairError::File {
        path: path.to_owned(),
        source,
    }
}

fn sync(path: &Path) -> Result<(), RepairError> {
    File::open(path)
        .and_then(|opened| opened.sync_all())
        .map_err(|source| file(path, source))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// For a new file that only this user can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true).mode(0o600);
    options
}

/// Copies a file that may not be there into a new one that only this user can read.
fn copy(from: &Path, to: &Path) -> Result<(), RepairError> {
    let mut source = match File::open(from) {
        Ok(source) => source,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(file(from, error)),
    };
    let copied = private()
        .open(to)
        .and_then(|mut target| io::copy(&mut source, &mut target));
    copied.map(drop).map_err(|source| file(to, source))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rusqlite::Connection;

    use super::*;

    fn add(connection: &Connection, text: &str) {
        connection.execute("INSERT INTO t VALUES (?1)", [text]).unwrap();
    }

    /// What is found in the database's place after so many steps.
    fn rows_after(steps: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::of(&folder.path().join("state.db"));
        let live = Connection::open(folder.path().join("live.db")).unwrap();
        live.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)")
            .unwrap();
        add(&live, "in the log");
        for end in ["", "-wal"] {
            copy(
                &folder.path().join(format!("live.db{end}")),
                &with(&files.database, end),
            )
            .unwrap();
        }
        files.copy_old().unwrap();
        // As salvaging does at its end.
        drop(Connection::open(&files.image).unwrap().execute_batch("SELECT * FROM t"));
        let new = Connection::open(&files.new).unwrap();
        new.execute_batch("CREATE TABLE t (x)").unwrap();
        add(&new, "in the log");
        add(&new, "saved");
        drop(new);
        let aside = files.put_aside("then").unwrap();
        for step in files.steps().into_iter().take(steps) {
            files.take(step).unwrap();
        }
        for path in [&aside, &files.database] {
            let copy = Connection::open(path).unwrap();
            let check: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(check, "ok", "{}", path.display());
        }
        let found = Connection::open(&files.database).unwrap();
        let mut rows = found.prepare("SELECT x FROM t").unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn a_swap_that_ends_at_any_step_leaves_all_there_was() {
        for steps in 0..5 {
            assert_eq!(rows_after(steps), ["in the log"], "after {steps} steps");
        }
        assert_eq!(rows_after(5), ["in the log", "saved"]);
    }
}
