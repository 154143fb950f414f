//! A change of one file, as people see it.

use std::time::Duration;

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
    /// The size in bytes of what is taken away, where that is no text that could be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<u64>,
}

/// A file above this size, in bytes, is shown by its hunks.
pub const EXCERPT_ABOVE: usize = 128 * 1024;

/// So many lines are shown around what has changed.
const CONTEXT: usize = 3;

/// A longer line of an excerpt is cut, in bytes.
const LONG_LINE: usize = 4 * 1024;

/// So much of a long line is shown around what differs, in bytes.
const AROUND: usize = 200;

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
                    binary: None,
                }
            }
            _ => Self {
                place,
                old: old.map(str::to_owned),
                new: new.map(str::to_owned),
                excerpt: false,
                binary: None,
            },
        }
    }

    /// The same where what was there is no text, and has this size.
    #[must_use]
    pub fn of_binary(self, size: u64) -> Self {
        Self {
            binary: Some(size),
            ..self
        }
    }

    /// What no diff can show of it, in words that follow the file's name.
    pub fn unshown(&self) -> Option<String> {
        let size = self.binary?;
        Some(match self.new {
            None => format!("the binary file of {size} bytes is deleted"),
            Some(_) => format!("the binary file of {size} bytes that was there is replaced"),
        })
    }

    /// The change as a unified diff, for a terminal.
    pub fn unified(&self) -> String {
        let name = self.place.path.display().to_string();
        let from = self.old.as_ref().map_or("/dev/null", |_| name.as_str());
        let to = self.new.as_ref().map_or("/dev/null", |_| name.as_str());
        diff(self.old.as_deref().unwrap_or(""), self.new.as_deref().unwrap_or(""))
            .unified_diff()
            .context_radius(3)
            .header(from, to)
            .to_string()
    }
}

/// The changed hunks of both sides with three lines of context, a line `…` between hunks.
fn hunks(old: &str, new: &str) -> (String, String) {
    let (old, new) = differing(old, new);
    let diff = diff(old, new);
    let (mut before, mut after) = (String::new(), String::new());
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            before.push_str("…\n");
            after.push_str("…\n");
        }
        for op in group {
            let old: Vec<&str> = op.old_range().filter_map(|line| diff.old_slice(line)).collect();
            let new: Vec<&str> = op.new_range().filter_map(|line| diff.new_slice(line)).collect();
            let all = |lines: &[&str], others: &[&str]| -> String {
                let other = |index: usize| others.get(index).copied().unwrap_or_default();
                lines
                    .iter()
                    .enumerate()
                    .map(|(index, line)| excerpt(line, other(index)))
                    .collect()
            };
            before.push_str(&all(&old, &new));
            after.push_str(&all(&new, &old));
        }
    }
    (before, after)
}

/// Both sides without most of what they have in common at their ends: a diff takes many times the size of a text.
fn differing<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let prefix = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let rest = old.len().min(new.len()) - prefix;
    let backward = old.as_bytes().iter().rev().zip(new.as_bytes().iter().rev());
    let suffix = backward.take(rest).take_while(same).count();
    let before = old.as_bytes()[..prefix].iter().enumerate().rev();
    let from = before
        .filter(|(_, byte)| **byte == b'\n')
        .nth(CONTEXT)
        .map_or(0, |(at, _)| at + 1);
    let behind = old.as_bytes()[old.len() - suffix..].iter().enumerate();
    let to = behind
        .filter(|(_, byte)| **byte == b'\n')
        .nth(CONTEXT)
        .map_or(suffix, |(at, _)| at + 1);
    let cut = suffix - to;
    (&old[from..old.len() - cut], &new[from..new.len() - cut])
}

/// Cuts a long line to the part in which it differs from the line on the other side, with a little around it.
fn excerpt(line: &str, other: &str) -> String {
    if line.len() <= LONG_LINE {
        return line.to_owned();
    }
    let (bytes, other) = (line.as_bytes(), other.as_bytes());
    let same = |(one, other): &(&u8, &u8)| one == other;
    let prefix = bytes.iter().zip(other).take_while(same).count();
    let rest = bytes.len().min(other.len()) - prefix;
    let backward = bytes.iter().rev().zip(other.iter().rev()).take(rest);
    let suffix = backward.take_while(same).count();
    let from = line.floor_char_boundary(prefix.saturating_sub(AROUND));
    let to = (bytes.len() - suffix + AROUND).min(from + LONG_LINE).min(bytes.len());
    let to = line.ceil_char_boundary(to);
    let before = if from > 0 { "…" } else { "" };
    let behind = if to < bytes.len() { "…\n" } else { "" };
    format!("{before}{}{behind}", &line[from..to])
}

/// A diff by lines; of texts that have nothing in common a rough one, since a fine one would take minutes.
fn diff<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .timeout(Duration::from_secs(1))
        .diff_lines(old, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, new: &str) -> (String, String) {
        let path = std::path::PathBuf::from("/f");
        let place = Place {
            path: path.clone(),
            real: path,
        };
        let change = FileChange::new(place, Some(old), Some(new));
        (change.old.unwrap_or_default(), change.new.unwrap_or_default())
    }

    #[test]
    fn a_small_file_is_shown_whole_and_a_large_one_by_its_hunks() {
        assert_eq!(change("a\nb\n", "a\nc\n"), ("a\nb\n".to_owned(), "a\nc\n".to_owned()));
        let lines = |changed: &str| -> String {
            (0..50_000)
                .map(|line| {
                    if line == 40_000 {
                        changed.to_owned()
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect()
        };
        let (old, new) = change(&lines("old\n"), &lines("new\n"));
        assert_eq!(old, "39997\n39998\n39999\nold\n40001\n40002\n40003\n");
        assert_eq!(new, "39997\n39998\n39999\nnew\n40001\n40002\n40003\n");
    }

    #[test]
    fn a_long_line_is_shown_by_what_differs() {
        let long = "é".repeat(500_000);
        let (old, new) = change(
            &format!("{long}old{long}\n{long}\n"),
            &format!("{long}brand-new{long}\n{long}\n"),
        );
        assert!(
            old.len() < 20_000 && new.len() < 20_000,
            "{} and {} bytes",
            old.len(),
            new.len()
        );
        assert!(old.contains("éoldé") && new.contains("ébrand-newé"));
        assert!(old.starts_with('…') && old.contains("…\n"));
    }
}
