//! Taking back what was done of edits that can't all be made.

use std::path::PathBuf;

use agent_core::tool::ToolError;

use super::Edit;
use super::step::Fault;
use crate::files::Files;
use crate::held::Held;

/// What was done so far, to be taken back.
#[derive(Default)]
pub(super) struct WayBack<'a> {
    pub(super) done: Vec<&'a Edit>,
    /// Folders that were made, each before those inside it.
    pub(super) folders: Vec<PathBuf>,
}

/// How it went to take back what was done.
#[derive(Debug)]
pub(super) struct Back {
    /// Files that could not be put back, and why.
    left: Vec<String>,
    /// Files that someone else has changed in between.
    changed: Vec<String>,
}

/// More files than this, or more bytes, are a long way: each file waits for the disk.
const MOST_FILES: usize = 32;
const MOST_BYTES: usize = 16 * 1024 * 1024;

impl WayBack<'_> {
    /// Whether somebody who waits for it would notice.
    pub(super) fn is_long(&self) -> bool {
        let size = |edit: &&Edit| edit.base().map_or(0, <[u8]>::len);
        self.done.len() > MOST_FILES || self.done.iter().map(size).sum::<usize>() > MOST_BYTES
    }

    /// Takes everything back.
    pub(super) fn run(self, files: &Files) -> Back {
        let (mut left, mut changed) = (Vec::new(), Vec::new());
        for edit in self.done.iter().rev() {
            let step = edit.back();
            let shown = || files.places.shown(&edit.place.path);
            match step.take(&mut Vec::new(), |held| step.look(files, held)) {
                Ok(()) => {}
                Err(Fault::Changed) => changed.push(shown()),
                Err(fault @ (Fault::Tool(_) | Fault::Io(_))) => {
                    left.push(format!("{} ({})", shown(), fault.told(files, &edit.place)));
                }
            }
        }
        for folder in self.folders.iter().rev() {
            // A folder that is not empty by now has become someone else's.
            let _ = Held::find(folder).and_then(|held| held.remove_folder());
        }
        Back { left, changed }
    }
}

impl Back {
    /// What is not as it was before; none if all is.
    pub(super) fn rest(&self) -> Option<String> {
        let left =
            (!self.left.is_empty()).then(|| format!("these files could not be put back: {}", self.left.join(", ")));
        let changed = (!self.changed.is_empty()).then(|| {
            let changed = self.changed.join(", ");
            format!("these files were changed by this call and then by someone else, and stay so: {changed}")
        });
        let rest: Vec<String> = left.into_iter().chain(changed).collect();
        (!rest.is_empty()).then(|| rest.join("; "))
    }

    /// That, behind the error that made it necessary.
    pub(super) fn behind(&self, error: &str) -> ToolError {
        let rest = self.rest();
        ToolError::new(format!("{error}; {}", rest.as_deref().unwrap_or("no file was changed")))
    }
}
