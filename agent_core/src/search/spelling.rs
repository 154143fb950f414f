//! How text is spelled for the index, whose tokenizer takes a run of letters for a word.
//!
//! Chinese, Japanese and Korean are written without spaces between words, and pictures are no letters to it. So each of
//! their characters becomes a word of its own, and a word of any length is a phrase of those. What is added can be told
//! from the text and taken out again.

use std::fmt::Write;

/// Stands between words that have no space between them. No letter, so the tokenizer parts words at it.
const GAP: char = '\u{1}';

/// Begins a character that is spelled by its number; a letter to the tokenizer, and in nobody's text.
const NUMBER: char = '\u{e000}';

/// Text as the index gets it.
pub(crate) fn spelled(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len() + text.len() / 8);
    let mut is_apart = true;
    for c in text.chars() {
        match kind(c) {
            Kind::Letter => {
                spelled.push(c);
                is_apart = c.is_whitespace();
                continue;
            }
            Kind::Ours => {
                spelled.push(' ');
                continue;
            }
            Kind::Word | Kind::Picture if is_apart => {}
            Kind::Word | Kind::Picture => spelled.push(GAP),
        }
        if kind(c) == Kind::Word {
            spelled.push(c);
        } else {
            write!(spelled, "{NUMBER}{:x}", u32::from(c)).expect("a string takes all");
        }
        spelled.push(GAP);
        is_apart = true;
    }
    spelled
}

/// The text as it was before [`spelled`].
pub(super) fn unspelled(spelled: &str) -> String {
    let mut text = String::with_capacity(spelled.len());
    let mut rest = spelled.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            GAP => {}
            NUMBER => {
                let mut number = 0;
                while let Some(digit) = rest.peek().and_then(|c| c.to_digit(16)) {
                    number = number * 16 + digit;
                    rest.next();
                }
                text.push(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => text.push(c),
        }
    }
    text
}

/// Whether a text has anything that the index knows.
pub(super) fn has_words(text: &str) -> bool {
    text.chars().any(|c| match kind(c) {
        Kind::Letter => c.is_alphanumeric(),
        Kind::Word | Kind::Picture => true,
        Kind::Ours => false,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Part of a word, or between words: the tokenizer knows.
    Letter,
    /// A word of its own.
    Word,
    /// A word of its own that the tokenizer does not take for a letter.
    Picture,
    /// Has a meaning of ours in spelled text, or ends text in SQLite.
    Ours,
}

fn kind(c: char) -> Kind {
    match c {
        '\0'..='\u{3}' | NUMBER => Kind::Ours,
        // Below, a long text is quickly done.
        '\u{4}'..='\u{10ff}' => Kind::Letter,
        '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}'
        | '\u{3038}'..='\u{303c}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{318e}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}' => Kind::Word,
        '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{3200}'..='\u{33ff}'
        | '\u{16fe0}'..='\u{18dff}'
        | '\u{1aff0}'..='\u{1b2ff}'
        | '\u{1f000}'..='\u{1f3fa}'
        // Between them: the colours of skin, which belong to the picture before.
        | '\u{1f400}'..='\u{1faff}'
        | '\u{20000}'..='\u{3ffff}' => Kind::Picture,
        _ => Kind::Letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_spaces_is_taken_apart_and_put_together_again() {
        let check = |text: &str, expect: &str| {
            assert_eq!(spelled(text).replace(GAP, "|"), expect, "{text}");
            assert_eq!(unspelled(&spelled(text)), text);
        };
        check("plain text, naïve", "plain text, naïve");
        check("日本語", "日|本|語|");
        check("API日本v2", "API|日|本|v2");
        check("한국어 글", "한|국|어| 글|");
        check("ｶﾅ々ー", "ｶ|ﾅ|々|ー|");
        check("done🎉", "done|\u{e000}1f389|");
        check("𠮷野", "\u{e000}20bb7|野|");
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_by_spelling(text in proptest::prelude::any::<String>()) {
            let ours = |c: char| matches!(c, '\0'..='\u{3}' | NUMBER);
            assert_eq!(unspelled(&spelled(&text)), text.replace(ours, " "));
        }
    }
}
