//! Text that has the shape of a key, masked: for what is shown of a history that may hold some.
//!
//! It knows keys by how they begin, by what stands before them, and by the marks around a private key, and no others.
//! Whoever needs the text exact, such as a patch, does not come here. What stays readable is told in docs/history.md.

mod bare;
mod begun;
mod named;
mod private;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use bare::Bare;

/// What stands for a key.
const MASK: &str = "***";

/// How often a text is gone through at most. What is masked can change how its neighbours read, and what comes out must
/// be what would come out of it again; more than twice is for texts that were made for it.
const ROUNDS: usize = 4;

/// The text with what looks like a key masked.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let keys = keys(&shown);
        if keys.is_empty() {
            break;
        }
        shown = Cow::Owned(without(&shown, &keys, 0..shown.len()));
    }
    shown
}

/// The beginning and the end of a text of which the middle is not kept, masked as the one text that they are.
pub(crate) fn masked_ends(head: &str, tail: &str, is_whole: bool) -> (String, String) {
    let (mut head, mut tail) = (head.to_owned(), tail.to_owned());
    let seam = if is_whole { "" } else { "\n" };
    for _ in 0..ROUNDS {
        let text = [head.as_str(), seam, tail.as_str()].concat();
        let keys = keys(&text);
        if keys.is_empty() {
            break;
        }
        let end = head.len();
        let begin = end + seam.len();
        head = without(&text, &keys, 0..end);
        tail = without(&text, &keys, begin..text.len());
    }
    (head, tail)
}

/// Whether what stands under a name is a secret by the name, or has the shape of a key itself.
pub(crate) fn is_secret(name: &str, text: &str) -> bool {
    value::Worth::of(name).is_some_and(|worth| value::is_secret(text, worth, &value::QUOTED))
}

/// Where keys are, in order and apart.
fn keys(text: &str) -> Vec<Range<usize>> {
    let bare = Bare::of(text);
    let mut keys = private::blocks(bare.text());
    named::values(bare.text(), &mut keys);
    begun::keys(bare.text(), &mut keys);
    // Where two overlap, the longer one that begins first says where the mask stands.
    keys.sort_unstable_by_key(|key| (key.start, std::cmp::Reverse(key.end)));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(keys.len());
    for key in keys {
        match apart.last_mut() {
            Some(last) if key.start < last.end => last.end = last.end.max(key.end),
            Some(_) | None => apart.push(key),
        }
    }
    let in_text = apart.into_iter().map(|key| bare.place(key));
    in_text.filter(|key| &text[key.clone()] != MASK).collect()
}

/// A part of the text with its keys masked. One that begins before it is masked there.
fn without(text: &str, keys: &[Range<usize>], part: Range<usize>) -> String {
    let mut shown = String::new();
    let mut at = part.start;
    for key in keys.iter().filter(|key| key.start < part.end && key.end > part.start) {
        if key.start >= part.start {
            shown.push_str(&text[at..key.start]);
            shown.push_str(MASK);
        }
        at = key.end.min(part.end);
    }
    shown.push_str(&text[at..part.end]);
    shown
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
