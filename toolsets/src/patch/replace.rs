//! One text for another: pure.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use agent_core::cancel::Cancel;

use super::apply::{Applied, MatchError, TOLD};
use super::find::{self, Level};
use super::folded::Folded;
use super::hunk::{Hunk, HunkLine};
use super::nearest;
use super::rewrite::{Part, rewrite};
use crate::files::MAX_WHOLE;
use crate::lines::{LineEnd, lines};

/// The old and the new text are compared for so long.
const MOST_COMPARING: Duration = Duration::from_secs(1);

/// Replaces a text at its one place, or everywhere, at the first level of tolerance that finds it.
pub(crate) fn replace(text: &str, old: &str, new: &str, all: bool, cancel: &Cancel) -> Result<Applied, MatchError> {
    if old.is_empty() {
        return Err(MatchError::Empty);
    }
    if old == new {
        return Err(MatchError::Same);
    }
    let by_lines = |levels: &[Level]| replace_lines(text, old, new, all, levels);
    let cancelled = || cancel.is_set().then_some(Err(MatchError::Cancelled));
    None.or_else(|| replace_spans(text, &exact_spans(text, old, all), old, new, all, Level::Exact))
        .or_else(|| replace_folded(text, old, new, all, Level::LineEnds))
        .or_else(cancelled)
        .or_else(|| by_lines(&[Level::TrailingSpace, Level::Indentation]))
        .or_else(cancelled)
        .or_else(|| replace_folded(text, old, new, all, Level::LookAlike))
        .or_else(cancelled)
        .or_else(|| by_lines(&[Level::LookAlike]))
        .or_else(cancelled)
        .unwrap_or_else(|| {
            let wanted: Vec<&str> = lines(old).iter().map(|line| line.text).collect();
            Err(MatchError::NotFound(nearest::nearest(text, &wanted, new, cancel)))
        })
}

/// Where the old text stands. For a unique match a place that overlaps the first one counts as well; later ones don't,
/// since a text that repeats itself would be compared with itself at each of its characters.
fn exact_spans(text: &str, old: &str, all: bool) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old).map(|at| at + from) {
        spans.push(at..at + old.len());
        let step = if all || spans.len() > 1 {
            old.len()
        } else {
            text[at..].chars().next().map_or(1, char::len_utf8)
        };
        from = at + step;
    }
    spans
}

type Outcome = Option<Result<Applied, MatchError>>;

fn replace_spans(text: &str, spans: &[Range<usize>], old: &str, new: &str, all: bool, level: Level) -> Outcome {
    if spans.is_empty() {
        return None;
    }
    if spans.len() > 1 && !all {
        return Some(Err(MatchError::Ambiguous {
            places: spans.len(),
            lines: line_numbers(text, &spans[..spans.len().min(TOLD)]),
            in_hunk: false,
        }));
    }
    let size = text.len().saturating_add(spans.len().saturating_mul(new.len()));
    if size as u64 > MAX_WHOLE {
        return Some(Err(MatchError::TooLarge { places: spans.len() }));
    }
    let usual = LineEnd::of(text);
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        changed.push_str(&text[done..span.start]);
        changed.push_str(&with_line_ends(&text[span.clone()], usual, old, new));
        done = span.end;
    }
    changed.push_str(&text[done..]);
    let places = spans.len();
    Some(Ok(Applied {
        text: changed,
        level,
        places,
    }))
}

/// The new text with the line ends of its place, or the usual ones of the file. Who writes `\r` in the old text exactly as it stands means line ends
/// by the letter.
fn with_line_ends<'a>(stands: &str, usual: LineEnd, old: &str, new: &'a str) -> Cow<'a, str> {
    if stands == old && old.contains('\r') {
        return Cow::Borrowed(new);
    }
    let new = if old.contains('\r') {
        Cow::Owned(new.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(new)
    };
    let of_place = stands.contains(['\n', '\r']).then(|| LineEnd::of(stands));
    Cow::Owned(of_place.unwrap_or(usual).apply(&new))
}

/// Finds the old text with line ends, and look-alike characters if asked for, taken as equal.
fn replace_folded(text: &str, old: &str, new: &str, all: bool, level: Level) -> Outcome {
    let alike = level == Level::LookAlike;
    if level == Level::LineEnds && !text.contains('\r') && !old.contains('\r') {
        return None;
    }
    let folded = Folded::of(text, alike);
    let wanted = Folded::of(old, alike).text;
    if wanted.trim().is_empty() {
        return None;
    }
    let spans: Vec<Range<usize>> = exact_spans(&folded.text, &wanted, all)
        .iter()
        .map(|span| folded.original(span))
        .collect();
    replace_spans(text, &spans, old, new, all, level)
}

fn replace_lines(text: &str, old: &str, new: &str, all: bool, levels: &[Level]) -> Outcome {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let wanted: Vec<&str> = old_lines.iter().map(|line| line.text).collect();
    let new_texts: Vec<&str> = new_lines.iter().map(|line| line.text).collect();
    let hunk = Hunk {
        lines: hunk_lines(&wanted, &new_texts),
        ..Hunk::default()
    };
    let lines = lines(text);
    let (level, mut found) = levels
        .iter()
        .map(|level| (*level, find::places(&lines, &wanted, *level)))
        .find(|(_, found)| !found.is_empty())?;
    if found.len() > 1 && !all {
        return Some(Err(MatchError::Ambiguous {
            places: found.len(),
            lines: found.iter().take(TOLD).map(|found| found.start + 1).collect(),
            in_hunk: false,
        }));
    }
    let mut free = 0;
    found.retain(|found| {
        let apart = found.start >= free;
        free = if apart { found.start + wanted.len() } else { free };
        apart
    });
    let places = found.len();
    let parts = found
        .into_iter()
        .map(|found| Part {
            found,
            hunk: Cow::Borrowed(&hunk),
        })
        .collect();
    Some(Ok(Applied {
        text: rewrite(&lines, parts),
        level,
        places,
    }))
}

/// What a patch from the old lines to the new ones would say: lines in both are kept as the file has them.
fn hunk_lines(old: &[&str], new: &[&str]) -> Vec<HunkLine> {
    // Past the time the rest counts as changed, which only means that its indentation is the edit's.
    let diff = similar::TextDiff::configure()
        .timeout(MOST_COMPARING)
        .diff_slices(old, new);
    diff.iter_all_changes()
        .map(|change| {
            let line = change.value().to_owned();
            match change.tag() {
                similar::ChangeTag::Equal => HunkLine::Keep(line),
                similar::ChangeTag::Delete => HunkLine::Remove(line),
                similar::ChangeTag::Insert => HunkLine::Add(line),
            }
        })
        .collect()
}

/// The lines in which the spans begin, which stand in their order.
fn line_numbers(text: &str, spans: &[Range<usize>]) -> Vec<usize> {
    let mut starts = spans.iter().map(|span| span.start).peekable();
    let (mut numbers, mut end) = (Vec::new(), 0);
    for (index, line) in lines(text).iter().enumerate() {
        end += line.text.len() + line.end.len();
        while starts.next_if(|start| *start < end).is_some() {
            numbers.push(index + 1);
        }
    }
    numbers
}
