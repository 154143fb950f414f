//! A text with hunks applied at their places, every other byte as it was: pure.

use std::borrow::Cow;

use super::find::Found;
use super::hunk::{Hunk, HunkLine};
use crate::lines::{Line, LineEnd};

/// A hunk at its place.
pub(crate) struct Part<'a> {
    pub(crate) found: Found,
    pub(crate) hunk: Cow<'a, Hunk>,
}

/// The text with all parts changed. They are sorted and apart.
pub(crate) fn rewrite(lines: &[Line<'_>], parts: Vec<Part<'_>>) -> String {
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
