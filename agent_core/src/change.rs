//! A change of one file, as people see it.

use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::plan::Place;

/// What will be different about a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    #[serde(flatten)]
    pub place: Place,
    /// The text before; none for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The text after; none for a deleted file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// `old` and `new` hold only the changed hunks with their context, since the file is large.
    #[serde(default)]
    pub excerpt: bool,
}

/// A file above this size, in bytes, is shown by its hunks.
pub const EXCERPT_ABOVE: usize = 128 * 1024;

impl FileChange {
    /// Shows a change from `old` to `new`, whole or by its hunks as its size wants it.
    pub fn new(place: Place, old: Option<&str>, new: Option<&str>) -> Self {
        let size = old.map_or(0, str::len).max(new.map_or(0, str::len));
        match (old, new) {
            (Some(old), Some(new)) if size > EXCERPT_ABOVE => {
                let (old, new) = hunks(old, new);
                Self {
                    place,
                    old: Some(old),
                    new: Some(new),
                    excerpt: true,
                }
            }
            _ => Self {
                place,
                old: old.map(str::to_owned),
                new: new.map(str::to_owned),
                excerpt: false,
            },
        }
    }

    /// The change as a unified diff, for a terminal.
    pub fn unified(&self) -> String {
        let name = self.place.path.display().to_string();
        let from = self.old.as_ref().map_or("/dev/null", |_| name.as_str());
        let to = self.new.as_ref().map_or("/dev/null", |_| name.as_str());
        TextDiff::from_lines(self.old.as_deref().unwrap_or(""), self.new.as_deref().unwrap_or(""))
            .unified_diff()
            .context_radius(3)
            .header(from, to)
            .to_string()
    }
}

/// The changed hunks of both sides with three lines of context, a line `…` between hunks.
fn hunks(old: &str, new: &str) -> (String, String) {
    let diff = TextDiff::from_lines(old, new);
    let (mut before, mut after) = (String::new(), String::new());
    for (index, group) in diff.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            before.push_str("…\n");
            after.push_str("…\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            match change.tag() {
                similar::ChangeTag::Equal => {
                    before.push_str(change.value());
                    after.push_str(change.value());
                }
                similar::ChangeTag::Delete => before.push_str(change.value()),
                similar::ChangeTag::Insert => after.push_str(change.value()),
            }
        }
    }
    (before, after)
}
