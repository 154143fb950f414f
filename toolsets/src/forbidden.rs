//! The folders whose files no tool touches in any mode. They are known by their names, and by what they are: a mount or a
//! hard link gives them other names, and a file of the history that is opened under any of these loses SQLite's locks.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many files and folders in them are known by what they are.
const MOST: usize = 10_000;

/// The folders.
pub(crate) struct Forbidden(Vec<PathBuf>);

/// What the folders and all that is in them are, as it was when that was looked up.
pub(crate) struct Known(HashSet<(u64, u64)>);

impl Forbidden {
    /// Takes real paths.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self(folders)
    }

    /// Whether a real path lies in one of them by its name.
    pub(crate) fn holds(&self, real: &Path) -> bool {
        self.0.iter().any(|folder| real.starts_with(folder))
    }

    /// Looks up what there is in them.
    pub(crate) fn known(&self) -> Known {
        let own = self.0.iter().filter_map(|folder| fs::symlink_metadata(folder).ok());
        // What the kernel makes up has no other names.
        let kept = self.0.iter().filter(|folder| !folder.starts_with("/proc"));
        let inside = kept.flat_map(|folder| {
            let walk = ignore::WalkBuilder::new(folder).standard_filters(false).build();
            walk.take(MOST)
                .filter_map(Result::ok)
                .filter_map(|entry| entry.metadata().ok())
        });
        Known(own.chain(inside).map(|facts| identity(&facts)).collect())
    }
}

impl Known {
    /// Whether this is one of them, under whatever name it was found.
    pub(crate) fn is(&self, facts: &Metadata) -> bool {
        self.0.contains(&identity(facts))
    }

    /// The same of the thing that a path leads to, and of the folders on the way.
    pub(crate) fn leads_to(&self, real: &Path) -> bool {
        real.ancestors()
            .filter_map(|path| fs::symlink_metadata(path).ok())
            .any(|facts| self.is(&facts))
    }
}

fn identity(facts: &Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}
