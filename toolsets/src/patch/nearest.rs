//! The lines that are most like the ones an edit wanted and did not find; pure.

use std::collections::HashSet;
use std::fmt;

use agent_core::cancel::Cancel;

use super::find::plain;
use crate::lines::{Line, lines};

/// Lines are compared by so many of their first bytes.
const MAX_COMPARED: usize = 200;
/// So many lines are looked at.
const MAX_LINES: usize = 200_000;
/// So many lines are shown.
const MAX_SHOWN: usize = 12;
/// Less alike than this is no help.
const ALIKE: f32 = 0.4;

/// What stands where the wanted text was looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nearest {
    /// The most similar lines, with their numbers.
    pub(crate) lines: Vec<(usize, String)>,
    /// The line where the new text stands already.
    pub(crate) done_at: Option<usize>,
    /// The wanted lines begin with the numbers that reading shows.
    pub(crate) numbered: bool,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.done_at {
            write!(f, "the new text stands at line {line} already; ")?;
        }
        if self.numbered {
            f.write_str("the numbers before its lines are not part of the file, leave them out; ")?;
        }
        if self.lines.is_empty() {
            return f.write_str("nothing there is like it; read the file again");
        }
        f.write_str("copy it exactly; the nearest text is")?;
        for (number, line) in &self.lines {
            write!(f, "\n{number:>6}\t{line}")?;
        }
        Ok(())
    }
}

/// Finds what is most like the wanted lines, as far as it has looked when `cancel` is set.
pub(crate) fn nearest(text: &str, wanted: &[&str], new: &str, cancel: &Cancel) -> Nearest {
    let lines = lines(text);
    let done_at = (new.trim().len() >= 8)
        .then(|| text.find(new))
        .flatten()
        .map(|at| text[..at].matches('\n').count() + 1);
    Nearest {
        lines: similar_lines(&lines, wanted, cancel),
        done_at,
        numbered: wanted.iter().all(|line| is_numbered(line)),
    }
}

fn similar_lines(lines: &[Line<'_>], wanted: &[&str], cancel: &Cancel) -> Vec<(usize, String)> {
    // The longest line says most about the place.
    let Some((index, longest)) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let pairs = pairs(longest);
    let best = lines
        .iter()
        .take(MAX_LINES)
        .take_while(|_| !cancel.is_set())
        .enumerate()
        .map(|(at, line)| (likeness(&pairs, line.text), at))
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    let Some((_, at)) = best else {
        return Vec::new();
    };
    let first = at.saturating_sub(index.min(MAX_SHOWN / 2));
    let shown = wanted.len().clamp(1, MAX_SHOWN);
    let number = |(offset, line): (usize, &Line<'_>)| (first + offset + 1, cut(line.text));
    lines[first..].iter().take(shown).enumerate().map(number).collect()
}

fn is_numbered(line: &str) -> bool {
    let digits = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < line.trim_start().len() && digits.starts_with('\t')
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_COMPARED) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Neighbouring characters of a line, without its spaces.
fn pairs(line: &str) -> HashSet<(char, char)> {
    let characters: Vec<char> = line
        .chars()
        .take(MAX_COMPARED)
        .filter(|c| !c.is_whitespace())
        .map(plain)
        .collect();
    characters.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The share of pairs that two lines have in common, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "at most 200 pairs")]
fn likeness(wanted: &HashSet<(char, char)>, line: &str) -> f32 {
    let pairs = pairs(line);
    let all = wanted.len() + pairs.len();
    if all == 0 {
        0.0
    } else {
        2.0 * wanted.intersection(&pairs).count() as f32 / all as f32
    }
}
