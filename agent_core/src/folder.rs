//! Folders for the user's private files. One that was there before is taken only if it is ours, and only then may its
//! mode be changed: whoever names `/etc` by mistake must find it as it was.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Files and folders that we put into our folders, and those that a user puts there for us.
const OURS: [&str; 5] = ["config.toml", ".env", "AGENTS.md", "logs", "models.json"];

/// A folder can't be used for private files.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It can't be made or looked at.
    #[error("can't use the folder {}: check that it can be written", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else is in its place.
    #[error("{} is not a folder: move it away, or set TALARIA_HOME to another place", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error(
        "{} belongs to the user with the number {owner}, not to the one who runs this: set TALARIA_HOME to a folder of \
         your own", path.display()
    )]
    ForeignOwner {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Every user may put files there.
    #[error("{} is shared by all users: set TALARIA_HOME to a folder of your own", path.display())]
    Shared {
        /// The folder.
        path: PathBuf,
    },
    /// It has files of others and none of ours.
    #[error(
        "{} holds other files and none of this program's: set TALARIA_HOME to a new or an empty folder", path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

/// Makes sure that a folder is there, and that only this user can look into it if nothing but our files are in it.
///
/// # Errors
/// When it can't be made, or is none that private files may be put into; it is left as it was then.
pub fn private_folder(path: &Path) -> Result<(), FolderError> {
    let failed = |source| FolderError::Io {
        path: path.to_owned(),
        source,
    };
    if !path.exists()
        && let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(path)
    {
        let blocked = matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory);
        return Err(if blocked { not_a_folder(path) } else { failed(error) });
    }
    match kind(path)? {
        // In a shared one our files are private all the same.
        Kind::Private | Kind::Shared => Ok(()),
        Kind::Ours if fs::symlink_metadata(path).map_err(failed)?.is_symlink() => Ok(()),
        Kind::Ours => fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed),
    }
}

/// Looks whether private files may be put into a folder that is there, and changes nothing.
///
/// # Errors
/// When it is none for them.
pub fn fit_for_private(path: &Path) -> Result<(), FolderError> {
    kind(path).map(drop)
}

/// A folder that private files may be put into.
enum Kind {
    /// Nobody else can look into it.
    Private,
    /// Others can, and it has nothing but our files.
    Ours,
    /// Others can, and it has files of others too.
    Shared,
}

fn kind(path: &Path) -> Result<Kind, FolderError> {
    let failed = |source| FolderError::Io {
        path: path.to_owned(),
        source,
    };
    // A folder may be a link to where its user wants it; what counts is the folder behind it.
    let facts = fs::metadata(path).map_err(failed)?;
    if !facts.is_dir() {
        return Err(not_a_folder(path));
    }
    if facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderError::ForeignOwner {
            path: path.to_owned(),
            owner: facts.uid(),
        });
    }
    if facts.mode() & 0o1000 != 0 {
        return Err(FolderError::Shared { path: path.to_owned() });
    }
    if facts.mode() & 0o777 == 0o700 {
        return Ok(Kind::Private);
    }
    match Contents::of(path).map_err(failed)? {
        Contents::Others => Err(FolderError::InUse { path: path.to_owned() }),
        Contents::Mixed => Ok(Kind::Shared),
        Contents::Ours => Ok(Kind::Ours),
    }
}

/// Whose files a folder has.
enum Contents {
    /// Ours, if any.
    Ours,
    Mixed,
    Others,
}

impl Contents {
    fn of(folder: &Path) -> io::Result<Self> {
        let (mut ours, mut others) = (false, false);
        for entry in fs::read_dir(folder)? {
            if is_ours(&entry?.file_name()) {
                ours = true;
            } else {
                others = true;
            }
        }
        Ok(match (ours, others) {
            (_, false) => Self::Ours,
            (true, true) => Self::Mixed,
            (false, true) => Self::Others,
        })
    }
}

fn is_ours(name: &OsStr) -> bool {
    let is_log = |name: &str| name.starts_with("agent.") && name.ends_with(".log");
    // The store's files and what is kept of an older one.
    let is_state = |name: &str| {
        name == "state.lock" || name == "state.db" || name.starts_with("state.db-") || name.starts_with("state.db.")
    };
    name.to_str()
        .is_some_and(|name| OURS.contains(&name) || is_state(name) || is_log(name))
}

fn not_a_folder(path: &Path) -> FolderError {
    FolderError::NotAFolder { path: path.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    /// What becomes of a folder of this mode with these files: its mode, or what the error says.
    fn check(files: &[&str], found: u32, expect: Result<u32, &str>) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("home");
        fs::create_dir(&folder).unwrap();
        for file in files {
            fs::write(folder.join(file), "x").unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(found)).unwrap();
        let taken = private_folder(&folder).map_err(|error| error.to_string());
        let now = mode(&folder);
        match expect {
            Ok(mode) => assert_eq!((taken, now), (Ok(()), mode), "{files:?}"),
            Err(part) => {
                assert!(
                    taken.as_ref().is_err_and(|error| error.contains(part)),
                    "{files:?}: {taken:?}"
                );
                assert_eq!(now, found, "it is left as it was");
            }
        }
    }

    #[test]
    fn a_folder_is_made_private_only_if_it_is_ours() {
        check(&[], 0o755, Ok(0o700));
        check(&["config.toml", "AGENTS.md"], 0o755, Ok(0o700));
        check(&["agent.2026-11-30.log"], 0o750, Ok(0o700));
        check(&["state.db", "notes.txt"], 0o755, Ok(0o755));
        check(&["passwd"], 0o755, Err("holds other files and none of this program's"));
        check(&["passwd"], 0o700, Ok(0o700));
        check(&[], 0o1777, Err("shared by all users"));
    }

    #[test]
    fn a_folder_that_is_missing_is_made_with_those_above_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/talaria");
        private_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn a_file_in_the_place_of_a_folder_is_told() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("talaria");
        fs::write(&path, "").unwrap();
        let error = private_folder(&path).unwrap_err().to_string();
        assert!(error.contains("is not a folder"), "{error}");
    }

    #[test]
    fn a_link_and_what_it_leads_to_keep_their_modes() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        fs::create_dir(&real).unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        private_folder(&link).unwrap();
        assert_eq!(mode(&real), 0o755);
    }
}
