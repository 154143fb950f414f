//! Where a tool's path argument really is, and the places that no tool may touch.
//!
//! Nothing else is judged here: whether a place outside of the roots is asked about is policy's to say.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use agent_core::plan::Place;
use agent_core::tool::ToolError;
use agent_core::workspace::Scope;

use crate::forbidden::{Forbidden, Known};
use crate::private;

/// As many symbolic links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// The places of one session.
pub(crate) struct Places {
    cwd: PathBuf,
    forbidden: Forbidden,
}

impl Places {
    pub(crate) fn new(scope: &Scope, forbidden: &[PathBuf]) -> Self {
        let mut forbidden: Vec<PathBuf> = forbidden
            .iter()
            .map(|path| real_path(path).unwrap_or_else(|_| path.clone()))
            .collect();
        // The environment and the memory of this process hold keys.
        forbidden.push(PathBuf::from(format!("/proc/{}", std::process::id())));
        Self {
            cwd: normalise(&scope.cwd),
            forbidden: Forbidden::new(forbidden),
        }
    }

    /// The session's folder.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Resolves a path argument against the session's folder. `~` is a name like any other.
    pub(crate) fn resolve(&self, text: &str) -> Result<Place, ToolError> {
        if text.is_empty() {
            return Err(ToolError::new(
                "the path is empty; give a path relative to the session's folder, or absolute",
            ));
        }
        self.locate(Path::new(text))
    }

    /// Resolves a path that is no argument, such as one from a link.
    pub(crate) fn locate(&self, path: &Path) -> Result<Place, ToolError> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            let message = format!("the path {path:?} contains a NUL character, which no file's name can; correct it");
            return Err(ToolError::new(message));
        }
        let path = normalise(&self.cwd.join(path));
        let real = real_path(&path)?;
        if self.forbids(&real) {
            return Err(self.refusal(&path));
        }
        if private::is_private(&real) {
            let shown = self.shown(&path);
            return Err(ToolError::new(format!("{shown} is not read: {}", private::REASON)));
        }
        Ok(Place { path, real })
    }

    /// A path as the model and people are shown it: relative inside the session's folder, else absolute.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// Whether a real path lies in a folder that no tool touches, by its name or by what it leads to.
    pub(crate) fn forbids(&self, real: &Path) -> bool {
        self.forbids_name(real) || self.known().leads_to(real)
    }

    /// Whether a real path lies in such a folder by its name.
    pub(crate) fn forbids_name(&self, real: &Path) -> bool {
        self.forbidden.holds(real)
    }

    /// What such folders and all that is in them are now, for who looks at many files.
    pub(crate) fn known(&self) -> Known {
        self.forbidden.known()
    }

    /// The sentence for a place that is forbidden.
    pub(crate) fn refusal(&self, path: &Path) -> ToolError {
        let shown = self.shown(path);
        ToolError::new(format!(
            "{shown} belongs to the agent itself (its configuration, keys and history), which no tool may read or \
             change in any mode; leave it alone"
        ))
    }
}

/// Takes `.` and `..` out by the text alone, so that every tool means the same file by the same path.
fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

/// Resolves the symbolic links of a path whose end need not exist, a dangling link's target included.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, ToolError> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let mut pending = reversed(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == ".." {
            // Only a link says so, and the system goes back only from a folder that is there.
            if !real.is_dir() {
                let message = format!(
                    "{} leads through a symbolic link to {}, which is no folder; name the file itself",
                    path.display(),
                    real.display()
                );
                return Err(ToolError::new(message));
            }
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let Ok(target) = fs::read_link(&next) else {
            real = fs::canonicalize(&next).unwrap_or(next);
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            let message = format!(
                "{} leads through more than {MAX_LINKS} symbolic links; name the file itself",
                path.display()
            );
            return Err(ToolError::new(message));
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        pending.extend(reversed(&target));
    }
    Ok(real)
}

/// The names of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir))
        .map(|component| component.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::Room;

    #[test]
    fn paths_are_resolved_against_the_folder_and_by_their_text() {
        let room = Room::new();
        let check = |input: &str, expect: &str| {
            let place = room.files.places.resolve(input).unwrap();
            assert_eq!(place.path, room.path(expect), "{input}");
            assert_eq!(place.real, room.path(expect), "{input}");
        };
        check("a.rs", "a.rs");
        check("./src/../a.rs", "a.rs");
        check("~", "~");
        check("~/x", "~/x");
        check("new/deep/file", "new/deep/file");
        check(".", "");
        check(&room.path("b").display().to_string(), "b");
        check(" a ", " a ");
    }

    #[test]
    fn odd_paths_are_errors_or_places_and_never_a_panic() {
        let room = Room::new();
        let long = "x/".repeat(5000);
        for odd in ["", "\0", "a\0b"] {
            assert!(room.files.places.resolve(odd).is_err(), "{odd:?}");
        }
        for odd in [
            "/",
            "..",
            "../../../../../../../..",
            "\u{202e}",
            "\n",
            "//",
            long.as_str(),
        ] {
            assert!(room.files.places.resolve(odd).is_ok(), "{odd:?}");
        }
    }

    #[test]
    fn links_are_resolved_also_to_what_does_not_exist() {
        let room = Room::new();
        let other = tempfile::tempdir().unwrap();
        let outside = other.path().canonicalize().unwrap();
        symlink(&outside, room.path("out")).unwrap();
        symlink(outside.join("missing"), room.path("dangling")).unwrap();
        symlink("../up", room.path("up")).unwrap();
        let real = |input: &str| room.files.places.resolve(input).unwrap().real;
        assert_eq!(real("out/new/file"), outside.join("new/file"));
        assert_eq!(real("dangling"), outside.join("missing"));
        assert_eq!(real("up"), room.path("").parent().unwrap().join("up"));
        assert_eq!(real("out/../x"), room.path("x"));
    }

    #[test]
    fn a_link_back_from_what_is_no_folder_leads_nowhere() {
        let room = Room::new();
        room.write("file", "x");
        for (name, target) in [("missing", "gone/.."), ("file-link", "file/.."), ("back", "..")] {
            symlink(target, room.path(name)).unwrap();
        }
        for name in ["missing", "missing/new", "file-link/new"] {
            let error = room.files.places.resolve(name).unwrap_err();
            assert!(error.message.contains("which is no folder"), "{name}: {error}");
        }
        assert!(room.files.places.resolve("back/new").is_ok());
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let room = Room::new();
        symlink("b", room.path("a")).unwrap();
        symlink("a", room.path("b")).unwrap();
        assert!(
            room.files
                .places
                .resolve("a")
                .unwrap_err()
                .message
                .contains("symbolic links")
        );
    }

    #[test]
    fn forbidden_folders_are_refused_by_every_name() {
        let room = Room::new();
        room.write_forbidden("state.db", "secret");
        symlink(room.forbidden(), room.path("link")).unwrap();
        fs::hard_link(room.forbidden().join("state.db"), room.path("hard")).unwrap();
        let direct = room.forbidden().join("state.db").display().to_string();
        let new = room.forbidden().join("new/file").display().to_string();
        for name in [
            direct.as_str(),
            new.as_str(),
            "link/state.db",
            "link",
            "hard",
            "/proc/self/environ",
        ] {
            let error = room.files.places.resolve(name).unwrap_err();
            assert!(error.message.contains("belongs to the agent itself"), "{name}: {error}");
        }
    }

    #[test]
    fn environments_and_memories_are_refused() {
        let room = Room::new();
        symlink("/proc/1", room.path("init")).unwrap();
        for name in [
            "/proc/1/environ",
            "/proc/1/mem",
            "init/environ",
            "/proc/thread-self/environ",
        ] {
            let error = room.files.places.resolve(name).unwrap_err();
            assert!(error.message.contains("keys"), "{name}: {error}");
        }
    }
}
