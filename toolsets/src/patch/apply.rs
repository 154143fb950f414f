//! Applying an edit to a text: pure, all or nothing, and without touching a byte that the edit does not mean.

use agent_core::cancel::Cancel;

use super::find::Level;
use super::hunk::{self, Hunk};
use super::nearest::Nearest;
use super::replace;
use crate::files::MAX_WHOLE;

/// What is to be changed in one text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// A text for another.
    Replace {
        old: String,
        new: String,
        /// Everywhere, not at its one place.
        all: bool,
    },
    /// Hunks of a patch.
    Hunks(Vec<Hunk>),
}

/// What came of an edit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// The most tolerant level that was needed.
    pub(crate) level: Level,
    /// How many places were changed.
    pub(crate) places: usize,
}

/// Why an edit does not fit a text. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum MatchError {
    #[error("the text to replace is empty; give the text that stands there now, or use write_file for a new file")]
    Empty,
    #[error("the edit would change nothing; give a new text that differs from what stands there")]
    Same,
    #[error("the text to replace is not there; {0}")]
    NotFound(Nearest),
    #[error(
        "the text to replace stands at {} places (lines {}); add lines around it until it is unique{}",
        .places, numbers(.lines, *.places), if *.in_hunk { " (or an @@ line before it)" } else { ", or set replace_all" }
    )]
    Ambiguous {
        places: usize,
        /// The lines of the first few.
        lines: Vec<usize>,
        in_hunk: bool,
    },
    #[error("the line {0:?} after @@ is not there; use a line that is, or leave it out")]
    NoAnchor(String),
    #[error("two hunks change the same lines near line {0}; join them")]
    Overlap(usize),
    #[error(
        "replacing the text at {places} places would make the file larger than the {MAX_WHOLE} bytes that are changed \
         as a whole; use a command instead"
    )]
    TooLarge { places: usize },
    #[error("cancelled while its place was looked for; nothing was changed")]
    Cancelled,
}

/// Applies an edit.
///
/// # Errors
/// The place that it means is not there, or there is more than one; or nobody waits any more.
pub(crate) fn apply(text: &str, change: &Change, cancel: &Cancel) -> Result<Applied, MatchError> {
    let applied = match change {
        Change::Replace { old, new, all } => replace::replace(text, old, new, *all, cancel)?,
        Change::Hunks(hunks) => hunk::apply(text, hunks, cancel)?,
    };
    if applied.text == text {
        Err(MatchError::Same)
    } else {
        Ok(applied)
    }
}

/// So many of the places are told by their lines.
pub(super) const TOLD: usize = 10;

/// The numbers in words.
fn numbers(lines: &[usize], places: usize) -> String {
    let mut shown: Vec<String> = lines.iter().map(usize::to_string).collect();
    if places > lines.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
