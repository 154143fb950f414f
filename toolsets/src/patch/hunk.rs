//! Hunks of a patch, and where in a text they are meant: pure.

use std::borrow::Cow;

use agent_core::cancel::Cancel;

use super::apply::{Applied, MatchError, TOLD};
use super::find::{self, Found, Level};
use super::nearest;
use super::rewrite::{Part, rewrite};
use crate::lines::{Line, lines};

/// Neighbouring lines of a patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hunk {
    /// Lines that stand somewhere before it, the outer first.
    pub(crate) anchors: Vec<String>,
    /// Index of the line where it is said to begin.
    pub(crate) near: Option<usize>,
    pub(crate) lines: Vec<HunkLine>,
    /// It ends with the text.
    pub(crate) at_end: bool,
    /// Whether the text ends with a line end afterwards, if the patch says so.
    pub(crate) final_newline: Option<bool>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

/// Applies the hunks of a patch: each is found in the text as it was, and none may overlap another.
pub(crate) fn apply(text: &str, hunks: &[Hunk], cancel: &Cancel) -> Result<Applied, MatchError> {
    let lines = lines(text);
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut level = Level::Exact;
    let mut cursor = 0;
    for hunk in hunks {
        let (part, reached) = place_hunk(text, &lines, hunk, cursor, cancel)?;
        level = level.max(reached);
        cursor = part.found.start + part.hunk.old_lines().len();
        parts.push(part);
    }
    parts.sort_by_key(|part| part.found.start);
    for pair in parts.windows(2) {
        if pair[0].found.start + pair[0].hunk.old_lines().len() > pair[1].found.start {
            return Err(MatchError::Overlap(pair[1].found.start + 1));
        }
    }
    let places = parts.len();
    Ok(Applied {
        text: rewrite(&lines, parts),
        level,
        places,
    })
}

impl Hunk {
    /// The lines that have to stand in the text.
    pub(crate) fn old_lines(&self) -> Vec<&str> {
        self.lines
            .iter()
            .filter_map(|line| match line {
                HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
                HunkLine::Add(_) => None,
            })
            .collect()
    }
}

fn place_hunk<'a>(
    text: &str,
    lines: &[Line<'_>],
    hunk: &'a Hunk,
    cursor: usize,
    cancel: &Cancel,
) -> Result<(Part<'a>, Level), MatchError> {
    let after = anchor(lines, &hunk.anchors, cursor)?;
    let wanted = hunk.old_lines();
    if wanted.is_empty() {
        return Ok((insertion(lines, hunk, after), Level::Exact));
    }
    for level in Level::OF_LINES {
        if cancel.is_set() {
            return Err(MatchError::Cancelled);
        }
        let mut found = find::places(lines, &wanted, level);
        if hunk.at_end {
            found.retain(|found| found.start + wanted.len() == lines.len());
        }
        if !found.is_empty() {
            let found = choose(found, hunk, after.unwrap_or(cursor))?;
            return Ok((
                Part {
                    found,
                    hunk: Cow::Borrowed(hunk),
                },
                level,
            ));
        }
    }
    Err(MatchError::NotFound(nearest::nearest(text, &wanted, "", cancel)))
}

/// The one place that is meant: the said line, the first after an anchor, the only one after the hunk before, or the
/// only one at all.
fn choose(found: Vec<Found>, hunk: &Hunk, from: usize) -> Result<Found, MatchError> {
    if let Some(said) = found.iter().find(|found| Some(found.start) == hunk.near) {
        return Ok(said.clone());
    }
    let mut after = found.iter().filter(|found| found.start >= from);
    match (after.next(), after.next()) {
        (Some(first), None) => Ok(first.clone()),
        (Some(first), Some(_)) if !hunk.anchors.is_empty() => Ok(first.clone()),
        (None, _) if found.len() == 1 => Ok(found[0].clone()),
        (Some(_), Some(_)) | (None, _) => Err(MatchError::Ambiguous {
            places: found.len(),
            lines: found.iter().take(TOLD).map(|found| found.start + 1).collect(),
            in_hunk: true,
        }),
    }
}

/// The line behind the last anchor; none without anchors.
fn anchor(lines: &[Line<'_>], anchors: &[String], cursor: usize) -> Result<Option<usize>, MatchError> {
    let mut after = None;
    for anchor in anchors {
        let from = after.unwrap_or(cursor);
        let find = |from: usize, fits: &dyn Fn(&str) -> bool| {
            let lines = lines.get(from..).unwrap_or_default();
            lines.iter().position(|line| fits(line.text.trim())).map(|at| from + at)
        };
        let wanted = anchor.trim();
        let at = find(from, &|line| line == wanted)
            .or_else(|| find(from, &|line| line.contains(wanted)))
            .or_else(|| find(0, &|line| line == wanted))
            .ok_or_else(|| MatchError::NoAnchor(anchor.clone()))?;
        after = Some(at + 1);
    }
    Ok(after)
}

/// A hunk that only adds: behind its anchor, at the said line, or at the end. It keeps the line before it, so that a
/// last line without an end gets one.
fn insertion<'a>(lines: &[Line<'_>], hunk: &'a Hunk, after: Option<usize>) -> Part<'a> {
    let at = after
        .or(hunk.near)
        .filter(|_| !hunk.at_end)
        .unwrap_or(lines.len())
        .min(lines.len());
    let found = |start| Found {
        start,
        indents: find::Indents::default(),
    };
    match at.checked_sub(1) {
        None => Part {
            found: found(0),
            hunk: Cow::Borrowed(hunk),
        },
        Some(before) => {
            let mut hunk = hunk.clone();
            hunk.lines.insert(0, HunkLine::Keep(lines[before].text.to_owned()));
            Part {
                found: found(before),
                hunk: Cow::Owned(hunk),
            }
        }
    }
}
