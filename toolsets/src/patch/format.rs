//! What a patch in either format says, and the faults it can have.

use super::hunk::{Hunk, HunkLine};
use super::{unified, v4a};

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilePatch {
    /// The file, as the patch names it.
    pub(crate) path: String,
    pub(crate) action: FileAction,
}

/// The ways to change a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FileAction {
    /// Makes it with this text.
    Add(String),
    Delete,
    Update {
        /// Its new path.
        to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// Why a text is no patch. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum FormatError {
    #[error(
        "the patch has neither a line `*** Begin Patch` nor the `---`, `+++` and `@@` lines of a unified diff; write it in \
         one of the two formats, or use old_string and new_string"
    )]
    Unknown,
    #[error("the patch has no line `*** End Patch`; it may have been cut off, so nothing was changed: send it whole")]
    NoEnd,
    #[error("the patch changes no file")]
    NoFile,
    #[error("line {line} of the patch, {text:?}, was not expected there: {expected}")]
    Unexpected {
        line: usize,
        text: String,
        expected: &'static str,
    },
    #[error("the patch names no change for {0}")]
    NoChange(String),
    #[error("the patch of {0} is binary; use a command instead")]
    Binary(String),
}

/// Reads a patch in whichever format it is.
pub(crate) fn parse(patch: &str) -> Result<Vec<FilePatch>, FormatError> {
    let lines: Vec<&str> = patch.lines().collect();
    let files = if lines.iter().any(|line| line.trim_end() == v4a::BEGIN) {
        v4a::parse(&lines)?
    } else if lines
        .iter()
        .any(|line| line.starts_with("+++ ") || line.starts_with("diff --git "))
    {
        unified::parse(&lines)?
    } else {
        return Err(FormatError::Unknown);
    };
    if files.is_empty() {
        Err(FormatError::NoFile)
    } else {
        Ok(files)
    }
}

/// Takes off the empty lines at a hunk's end that only separate it from what follows.
pub(crate) fn trim_separators(hunk: &mut Hunk, empty: usize) {
    for _ in 0..empty {
        if hunk.lines.last() == Some(&HunkLine::Keep(String::new())) {
            hunk.lines.pop();
        }
    }
}

/// The paths that a patch names, for a title; any text may come.
pub(crate) fn paths(patch: &str) -> Vec<&str> {
    let prefixes = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "+++ b/",
        "+++ ",
    ];
    let name = |line: &'_ str| -> Option<usize> {
        prefixes
            .iter()
            .find(|prefix| line.starts_with(**prefix))
            .map(|prefix| prefix.len())
    };
    patch
        .lines()
        .filter_map(|line| name(line).map(|at| line[at..].trim()))
        .filter(|path| *path != "/dev/null")
        .collect()
}
