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

/// As many symbolic links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// Whether the way to a file leads through `/proc` or `/dev`: what `/proc/self/cwd` or `/dev/fd` is for this process it is
/// not for the command, which then reads another file than the one that was looked at.
fn passes_processes(path: &Path) -> bool {
    let odd = |place: &Path| place.starts_with("/proc") || place.starts_with("/dev");
    let mut pending: Vec<PathBuf> = vec![path.to_path_buf()];
    let (mut place, mut links) = (PathBuf::from("/"), 0);
    while let Some(way) = pending.pop() {
        let mut parts = way.components();
        while let Some(part) = parts.next() {
            match part {
                Component::RootDir => place = PathBuf::from("/"),
                Component::ParentDir => drop(place.pop()),
                Component::Normal(name) => place.push(name),
                Component::CurDir | Component::Prefix(_) => {}
            }
            if odd(&place) {
                return true;
            }
            if let (Component::Normal(_), Ok(target)) = (part, place.read_link()) {
                links += 1;
                if links > MOST_LINKS {
                    return true;
                }
                place.pop();
                pending.push(parts.as_path().to_path_buf());
                pending.push(target);
                break;
            }
        }
    }
    false
}

impl Ground<'_> {
    /// That the path, from `cwd`, may be read without a question: inside the roots, not secret, not ours; or why not.
    pub(super) fn may_read(&self, cwd: &Path, path: &str) -> Result<(), String> {
        let named = cwd.join(path);
        let place = real(&named);
        let said = if named.is_symlink() && !named.exists() {
            "is a link that leads nowhere"
        } else if passes_processes(&named) {
            "leads to something else in each process"
        } else if !self.in_roots(&place) {
            "is outside the workspace"
        } else if self.is_secret(&named) || self.is_secret(&place) {
            "may hold secrets"
        } else if self.is_forbidden(&place) {
            "belongs to the agent itself"
        } else {
            return Ok(());
        };
        Err(format!("`{path}` {said}"))
    }

    /// Whether the path, from `cwd`, needs no question of its own: it may be read, and writing it steers nothing.
    pub(super) fn is_usual(&self, path: &str) -> bool {
        let named = self.cwd.join(path);
        let steers = |path: &Path| is_protected_name(self.below_root(path));
        self.may_read(self.cwd, path).is_ok() && !steers(&named) && !steers(&real(&named))
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
