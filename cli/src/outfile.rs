//! Files that a command writes for the user: whole or not at all, for the user alone, and over another one only where
//! that was said.

use std::io::{self, Write};
use std::path::Path;

use crate::exit::Fail;

/// Where something goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outfile<'a> {
    /// None, or `-`, is stdout.
    pub(crate) path: Option<&'a Path>,
    /// Another file there is written over.
    pub(crate) force: bool,
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
        self.put(path, bytes).map_err(|error| {
            let path = path.display();
            if error.kind() == io::ErrorKind::AlreadyExists {
                return Fail::usage(format!(
                    "can't write {path}: it is there already. Add --force to write over it, or name another file"
                ));
            }
            anyhow::Error::new(error).context(format!("can't write {path}")).into()
        })
    }

    /// The temporary file is in the same folder, so that it takes its place in one step; only its user can read it.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        if !self.force && path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
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
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else is left there");
    }
}
