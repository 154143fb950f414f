//! A text without what is not seen: a key is one with a character of no width or a colour inside too.

use std::borrow::Cow;
use std::ops::Range;

use crate::visible;

/// A text as keys are looked for in it, and where its pieces come from.
pub(super) struct Bare<'a> {
    text: Cow<'a, str>,
    /// Where each piece begins here, and where in the text it is from. None for a text in which all is seen.
    pieces: Vec<(usize, usize)>,
}

impl<'a> Bare<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut bare = String::new();
        let mut pieces = Vec::new();
        let mut kept = 0;
        let mut at = 0;
        while let Some(found) = next_hidden(text, at) {
            let end = found + hidden_length(&text[found..]);
            if pieces.last() != Some(&(bare.len(), kept)) {
                pieces.push((bare.len(), kept));
            }
            bare.push_str(&text[kept..found]);
            (kept, at) = (end, end);
        }
        if kept == 0 {
            return Self {
                text: Cow::Borrowed(text),
                pieces,
            };
        }
        pieces.push((bare.len(), kept));
        bare.push_str(&text[kept..]);
        Self {
            text: Cow::Owned(bare),
            pieces,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the text itself, with all that is hidden inside, and nothing of it around.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.saturating_sub(1).max(range.start);
        self.from(range.start)..self.from(end) + (range.end - end)
    }

    fn from(&self, at: usize) -> usize {
        let after = self.pieces.partition_point(|(begin, _)| *begin <= at);
        match after.checked_sub(1).map(|index| self.pieces[index]) {
            Some((begin, from)) => from + (at - begin),
            None => at,
        }
    }
}

fn next_hidden(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at;
    loop {
        at += bytes[at..].iter().position(|byte| !is_plain(*byte))?;
        let letter = text[at..].chars().next()?;
        if visible::hides(letter) {
            return Some(at);
        }
        at += letter.len_utf8();
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')
}

/// How long the character is, or the escape sequence that it begins.
fn hidden_length(text: &str) -> usize {
    let letter = text.chars().next().map_or(0, char::len_utf8);
    let rest = &text.as_bytes()[letter..];
    let more = match (&text[..letter], rest.first()) {
        ("\u{1b}", Some(b'[')) => 1 + sequence(&rest[1..]),
        ("\u{1b}", Some(b']')) => 1 + title(&rest[1..]),
        ("\u{1b}", Some(b' '..=b'/')) => 1 + usize::from(matches!(rest.get(1), Some(b'0'..=b'~'))),
        ("\u{1b}", Some(b'0'..=b'~')) => 1,
        ("\u{9b}", Some(_)) => sequence(rest),
        _ => 0,
    };
    letter + more
}

/// The rest of a control sequence: its numbers, and the sign that ends it.
fn sequence(rest: &[u8]) -> usize {
    let numbers = rest.iter().take_while(|byte| matches!(byte, b' '..=b'?')).count();
    numbers + usize::from(matches!(rest.get(numbers), Some(b'@'..=b'~')))
}

/// The rest of a sequence that names a window or a link; one without an end hides nothing more than its beginning.
fn title(rest: &[u8]) -> usize {
    const LONGEST: usize = 4096;
    let end = rest
        .iter()
        .take(LONGEST)
        .position(|byte| matches!(byte, 0x07 | 0x1b | b'\n'));
    match end.map(|end| (end, rest[end])) {
        Some((end, 0x07)) => end + 1,
        Some((end, 0x1b)) => end,
        Some(_) | None => 0,
    }
}
