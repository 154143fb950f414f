//! Paths as commands name them: where they really are, and which of them may be read.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use agent_core::boundary::{is_protected_name, is_secret_name};

use super::Ground;

/// A path with all symbolic links of its existing part resolved, and `.` and `..` taken out of the rest.
pub(crate) fn real(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    match existing {
        Some((ancestor, real)) => joined(real, path.strip_prefix(ancestor).unwrap_or(Path::new(""))),
        None => lexical(path),
    }
}

/// An absolute path with `.` and `..` taken out, without looking at the disk.
pub(super) fn lexical(path: &Path) -> PathBuf {
    joined(PathBuf::from("/"), path)
}

fn joined(mut base: PathBuf, rest: &Path) -> PathBuf {
    for component in rest.components() {
        match component {
            Component::ParentDir => drop(base.pop()),
            Component::Normal(name) => base.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    base
}

impl Ground<'_> {
    /// Whether the path, from `cwd`, may be read without a question: inside the roots, not secret, not ours.
    pub(super) fn may_read(&self, cwd: &Path, path: &str) -> bool {
        let named = cwd.join(path);
        let place = real(&named);
        let dangling = named.is_symlink() && !named.exists();
        !dangling
            && self.in_roots(&place)
            && !self.is_secret(&named)
            && !self.is_secret(&place)
            && !self.is_forbidden(&place)
    }

    /// Whether the path, from `cwd`, needs no question of its own: it may be read, and writing it steers nothing.
    pub(super) fn is_usual(&self, path: &str) -> bool {
        let named = self.cwd.join(path);
        let steers = |path: &Path| is_protected_name(self.below_root(path));
        self.may_read(self.cwd, path) && !steers(&named) && !steers(&real(&named))
    }

    /// Whether it holds credentials by its name below the root it lies in.
    fn is_secret(&self, path: &Path) -> bool {
        is_secret_name(self.below_root(path))
    }

    fn below_root<'p>(&self, path: &'p Path) -> &'p Path {
        let below = self.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        below.unwrap_or(path)
    }

    pub(super) fn in_roots(&self, place: &Path) -> bool {
        self.roots.iter().any(|root| place.starts_with(root))
    }

    pub(super) fn is_forbidden(&self, place: &Path) -> bool {
        self.forbidden.iter().any(|folder| place.starts_with(folder))
    }

    /// The file that a program's name leads to; none if a relative folder of the PATH comes before it.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.search_path).take_while(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
