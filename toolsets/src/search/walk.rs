//! The files that a search looks into, in a stable order: no ignored ones, none behind links, none that a session
//! would be asked about before it reads them. What can't be looked into is kept apart, so that it is not taken for
//! empty.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::boundary::is_secret_name;
use agent_core::cancel::Cancel;
use globset::GlobMatcher;
use ignore::{DirEntry, Error, WalkBuilder};
use parking_lot::Mutex;

use crate::files::Files;
use crate::forbidden::Known;

/// Folders of version control, which hold no text of the project.
const SKIPPED: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Folders whose files are made up by the kernel as they are read, some without end.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// So many folders that could not be read are told by name.
const MOST_TOLD: usize = 5;
/// A longer path is cut, in characters.
const LONGEST_TOLD: usize = 200;

/// A walk under way.
pub(crate) struct Walk<'a> {
    entries: Box<dyn Iterator<Item = Result<DirEntry, Error>> + 'a>,
    /// What no tool touches.
    pub(crate) known: Arc<Known>,
    /// What could not be looked into so far.
    pub(crate) unread: Unread,
    /// What was left out as it may hold secrets; the walk adds to it.
    secret: Arc<Mutex<Vec<PathBuf>>>,
}

impl Walk<'_> {
    /// How many secret files and folders were left out that would have been searched, in a few words; empty if none.
    pub(crate) fn kept_secret(&self, wanted: impl Fn(&Path) -> bool) -> String {
        match self.secret.lock().iter().filter(|path| wanted(path)).count() {
            0 => String::new(),
            count => format!("; {count} left out that may hold secrets"),
        }
    }
}

/// Folders that could not be looked into.
#[derive(Default)]
pub(crate) struct Unread {
    count: u64,
    /// The first of them, with the reason.
    told: Vec<(PathBuf, String)>,
}

impl Unread {
    fn add(&mut self, error: &Error) {
        self.count += 1;
        if let (true, Some(path)) = (self.told.len() < MOST_TOLD, path(error)) {
            // The reason alone: the error itself names the whole path once more.
            let why = error
                .io_error()
                .map_or_else(|| error.to_string(), |error| error.kind().to_string());
            self.told.push((path.to_owned(), why));
        }
    }

    /// All of it in a few words; empty if there is nothing.
    pub(crate) fn summary(&self, shown: impl Fn(&Path) -> String) -> String {
        if self.count == 0 {
            return String::new();
        }
        let mut told: Vec<String> = self
            .told
            .iter()
            .map(|(path, why)| format!("{} ({why})", start(&shown(path))))
            .collect();
        let more = self.count - u64::try_from(told.len()).unwrap_or_default();
        if more > 0 {
            told.push(format!("{more} more"));
        }
        let noun = if self.count == 1 { "folder" } else { "folders" };
        format!("; {} {noun} could not be read: {}", self.count, told.join(", "))
    }
}

impl Iterator for Walk<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        loop {
            match self.entries.next()? {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => return Some(entry.into_path()),
                Ok(_) => {}
                Err(error) => self.unread.add(&error),
            }
        }
    }
}

/// The path that an error is about.
fn path(error: &Error) -> Option<&Path> {
    match error {
        Error::WithPath { path, .. } => Some(path),
        Error::Loop { child, .. } => Some(child),
        Error::WithLineNumber { err, .. } | Error::WithDepth { err, .. } => self::path(err),
        Error::Partial(errors) => errors.iter().find_map(self::path),
        Error::Io(_) | Error::Glob { .. } | Error::UnrecognizedFileType(_) | Error::InvalidDefinition => None,
    }
}

/// A path of which the beginning says enough.
fn start(shown: &str) -> String {
    match shown.char_indices().nth(LONGEST_TOLD) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.to_owned(),
    }
}

/// Walks the files below a real path. The path itself is taken even if it is ignored or secret: it was named, so
/// policy has judged it.
pub(crate) fn files<'a>(files: &'a Files, root: &Path, glob: Option<&'a GlobMatcher>, cancel: &'a Cancel) -> Walk<'a> {
    let base = root.to_owned();
    let known = Arc::new(files.places.known());
    let seen = Arc::clone(&known);
    let secret: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let left_out = Arc::clone(&secret);
    let keep = move |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_foreign = SKIPPED.contains(&name.as_ref())
            || KERNEL.iter().any(|folder| entry.path() == Path::new(folder))
            || entry.metadata().is_ok_and(|facts| seen.is(&facts));
        let is_secret = !is_foreign && is_secret_name(Path::new(name.as_ref()));
        if is_secret && entry.depth() > 0 {
            left_out.lock().push(entry.path().to_owned());
        }
        entry.depth() == 0 || !(is_foreign || is_secret)
    };
    let fits = move |path: &Path| glob.is_none_or(|glob| glob.is_match(relative(&base, path)));
    let entries = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(keep)
        .build()
        .take_while(|_| !cancel.is_set())
        .filter(move |entry| entry.as_ref().map_or(true, |entry| fits(entry.path())));
    Walk {
        entries: Box::new(entries),
        known,
        unread: Unread::default(),
        secret,
    }
}

/// The part of a path that globs are about.
pub(crate) fn relative<'a>(base: &Path, path: &'a Path) -> &'a Path {
    match path.strip_prefix(base) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside,
        Ok(_) | Err(_) => path.file_name().map_or(path, Path::new),
    }
}
