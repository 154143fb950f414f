//! JSON of services before it is parsed: how much it holds, and halves of characters in it. It knows nothing of what is
//! said.

use std::borrow::Cow;

use agent_core::values;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most values that are read at once. A text may be long; nothing that a model says has many parts, and each takes
/// many times its bytes once it is parsed, and a cancel waits for a parser.
pub(crate) const MOST_VALUES: usize = 30_000;

/// JSON that nobody parses.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("sent more than 30,000 values at once")]
pub(crate) struct TooMany;

/// A text as a parser takes it: one that holds too much is refused, and half a character becomes U+FFFD.
pub(crate) fn checked(text: &str) -> Result<Cow<'_, str>, TooMany> {
    if values::count(text.as_bytes()) > MOST_VALUES {
        return Err(TooMany);
    }
    Ok(mended(text))
}

/// The text with U+FFFD in place of each escape that is half a character: no parser takes them, and a model that is cut
/// within a picture sends them.
pub(crate) fn mended(text: &str) -> Cow<'_, str> {
    let is_suspect = |bytes: &[u8]| matches!(bytes, [b'\\', b'u', b'd' | b'D']);
    if !text.as_bytes().windows(3).any(is_suspect) {
        return Cow::Borrowed(text);
    }
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        at += match half(&text[at..]) {
            // What follows the backslash is none itself, unless it is no escape.
            None => 1 + usize::from(text.as_bytes().get(at + 1).is_some_and(u8::is_ascii)),
            Some(Half::First) if matches!(half(&text[at + 6..]), Some(Half::Second)) => 12,
            Some(Half::First | Half::Second) => {
                mended.push_str(&text[copied..at]);
                mended.push('\u{fffd}');
                copied = at + 6;
                6
            }
        };
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(mended + &text[copied..]),
    }
}

/// A half of a character that needs two escapes.
enum Half {
    First,
    Second,
}

/// Which half an escape at the text's beginning is; none if it is none.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// A number that counts or places something; anything else is as if it were missing.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_mended_and_nothing_else() {
        let check = |text: &str, expect: &str| assert_eq!(mended(text), expect, "{text}");
        check(r"a\nb", r"a\nb");
        check(r"\ud83d\ude00", r"\ud83d\ude00");
        check(r"\uD83D\uDE00\uD83D", "\\uD83D\\uDE00\u{fffd}");
        check(r"a\ud800b", "a\u{fffd}b");
        check(r"\ude00\ud83d", "\u{fffd}\u{fffd}");
        check(r"\ud83d\ud83d\ude00", "\u{fffd}\\ud83d\\ude00");
        check(r"\\ud800", r"\\ud800");
        check(r"\\\ud800", "\\\\\u{fffd}");
        check(r"\u00e9\ud8", r"\u00e9\ud8");
        check("\\é\\ud800", "\\é\u{fffd}");
        check("\\u\\", "\\u\\");
    }
}
