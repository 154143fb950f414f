//! Finding the lines that an edit means, from exact to ever more tolerant; pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::lines::Line;

/// How closely a place matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Character for character.
    Exact,
    /// But for `\n` against `\r\n`.
    LineEnds,
    /// But for spaces at the ends of lines.
    TrailingSpace,
    /// But for how far the lines are indented.
    Indentation,
    /// But for characters that look alike: quotes, dashes, spaces.
    LookAlike,
}

impl Level {
    /// The levels at which whole lines are compared.
    pub(crate) const OF_LINES: [Self; 4] = [Self::Exact, Self::TrailingSpace, Self::Indentation, Self::LookAlike];

    /// What is told of a match that was not exact.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Exact | Self::LineEnds => None,
            Self::TrailingSpace => Some("matched but for spaces at line ends"),
            Self::Indentation => Some("matched but for indentation, which was adapted"),
            Self::LookAlike => Some("matched but for look-alike characters (quotes, dashes, spaces)"),
        }
    }

    /// What two lines have in common that are the same at this level.
    fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact | Self::LineEnds => Cow::Borrowed(line),
            Self::TrailingSpace => Cow::Borrowed(line.trim_end()),
            Self::Indentation => Cow::Borrowed(line.trim()),
            Self::LookAlike => Cow::Owned(line.trim().chars().map(plain).collect()),
        }
    }
}

/// A place where the wanted lines stand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Index of the first line.
    pub(crate) start: usize,
    /// How the wanted indentation is written there.
    pub(crate) indents: Indents,
}

/// Indentation is learned from so many lines, or twice those of the text if these are more.
const MOST_LEARNED: usize = 100_000;

/// All places where the wanted lines stand at one level.
pub(crate) fn places(lines: &[Line<'_>], wanted: &[&str], level: Level) -> Vec<Found> {
    // Blank lines are everywhere; being tolerant about them means nothing.
    if wanted.is_empty() || (level > Level::Exact && wanted.iter().all(|line| line.trim().is_empty())) {
        return Vec::new();
    }
    let keys: Vec<Cow<'_, str>> = lines.iter().map(|line| level.key(line.text)).collect();
    let wanted_keys: Vec<Cow<'_, str>> = wanted.iter().map(|line| level.key(line)).collect();
    let starts = occurrences(&keys, &wanted_keys);
    if level < Level::Indentation {
        let indents = Indents::default;
        return starts
            .into_iter()
            .map(|start| Found {
                start,
                indents: indents(),
            })
            .collect();
    }
    // Lines that repeat themselves without end have no place to be told from others by their indentation.
    if starts.len().saturating_mul(wanted.len()) > MOST_LEARNED.max(2 * lines.len()) {
        return Vec::new();
    }
    let learn = |start: usize| {
        let indents = Indents::learn(&lines[start..start + wanted.len()], wanted)?;
        Some(Found { start, indents })
    };
    starts.into_iter().filter_map(learn).collect()
}

/// Where `wanted` stands in `all`, overlaps included, in time that grows with their sum (Knuth, Morris, Pratt): whole
/// files of equal lines are no rarity.
fn occurrences<T: PartialEq>(all: &[T], wanted: &[T]) -> Vec<usize> {
    // For each beginning of `wanted`: how long its longest proper end is that is a beginning too.
    let mut borders = vec![0; wanted.len()];
    let mut length = 0;
    for index in 1..wanted.len() {
        while length > 0 && wanted[index] != wanted[length] {
            length = borders[length - 1];
        }
        length += usize::from(wanted[index] == wanted[length]);
        borders[index] = length;
    }
    let (mut found, mut matched) = (Vec::new(), 0);
    for (index, item) in all.iter().enumerate() {
        while matched > 0 && (matched == wanted.len() || *item != wanted[matched]) {
            matched = borders[matched - 1];
        }
        matched += usize::from(*item == wanted[matched]);
        if matched == wanted.len() {
            found.push(index + 1 - matched);
        }
    }
    found
}

/// How the edit's indentations are written in the file; empty where they are the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Indents(BTreeMap<String, String>);

impl Indents {
    /// Learns from matched lines; none if one indentation would have to become two.
    fn learn(window: &[Line<'_>], wanted: &[&str]) -> Option<Self> {
        let mut indents = BTreeMap::new();
        for (line, wanted) in window.iter().zip(wanted) {
            if wanted.trim().is_empty() {
                continue;
            }
            let (from, to) = (indent(wanted), indent(line.text));
            if indents
                .insert(from.to_owned(), to.to_owned())
                .is_some_and(|old| old != to)
            {
                return None;
            }
        }
        Some(Self(indents))
    }

    /// A new line as it has to be indented in the file.
    pub(crate) fn apply(&self, line: &str) -> String {
        let from = indent(line);
        if self.0.is_empty() || line.trim().is_empty() {
            return line.to_owned();
        }
        format!("{}{}", self.translate(from), &line[from.len()..])
    }

    fn translate(&self, from: &str) -> String {
        // The deepest known indentation that this one begins with, and what is deeper than that, step by step.
        let known = self
            .0
            .iter()
            .filter(|(known, _)| from.starts_with(known.as_str()))
            .max_by_key(|(known, _)| known.len());
        match known {
            Some((known, to)) => to.clone() + &self.deeper(&from[known.len()..]),
            None => self.shallower(from),
        }
    }

    /// Steps of indentation in the file's own characters, if those of the edit are known to differ.
    fn deeper(&self, rest: &str) -> String {
        let Some((step, to)) = self.step() else {
            return rest.to_owned();
        };
        let steps = rest.len() / step.len();
        match rest
            .get(..steps * step.len())
            .filter(|whole| **whole == step.repeat(steps))
        {
            Some(whole) => to.repeat(steps) + &rest[whole.len()..],
            None => rest.to_owned(),
        }
    }

    /// An indentation below all known ones: as much is taken off the file's as the edit takes off its own.
    fn shallower(&self, from: &str) -> String {
        let Some((known, to)) = self.0.iter().min_by_key(|(known, _)| known.len()) else {
            return from.to_owned();
        };
        let less = match self.step() {
            Some((step, to)) => (known.len().saturating_sub(from.len())) / step.len() * to.len(),
            None => known.len().saturating_sub(from.len()),
        };
        to[..to.len().saturating_sub(less)].to_owned()
    }

    /// One step of indentation in the edit, and the same step in the file.
    fn step(&self) -> Option<(String, String)> {
        let (first, second) = (self.0.iter().next()?, self.0.iter().nth(1));
        let step = match second {
            Some(second) => (
                second.0.strip_prefix(first.0.as_str())?,
                second.1.strip_prefix(first.1.as_str())?,
            ),
            None => (first.0.as_str(), first.1.as_str()),
        };
        // With one indentation known, a step can only be told where spaces stand for tabs or tabs for spaces.
        let differs = step.0.chars().next()? != step.1.chars().next()?;
        (second.is_some() || differs).then(|| (step.0.to_owned(), step.1.to_owned()))
    }
}

/// The spaces and tabs that a line begins with.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The plain character that one looks like.
pub(crate) fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::lines::lines;

    #[test]
    fn new_lines_are_indented_like_the_place_they_go_to() {
        let check = |file: &str, wanted: &[&str], new: &str, expect: &str| {
            let found = places(&lines(file), wanted, Level::Indentation);
            assert_eq!(found.first().unwrap().indents.apply(new), expect, "{new:?} in {file:?}");
        };
        check("    a\n", &["a"], "b", "    b");
        check("    a\n", &["a"], "    b", "        b");
        check("\ta\n\t\tb\n", &["    a", "        b"], "            c", "\t\t\tc");
        check("\ta\n", &["    a"], "        b", "\t\tb");
        check("    a\n", &["        a"], "    b", "b");
        check("  a\n    b\n", &["    a", "        b"], "            c", "      c");
        check("    a\n", &["a"], "", "");
    }

    #[test]
    fn indentation_that_contradicts_itself_is_no_match() {
        assert_eq!(
            places(&lines("if a:\n    b\n"), &["if a:", "b"], Level::Indentation),
            Vec::new()
        );
    }
}
