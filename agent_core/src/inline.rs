//! A prompt as one running text, with its mentions where the user put them.
//!
//! An editor sends `read @a.rs 1-10` as three pieces: a text, a reference, a text. What the runtime or the editor puts
//! in beside a prompt comes in pieces of its own, which begin on a new line here.

use crate::content::Content;

/// The running text. `name` says how a mention is written, from its URI and what a person calls it.
///
/// A mention is written where a text was left open for it: behind a space or an opening bracket. All other mentions
/// stand for something put in beside the prompt, and are left out; so are pictures.
pub(crate) fn text(content: &[Content], name: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut text = String::new();
    let mut open = false;
    let mut mentioned = false;
    for piece in content {
        let mention = match piece {
            Content::Text { text: next } => {
                let goes_on = mentioned && next.starts_with(goes_on_with);
                if !text.is_empty() && !goes_on && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(next);
                (open, mentioned) = (next.ends_with([' ', '\t', '(', '[']), false);
                continue;
            }
            Content::Link { uri, name: title } => name(uri, Some(title)),
            Content::Resource { uri, .. } => name(uri, None),
            Content::Image { .. } => continue,
        };
        if open {
            text.push_str(&mention);
            (open, mentioned) = (false, true);
        }
    }
    text
}

/// Whether a text that begins so goes on behind a mention; a sentence of the runtime's begins with a word.
fn goes_on_with(letter: char) -> bool {
    letter.is_whitespace() || ",.;:?!)]'\"".contains(letter)
}

/// The path a URI stands for, if it is a file's, without its fragment; otherwise the URI as it is.
pub(crate) fn path_of(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    decoded(path.split_once('#').map_or(path, |(path, _)| path))
}

/// The text with its `%41` escapes undone; as it was where that makes no UTF-8.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_stands_where_the_text_was_left_open() {
        let link = |uri: &str| Content::Link {
            uri: uri.into(),
            name: "a file".into(),
        };
        let resource = |uri: &str| Content::Resource {
            uri: uri.into(),
            mime_type: None,
            text: "put in beside".into(),
        };
        let check = |content: &[Content], expect: &str| {
            assert_eq!(text(content, |uri, _| path_of(uri)), expect);
        };
        check(
            &[Content::text("read "), link("file:///w/a%20b.rs#L3")],
            "read /w/a b.rs",
        );
        check(&[Content::text("read "), resource("file:///w/a.rs")], "read /w/a.rs");
        check(
            &[
                Content::text("read "),
                link("file:///w/a.rs"),
                Content::text(" 1-2\nlist"),
            ],
            "read /w/a.rs 1-2\nlist",
        );
        check(
            &[
                Content::text("read "),
                link("file:///a"),
                resource("file:///a"),
                Content::text("A note."),
            ],
            "read /a\nA note.",
        );
        check(&[Content::text("list\n"), resource("file:///a")], "list\n");
        check(&[Content::text("list"), resource("file:///a")], "list");
        check(
            &[Content::text("see ("), link("file:///a"), Content::text(")")],
            "see (/a)",
        );
        check(&[Content::text("one"), Content::text("two")], "one\ntwo");
        check(
            &[Content::text("see "), link("https://e.org/%zz")],
            "see https://e.org/%zz",
        );
        check(&[link("file:///a")], "");
    }
}
