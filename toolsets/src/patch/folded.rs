//! A text in its plainest spelling, for finding what differs in spelling only.

use std::ops::Range;

use super::find::plain;

/// A text in its plainest spelling, with the way back.
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each run in which both texts go in step: where it begins here, and where there.
    steps: Vec<(usize, usize)>,
}

impl Folded {
    /// Line ends become `\n`; with `alike`, look-alike characters become plain ones.
    pub(crate) fn of(original: &str, alike: bool) -> Self {
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

    /// The same part of the original text.
    pub(crate) fn original(&self, span: &Range<usize>) -> Range<usize> {
        self.position(span.start)..self.position(span.end)
    }

    fn position(&self, here: usize) -> usize {
        let index = self.steps.partition_point(|(begin, _)| *begin <= here);
        let (begin, original) = self.steps[index - 1];
        original + (here - begin)
    }
}
