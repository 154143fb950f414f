//! Foreign text so that it shows what it is: characters that move the cursor, turn the direction of text or are not
//! seen at all become escapes. For what a person decides by; nothing is ever left out.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with such characters as `\u{…}`; line ends and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| hides(c) && !matches!(c, '\n' | '\t');
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (c, hides) in in_place(text) {
        if hides && hidden(c) {
            push_escape(&mut shown, c);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Each character with whether it [hides](hides) where it stands: what joins two pictures to one hides nothing.
pub fn in_place(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut letters = text.chars().peekable();
    let mut before = None;
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        let joins =
            letter == JOINER && before.is_some_and(is_picture) && letters.peek().copied().is_some_and(is_picture);
        // A picture may be followed by what says how it is drawn.
        if !(letter == DRAWN && before.is_some_and(is_picture)) {
            before = Some(letter);
        }
        Some((letter, hides(letter) && !joins))
    })
}

/// What makes one picture of two, and what says that a sign is drawn as one.
pub(crate) const JOINER: char = '\u{200d}';
const DRAWN: char = '\u{fe0f}';

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The same in one line: line ends and tabs are spaces.
pub fn line(line: &str) -> String {
    text(line).replace(['\n', '\t'], " ")
}

/// The same in one line of at most `most` characters, in which a line end can be told from a space.
pub fn title(text: &str, most: usize) -> String {
    let mut title = String::new();
    let (mut length, mut cut) = (0, 0);
    for c in text.chars() {
        let end = title.len();
        match c {
            '\n' => title.push_str("\\n"),
            '\r' => title.push_str("\\r"),
            '\t' => title.push_str("\\t"),
            _ if hides(c) => push_escape(&mut title, c),
            _ => title.push(c),
        }
        length += title[end..].chars().count();
        if length < most {
            cut = title.len();
        } else if length > most {
            title.truncate(cut);
            title.push('…');
            break;
        }
    }
    title
}

fn push_escape(shown: &mut String, c: char) {
    write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("a string takes all");
}

/// Whether a character can hide what is there: it moves the cursor, turns the direction of text, or is not seen.
pub fn hides(c: char) -> bool {
    moves(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character moves what stands beside it: a control character, or one that turns the direction of text. Of
/// those that [hide](hides), the others are a part of words in some scripts, and of pictures.
pub fn moves(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown_and_nothing_is_left_out() {
        let check = |hidden: &str, expect: &str| assert_eq!(text(hidden), expect);
        check("a\tb\nü 漢", "a\tb\nü 漢");
        check(
            "echo \x1b]; touch HIDDEN ;\x07#",
            "echo \\u{1b}]; touch HIDDEN ;\\u{7}#",
        );
        check("50%\r100%\u{9b}2J", "50%\\u{d}100%\\u{9b}2J");
        check("x\u{202e}y\u{200b}z\u{e0041}", "x\\u{202e}y\\u{200b}z\\u{e0041}");
        assert_eq!(line("a\nb\tc\u{8}"), "a b c\\u{8}");
        check(
            "👨\u{200d}👩 a\u{200d}b 👨\u{200d}",
            "👨\u{200d}👩 a\\u{200d}b 👨\\u{200d}",
        );
    }
    #[test]
    fn a_title_is_one_short_line_that_hides_nothing() {
        let check = |text: &str, expect: &str| assert_eq!(title(text, 10.max(expect.chars().count())), expect);
        check("cargo test", "cargo test");
        check("a\nb\tc\r", "a\\nb\\tc\\r");
        check("a\u{202e}b\u{1b}[0m\u{200b}", "a\\u{202e}b\\u{1b}[0m\\u{200b}");
        check("a\u{fff9}b\u{3164}", "a\\u{fff9}b\\u{3164}");
        check("naïve 漢字", "naïve 漢字");
        check("0123456789", "0123456789");
        check("0123456789a", "012345678…");
        // An escape is there whole or not at all.
        check("012345\u{202e}", "012345…");
        assert_eq!(title(&"\u{202e}".repeat(500), 20), "\\u{202e}\\u{202e}…");
    }
}
