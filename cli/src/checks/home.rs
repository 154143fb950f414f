//! The user's folders: whether they are there, private, writable, and on a disk with room.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agent_core::folder::fit_for_private;
use rustix::fs::{Access, access, statvfs};

use super::{Finding, State, size};
use crate::logging;
use crate::paths::{Paths, quoted};

/// Less room than this and not even a session could be stored.
const LEAST: u64 = 10 * 1024 * 1024;
/// Less room than this will soon be used up.
const SCARCE: u64 = 200 * 1024 * 1024;

/// The folders as they were before the store was opened, which tightens what is too open.
pub(crate) struct Folders {
    folders: Vec<(&'static str, PathBuf)>,
    /// What other users could look into, with its mode.
    open: BTreeMap<PathBuf, u32>,
}

impl Folders {
    /// Looks at the modes, and changes nothing.
    pub(crate) fn before(paths: &Paths) -> Self {
        let folders = match paths.config == paths.state {
            true => vec![("home folder", paths.state.clone())],
            false => vec![
                ("config folder", paths.config.clone()),
                ("state folder", paths.state.clone()),
            ],
        };
        let open = folders.iter().flat_map(|(_, folder)| open_to_others(folder)).collect();
        Self { folders, open }
    }

    /// Says how each is now, and what was too open before.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let folders = self.folders.iter();
        folders.map(|(check, folder)| self.finding(check, folder)).collect()
    }

    fn finding(&self, check: &'static str, folder: &Path) -> Finding {
        let shown = folder.display();
        match fs::metadata(folder) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => {
                return Finding::failed(
                    check,
                    format!("{shown} is not a folder: move it away, or set TALARIA_HOME to another place"),
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return absent(check, folder),
            Err(error) => return Finding::failed(check, format!("can't look at {shown} ({error}): check its owner")),
        }
        if let Err(error) = fit_for_private(folder) {
            return Finding::failed(check, error.to_string());
        }
        if let Err(error) = tempfile::tempfile_in(folder) {
            return Finding::failed(
                check,
                format!(
                    "{shown} can't be written ({error}): check its owner and its disk, or set TALARIA_HOME to another \
                     place"
                ),
            );
        }
        let free = free(folder);
        if let Some(finding) = scarce(check, folder, free) {
            return finding;
        }
        let is_in = |(path, _): &(&PathBuf, &u32)| path.starts_with(folder);
        let was: Vec<String> = self
            .open
            .iter()
            .filter(is_in)
            .map(|(path, mode)| words(path, *mode))
            .collect();
        let still = open_to_others(folder).into_iter();
        let still: Vec<String> = still.map(|(path, _)| command(&path)).collect();
        match (still.as_slice(), was.as_slice()) {
            ([], []) => Finding::ok(check, format!("{shown}, private, {} free", size(free))),
            ([], was) => Finding::warning(
                check,
                format!(
                    "other users could look into {}; that was mended just now",
                    was.join(", ")
                ),
            ),
            (still, _) => Finding::warning(
                check,
                format!("other users can look into {shown}: run {}", still.join(" && ")),
            ),
        }
    }
}

/// A folder that is not there is made when it is needed, if it can be.
fn absent(check: &'static str, folder: &Path) -> Finding {
    let above = folder.ancestors().skip(1).find(|above| above.exists());
    match above {
        Some(above) if access(above, Access::WRITE_OK | Access::EXEC_OK).is_ok() => {
            let finding = scarce(check, above, free(above));
            finding.unwrap_or_else(|| {
                Finding::ok(
                    check,
                    format!("{} is not there yet; it is made when needed", folder.display()),
                )
            })
        }
        Some(above) => Finding::failed(
            check,
            format!(
                "{} is not there and can't be made: make {} writable, or set TALARIA_HOME to another place",
                folder.display(),
                above.display()
            ),
        ),
        None => Finding::failed(check, format!("{} can't be made: set TALARIA_HOME", folder.display())),
    }
}

/// The room on the disk of a folder; where the system doesn't say, there is enough.
fn free(folder: &Path) -> u64 {
    statvfs(folder).map_or(u64::MAX, |facts| facts.f_bavail.saturating_mul(facts.f_frsize))
}

fn scarce(check: &'static str, folder: &Path, free: u64) -> Option<Finding> {
    let state = match free {
        ..LEAST => State::Failed,
        LEAST..SCARCE => State::Warning,
        SCARCE.. => return None,
    };
    let message = format!(
        "only {} are free on the disk of {}: make room",
        size(free),
        folder.display()
    );
    Some(Finding::new(check, state, message))
}

/// The folder and our files in it, where others may look into them: nobody reaches a file in a folder that is private,
/// whatever the file's own mode is. The file of keys has a check of its own.
fn open_to_others(folder: &Path) -> Vec<(PathBuf, u32)> {
    const OTHERS: u32 = 0o077;
    const NAMES: [&str; 7] = [
        "",
        "config.toml",
        "logs",
        "state.lock",
        "state.db",
        "state.db-wal",
        "state.db-shm",
    ];
    let mode = |path: &Path| Some(fs::metadata(path).ok()?.mode() & 0o777);
    if mode(folder).is_none_or(|mode| mode & OTHERS == 0) {
        return Vec::new();
    }
    let logs = fs::read_dir(folder.join("logs")).into_iter().flatten();
    let logs = logs.filter_map(|entry| Some(entry.ok()?.path()));
    let named = NAMES.map(|name| match name {
        "" => folder.to_owned(),
        name => folder.join(name),
    });
    let all = named.into_iter().chain(logs);
    let all = all.filter_map(|path| Some((mode(&path)?, path)));
    all.filter(|(mode, _)| mode & OTHERS != 0)
        .map(|(mode, path)| (path, mode))
        .collect()
}

fn words(path: &Path, mode: u32) -> String {
    format!("{} (mode {mode:04o})", path.display())
}

/// What makes it private.
fn command(path: &Path) -> String {
    let mode = if path.is_dir() { "700" } else { "600" };
    format!("`chmod {mode} {}`", quoted(path))
}

/// Where the log is.
pub(crate) fn log(paths: &Paths) -> Finding {
    let folder = paths.logs();
    let said = format!("{}, one a day", logging::file_of_today(&folder).display());
    match folder.is_dir().then(|| tempfile::tempfile_in(&folder)) {
        Some(Err(error)) => Finding::warning(
            "log",
            format!(
                "{said}; can't be written ({error}): check the owner of {}",
                folder.display()
            ),
        ),
        Some(Ok(_)) | None => Finding::ok("log", said),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn paths(home: &Path) -> Paths {
        Paths {
            config: home.join("c"),
            state: home.join("s"),
        }
    }

    fn states(folders: &Folders) -> Vec<(&'static str, State)> {
        let findings = folders.findings();
        findings.iter().map(|finding| (finding.check, finding.state)).collect()
    }

    #[test]
    fn each_folder_is_told() {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let expect = [("config folder", State::Ok), ("state folder", State::Ok)];
        assert_eq!(states(&Folders::before(&paths)), expect);
        fs::create_dir(&paths.state).unwrap();
        fs::set_permissions(&paths.state, Permissions::from_mode(0o755)).unwrap();
        fs::write(&paths.config, "").unwrap();
        let before = Folders::before(&paths);
        let expect = [("config folder", State::Failed), ("state folder", State::Warning)];
        assert_eq!(states(&before), expect);
        let message = &before.findings()[1].message;
        assert!(
            message.contains(&format!("`chmod 700 {}`", paths.state.display())),
            "{message}"
        );

        fs::set_permissions(&paths.state, Permissions::from_mode(0o700)).unwrap();
        let message = &before.findings()[1].message;
        assert!(
            message.contains("(mode 0755)") && message.contains("mended just now"),
            "{message}"
        );
        assert_eq!(states(&Folders::before(&paths))[1].1, State::Ok);
    }

    #[test]
    fn a_folder_in_other_use_is_not_to_be_made_private() {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        fs::create_dir(&paths.state).unwrap();
        fs::write(paths.state.join("passwd"), "x").unwrap();
        fs::set_permissions(&paths.state, Permissions::from_mode(0o755)).unwrap();
        let findings = Folders::before(&paths).findings();
        let finding = &findings[1];
        assert_eq!(finding.state, State::Failed);
        assert!(
            finding.message.contains("set TALARIA_HOME to a new or an empty folder")
                && !finding.message.contains("chmod"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn little_room_is_told() {
        let check = |free, expect: Option<State>| {
            let finding = scarce("state folder", Path::new("/s"), free);
            assert_eq!(finding.map(|finding| finding.state), expect, "{free}");
        };
        check(0, Some(State::Failed));
        check(LEAST, Some(State::Warning));
        check(SCARCE, None);
    }
}
