//! One line about a call, for a person: never more than one line, never a character that hides another.

use std::fmt::Write;

use serde_json::Value;

/// A title is shorter than this, in characters.
const MAX: usize = 200;

/// Makes any text a title: odd characters are written as escapes, a long text is cut.
pub(crate) fn line(text: &str) -> String {
    let mut title = String::new();
    let mut length = 0;
    for character in text.chars() {
        let escaped = visible(character);
        length += escaped.chars().count();
        if length > MAX - 2 {
            title.push('…');
            break;
        }
        title.push_str(&escaped);
    }
    title
}

/// A text argument, however the call is made.
pub(crate) fn text<'a>(input: &'a Value, field: &str) -> &'a str {
    input.get(field).and_then(Value::as_str).unwrap_or("?")
}

/// A character as it can be shown in a line: controls, direction marks and invisible ones are escaped.
fn visible(character: char) -> String {
    let mut shown = String::new();
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if hides(character) => {
            write!(shown, "\\u{{{:x}}}", u32::from(character)).expect("writing to a string cannot fail");
        }
        _ => shown.push(character),
    }
    shown
}

/// Whether a character is a control, one that nobody sees, or one that turns the direction of others.
pub(crate) fn hides(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line_without_hidden_characters() {
        let check = |input: &str, expect: &str| assert_eq!(line(input), expect);
        check("Read src/a.rs", "Read src/a.rs");
        check("a\nb\tc\r", "a\\nb\\tc\\r");
        check("a\u{202e}b\u{1b}[0m\u{200b}", "a\\u{202e}b\\u{1b}[0m\\u{200b}");
        check("a\u{fff9}b", "a\\u{fff9}b");
        check("naïve 漢字", "naïve 漢字");
        assert!(line(&"é".repeat(500)).chars().count() < MAX);
        assert!(line(&"\u{202e}".repeat(500)).chars().count() < MAX);
    }
}
