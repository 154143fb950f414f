//! Where the user's files are, and how they are kept private. The only module that knows the home folder.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agent_core::folder::private_folder;

/// The user's two folders. Nothing is created until it is written to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paths {
    /// Holds `config.toml` and `.env`.
    pub(crate) config: PathBuf,
    /// Holds `state.db` and `logs`.
    pub(crate) state: PathBuf,
}

/// There is no place for the user's files.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("can't tell where your files belong: neither HOME nor TALARIA_HOME is set")]
pub(crate) struct NoHome;

/// `TALARIA_HOME` names a folder that depends on where one is. In a workspace it would let that choose the
/// configuration, so it is no matter of convenience.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "TALARIA_HOME is `{0}`, a relative path, so that your files would be elsewhere in each folder: give an absolute one"
)]
pub(crate) struct RelativeHome(String);

/// The folder that `TALARIA_HOME` names; an empty value names none.
pub(crate) fn chosen_home() -> Result<Option<PathBuf>, RelativeHome> {
    chosen(std::env::var_os("TALARIA_HOME").map(PathBuf::from))
}

fn chosen(home: Option<PathBuf>) -> Result<Option<PathBuf>, RelativeHome> {
    match home.filter(|home| !home.as_os_str().is_empty()) {
        Some(home) if home.is_relative() => Err(RelativeHome(home.display().to_string())),
        home => Ok(home),
    }
}

impl Paths {
    /// The folders of this user: `chosen` for all, or else the usual ones.
    ///
    /// # Errors
    /// [`NoHome`] where none is chosen and the system knows no home folder.
    pub(crate) fn find(chosen: Option<PathBuf>) -> Result<Self, NoHome> {
        Self::from_parts(chosen, dirs::config_dir(), dirs::data_dir())
    }

    /// `chosen` puts everything into one folder; otherwise each kind has its place.
    fn from_parts(chosen: Option<PathBuf>, config: Option<PathBuf>, data: Option<PathBuf>) -> Result<Self, NoHome> {
        if let Some(home) = chosen {
            return Ok(Self {
                config: home.clone(),
                state: home,
            });
        }
        match (config, data) {
            (Some(config), Some(data)) => Ok(Self {
                config: config.join("talaria"),
                state: data.join("talaria"),
            }),
            (None, _) | (_, None) => Err(NoHome),
        }
    }

    /// The configuration.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The keys that setup stored.
    pub(crate) fn env_file(&self) -> PathBuf {
        self.config.join(".env")
    }

    /// The user's own rules for all their work.
    pub(crate) fn rules_file(&self) -> PathBuf {
        self.config.join("AGENTS.md")
    }

    /// What services said of their models.
    pub(crate) fn models_file(&self) -> PathBuf {
        self.state.join("models.json")
    }

    /// Whether there are sessions already, as far as anybody may know.
    pub(crate) fn has_database(&self) -> bool {
        ["state.db", "state.db-wal", "state.db-journal"].iter().any(|name| {
            match self.state.join(name).symlink_metadata() {
                Ok(_) => true,
                Err(error) => error.kind() == ErrorKind::PermissionDenied,
            }
        })
    }

    /// The log files.
    pub(crate) fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// What no tool may touch in any mode.
    pub(crate) fn forbidden(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.config.clone(), self.state.clone()];
        folders.dedup();
        folders
    }
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Opens a private file for appending; makes it if it isn't there. A link in its place is not followed.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Writes a private file whole, or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().expect("a file of ours is in a folder of ours");
    private_folder(folder)?;
    // A configuration that is a link, as dotfile managers make them, stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = target.parent().unwrap_or(folder);
    let written = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(beside)?;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&target)?;
        Ok(())
    };
    written().map_err(|error| anyhow::anyhow!("can't write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn one_variable_moves_everything() {
        let (config, data) = (Some(PathBuf::from("/c")), Some(PathBuf::from("/d")));
        let usual = Paths {
            config: "/c/talaria".into(),
            state: "/d/talaria".into(),
        };
        let check = |chosen: Option<&str>, expect: &Paths| {
            let found = Paths::from_parts(chosen.map(PathBuf::from), config.clone(), data.clone());
            assert_eq!(found.as_ref(), Ok(expect), "{chosen:?}");
        };
        check(None, &usual);
        check(
            Some("/t"),
            &Paths {
                config: "/t".into(),
                state: "/t".into(),
            },
        );
        assert_eq!(Paths::from_parts(None, None, data), Err(NoHome));
    }

    #[test]
    fn a_chosen_folder_is_the_same_from_everywhere() {
        let check = |home: Option<&str>, expect: Result<Option<&str>, &str>| {
            let found = chosen(home.map(PathBuf::from));
            let expect = expect
                .map(|home| home.map(PathBuf::from))
                .map_err(|home| RelativeHome(home.into()));
            assert_eq!(found, expect, "{home:?}");
        };
        check(None, Ok(None));
        check(Some(""), Ok(None));
        check(Some("/t"), Ok(Some("/t")));
        check(Some("t"), Err("t"));
        check(Some("./t"), Err("./t"));
        // The shell has not expanded it.
        check(Some("~/t"), Err("~/t"));
    }

    #[test]
    fn written_files_are_private_and_links_stay_links() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("talaria/.env");
        write_private(&path, "A=1\n").unwrap();
        assert_eq!(mode(&path), 0o600);

        let real = home.path().join("real.toml");
        fs::write(&real, "old").unwrap();
        let link = home.path().join("talaria/config.toml");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_private(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    }

    #[test]
    fn a_path_is_quoted_where_a_shell_would_cut_it() {
        let check = |path: &str, expect: &str| assert_eq!(quoted(Path::new(path)), expect);
        check("/home/me/.config/talaria", "/home/me/.config/talaria");
        check("/Users/me/Application Support", "'/Users/me/Application Support'");
        check("/it's", r"'/it'\''s'");
    }

    #[test]
    fn an_appended_file_is_private_and_no_link() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.log");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        private_file(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        let link = home.path().join("b.log");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(private_file(&link).is_err());
    }
}
