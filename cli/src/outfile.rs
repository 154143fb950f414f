//! Files that a command writes for the user: whole or not at all, for the user alone, and over another one only where
//! that was said. A link stays one: what it leads to is written over. What is no regular file, such as a device or a
//! pipe, is left alone, and so is all in the folders of the agent.

use std::fs::FileType;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::exit::Fail;

/// Where something goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outfile<'a> {
    /// None, or `-`, is stdout.
    pub(crate) path: Option<&'a Path>,
    /// Another file there is written over.
    pub(crate) force: bool,
    /// Folders of the agent, in which nothing is written for anybody else: the history lies there.
    pub(crate) own: &'a [PathBuf],
}

impl Outfile<'_> {
    /// The file; none is stdout.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.path.filter(|path| path.as_os_str() != "-")
    }

    /// Writes all of it.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Fail> {
        let Some(path) = self.file() else {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()?;
            return Ok(());
        };
        let place = self.place(path)?;
        if self.is_own(&place) {
            return Err(Fail::usage(format!(
                "can't write {}: it is in a folder of the agent's own, where its history and configuration lie. Name a file \
                 elsewhere",
                path.display()
            )));
        }
        self.put(&place, bytes).map_err(|error| {
            let path = path.display();
            if error.kind() == io::ErrorKind::AlreadyExists {
                return Fail::usage(format!(
                    "can't write {path}: it is there already. Add --force to write over it, or name another file"
                ));
            }
            anyhow::Error::new(error).context(format!("can't write {path}")).into()
        })
    }

    fn is_own(&self, place: &Path) -> bool {
        let folder = parent(place).canonicalize();
        folder.is_ok_and(|folder| {
            let mut own = self.own.iter().filter_map(|own| own.canonicalize().ok());
            own.any(|own| folder.starts_with(own))
        })
    }

    /// Where it is written: a link is followed. Nothing but a regular file is written over.
    fn place(&self, path: &Path) -> Result<PathBuf, Fail> {
        let refused = |what: &str| {
            let path = path.display();
            Fail::usage(format!(
                "can't write {path}: it is {what}, and only a regular file is written over. Name another file, or write to \
                 stdout with --output -"
            ))
        };
        let Ok(facts) = path.symlink_metadata() else {
            return Ok(path.to_owned());
        };
        let kind = match facts.is_symlink() {
            true => match path.metadata() {
                Ok(facts) => facts.file_type(),
                Err(_) => return Err(refused("a link that leads nowhere")),
            },
            false => facts.file_type(),
        };
        match what(kind) {
            Some(what) => Err(refused(what)),
            None if self.force => Ok(path.canonicalize()?),
            None => Ok(path.to_owned()),
        }
    }

    /// The temporary file is in the same folder, so that it takes its place in one step; only its user can read it.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = parent(path);
        if !self.force && path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut file = tempfile::Builder::new().prefix(".agent-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        let kept = match self.force {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        };
        kept.map(|_| ()).map_err(|error| error.error)
    }
}

/// The folder that a file is in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// What is there in the place of a regular file.
fn what(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_fifo() => Some("a pipe"),
        _ if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_written_for_its_user_and_over_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fn to(path: &Path, force: bool) -> Outfile<'_> {
            Outfile {
                path: Some(path),
                force,
                own: &[],
            }
        }
        to(&path, false).write(b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let fail = to(&path, false).write(b"two").unwrap_err();
        assert!(fail.error.to_string().contains("--force"), "{}", fail.error);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        to(&path, true).write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        for nowhere in [folder.path().to_owned(), folder.path().join("none/a.json")] {
            assert!(to(&nowhere, true).write(b"x").is_err());
        }
        // A link stays one, and what is no regular file stays what it is.
        std::os::unix::fs::symlink("a.json", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("lost")).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        to(&folder.path().join("link"), true).write(b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert!(folder.path().join("link").is_symlink());
        for (name, what) in [("pipe", "a pipe"), ("lost", "leads nowhere"), ("", "a folder")] {
            for force in [false, true] {
                let fail = to(&folder.path().join(name), force).write(b"x").unwrap_err();
                let said = fail.error.to_string();
                assert!(said.contains(what) && said.contains("--output -"), "{said}");
            }
        }
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert!(!folder.path().join("nowhere").exists());
        for name in ["link", "lost", "pipe"] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left there");
    }

    #[test]
    fn nothing_is_written_among_the_agents_own_files() {
        let folder = tempfile::tempdir().unwrap();
        let own = [folder.path().join("own"), folder.path().join("missing")];
        fs::create_dir_all(own[0].join("logs")).unwrap();
        fs::write(own[0].join("state.db"), "history").unwrap();
        std::os::unix::fs::symlink(own[0].join("state.db"), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(&own[0], folder.path().join("folder")).unwrap();
        for name in [
            "own/state.db",
            "own/new",
            "own/logs/x",
            "link",
            "folder/state.db",
            "own/logs/../new",
        ] {
            let to = Outfile {
                path: Some(&folder.path().join(name)),
                force: true,
                own: &own,
            };
            let fail = to.write(b"export").unwrap_err();
            assert!(fail.error.to_string().contains("agent's own"), "{name}: {}", fail.error);
        }
        assert_eq!(fs::read(own[0].join("state.db")).unwrap(), b"history");
        assert!(!own[0].join("new").exists());
    }
}
