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
    for c in text.chars() {
        if hidden(c) {
            write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("a string takes all");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The same in one line: line ends and tabs are spaces.
pub fn line(line: &str) -> String {
    text(line).replace(['\n', '\t'], " ")
}

/// Control characters, those that turn the direction of text, and those that nobody sees.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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
    }
}
