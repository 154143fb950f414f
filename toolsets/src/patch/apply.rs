//! Applying an edit to a text: pure, all or nothing, and without touching a byte that the edit does not mean.

use std::borrow::Cow;
use std::ops::Range;

use super::find::{self, Found, Level, plain};
use super::nearest::{self, Nearest};
use crate::lines::{Line, LineEnd, lines};

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
        .lines.len(), numbers(.lines), if *.in_hunk { " (or an @@ line before it)" } else { ", or set replace_all" }
    )]
    Ambiguous { lines: Vec<usize>, in_hunk: bool },
    #[error("the line {0:?} after @@ is not there; use a line that is, or leave it out")]
    NoAnchor(String),
    #[error("two hunks change the same lines near line {0}; join them")]
    Overlap(usize),
}

/// Applies an edit.
///
/// # Errors
/// The place that it means is not there, or there is more than one.
pub(crate) fn apply(text: &str, change: &Change) -> Result<Applied, MatchError> {
    let applied = match change {
        Change::Replace { old, new, all } => replace(text, old, new, *all)?,
        Change::Hunks(hunks) => apply_hunks(text, hunks)?,
    };
    if applied.text == text {
        Err(MatchError::Same)
    } else {
        Ok(applied)
    }
}

fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Applied, MatchError> {
    if old.is_empty() {
        return Err(MatchError::Empty);
    }
    if old == new {
        return Err(MatchError::Same);
    }
    let by_lines = |levels: &[Level]| replace_lines(text, old, new, all, levels);
    None.or_else(|| replace_spans(text, &exact_spans(text, old, all), old, new, all, Level::Exact))
        .or_else(|| replace_folded(text, old, new, all, Level::LineEnds))
        .or_else(|| by_lines(&[Level::TrailingSpace, Level::Indentation]))
        .or_else(|| replace_folded(text, old, new, all, Level::LookAlike))
        .or_else(|| by_lines(&[Level::LookAlike]))
        .unwrap_or_else(|| {
            let wanted: Vec<&str> = lines(old).iter().map(|line| line.text).collect();
            Err(MatchError::NotFound(nearest::nearest(text, &wanted, new)))
        })
}

/// Where the old text stands; for a unique match also places that overlap count.
fn exact_spans(text: &str, old: &str, all: bool) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old).map(|at| at + from) {
        spans.push(at..at + old.len());
        let step = if all {
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
        let lines = spans.iter().map(|span| line_number(text, span.start)).collect();
        return Some(Err(MatchError::Ambiguous { lines, in_hunk: false }));
    }
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        changed.push_str(&text[done..span.start]);
        changed.push_str(&with_line_ends(text, span, old, new));
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

/// The new text with the line ends of its place. Who writes `\r` in the old text exactly as it stands means line ends
/// by the letter.
fn with_line_ends<'a>(text: &str, span: &Range<usize>, old: &str, new: &'a str) -> Cow<'a, str> {
    let stands = &text[span.clone()];
    if stands == old && old.contains('\r') {
        return Cow::Borrowed(new);
    }
    let new = if old.contains('\r') {
        Cow::Owned(new.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(new)
    };
    let place = if stands.contains(['\n', '\r']) { stands } else { text };
    Cow::Owned(LineEnd::of(place).apply(&new))
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

/// A text in its plainest spelling, with the way back.
struct Folded {
    text: String,
    /// For each run in which both texts go in step: where it begins here, and where there.
    steps: Vec<(usize, usize)>,
}

impl Folded {
    fn of(original: &str, alike: bool) -> Self {
        let mut folded = Self {
            text: String::with_capacity(original.len()),
            steps: vec![(0, 0)],
        };
        let mut characters = original.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let here = folded.text.len();
            folded.text.push(match character {
                '\r' => '\n',
                other if alike => plain(other),
                other => other,
            });
            let mut end = at + character.len_utf8();
            if character == '\r' && characters.next_if(|(_, next)| *next == '\n').is_some() {
                end += 1;
            }
            if end - at != folded.text.len() - here {
                folded.steps.push((folded.text.len(), end));
            }
        }
        folded
    }

    fn original(&self, span: &Range<usize>) -> Range<usize> {
        self.position(span.start)..self.position(span.end)
    }

    fn position(&self, here: usize) -> usize {
        let index = self.steps.partition_point(|(begin, _)| *begin <= here);
        let (begin, original) = self.steps[index - 1];
        original + (here - begin)
    }
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
        let lines = found.iter().map(|found| found.start + 1).collect();
        return Some(Err(MatchError::Ambiguous { lines, in_hunk: false }));
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
    let diff = similar::TextDiff::from_slices(old, new);
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

fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<Applied, MatchError> {
    let lines = lines(text);
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut level = Level::Exact;
    let mut cursor = 0;
    for hunk in hunks {
        let (part, reached) = place_hunk(text, &lines, hunk, cursor)?;
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

/// A hunk at its place.
struct Part<'a> {
    found: Found,
    hunk: Cow<'a, Hunk>,
}

impl Hunk {
    /// The lines that have to stand in the text.
    fn old_lines(&self) -> Vec<&str> {
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
) -> Result<(Part<'a>, Level), MatchError> {
    let after = anchor(lines, &hunk.anchors, cursor)?;
    let wanted = hunk.old_lines();
    if wanted.is_empty() {
        return Ok((insertion(lines, hunk, after), Level::Exact));
    }
    for level in Level::OF_LINES {
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
    Err(MatchError::NotFound(nearest::nearest(text, &wanted, "")))
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
            lines: found.iter().map(|found| found.start + 1).collect(),
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

/// The text with all parts changed. They are sorted and apart.
fn rewrite(lines: &[Line<'_>], parts: Vec<Part<'_>>) -> String {
    let whole: String = lines.iter().flat_map(|line| [line.text, line.end]).collect();
    let style = LineEnd::of(&whole).as_str();
    let mut pieces: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::with_capacity(lines.len());
    let mut at = 0;
    for part in &parts {
        pieces.extend(
            lines[at..part.found.start]
                .iter()
                .map(|line| (line.text.into(), line.end.into())),
        );
        at = part.found.start;
        for line in &part.hunk.lines {
            match line {
                HunkLine::Keep(_) => {
                    pieces.push((lines[at].text.into(), lines[at].end.into()));
                    at += 1;
                }
                HunkLine::Remove(_) => at += 1,
                HunkLine::Add(text) => {
                    // The ends of the neighbours, which in a file of mixed ends may not be the commonest.
                    let beside = lines
                        .get(at.saturating_sub(1))
                        .or(lines.get(at))
                        .map_or("", |line| line.end);
                    let end = if beside.is_empty() { style } else { beside };
                    pieces.push((part.found.indents.apply(text).into(), end.into()));
                }
            }
        }
    }
    let reaches_end = at == lines.len() && !parts.is_empty();
    pieces.extend(lines[at..].iter().map(|line| (line.text.into(), line.end.into())));
    let says = parts
        .iter()
        .rev()
        .find_map(|part| part.hunk.final_newline)
        .filter(|_| reaches_end);
    end_as_before(&mut pieces, lines, says, style);
    pieces
        .iter()
        .flat_map(|(text, end)| [text.as_ref(), end.as_ref()])
        .collect()
}

/// Inner lines get an end, the last one has one if the old last one had, or if the patch says so.
fn end_as_before(
    pieces: &mut [(Cow<'_, str>, Cow<'_, str>)],
    lines: &[Line<'_>],
    says: Option<bool>,
    style: &'static str,
) {
    let Some((last, inner)) = pieces.split_last_mut() else {
        return;
    };
    for (_, end) in inner.iter_mut().filter(|(_, end)| end.is_empty()) {
        *end = style.into();
    }
    let had_end = lines.last().is_none_or(|line| !line.end.is_empty());
    match says.unwrap_or(had_end) {
        true if last.1.is_empty() => last.1 = style.into(),
        false => last.1 = "".into(),
        true => {}
    }
}

fn line_number(text: &str, at: usize) -> usize {
    lines(&text[..at]).iter().filter(|line| !line.end.is_empty()).count() + 1
}

/// At most ten numbers in words.
fn numbers(lines: &[usize]) -> String {
    let mut shown: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
    if lines.len() > 10 {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
