//! The files that a search looks into, in a stable order: no ignored ones, none behind links, none that a session
//! would be asked about before it reads them.

use std::path::{Path, PathBuf};

use agent_core::boundary::is_secret_name;
use agent_core::cancel::Cancel;
use globset::GlobMatcher;
use ignore::{DirEntry, WalkBuilder};

use crate::files::Files;

/// Folders of version control, which hold no text of the project.
const SKIPPED: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Folders whose files are made up by the kernel as they are read, some without end.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Walks the files below a real path. The path itself is taken even if it is ignored or secret: it was named, so
/// policy has judged it.
pub(crate) fn files<'a>(
    files: &'a Files,
    root: &Path,
    glob: Option<&'a GlobMatcher>,
    cancel: &'a Cancel,
) -> impl Iterator<Item = PathBuf> + 'a {
    let base = root.to_owned();
    let forbidden: Vec<PathBuf> = files.places.forbidden().to_vec();
    let keep = move |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0
            || !(SKIPPED.contains(&name.as_ref())
                || is_secret_name(Path::new(name.as_ref()))
                || KERNEL.iter().any(|folder| entry.path() == Path::new(folder))
                || forbidden.iter().any(|folder| entry.path().starts_with(folder)))
    };
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(keep)
        .build()
        .take_while(|_| !cancel.is_set())
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(DirEntry::into_path)
        .filter(move |path| glob.is_none_or(|glob| glob.is_match(relative(&base, path))))
}

/// The part of a path that globs are about.
pub(crate) fn relative<'a>(base: &Path, path: &'a Path) -> &'a Path {
    match path.strip_prefix(base) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside,
        Ok(_) | Err(_) => path.file_name().map_or(path, Path::new),
    }
}
