//! Makes answers and output safe for a terminal: what a model or a command wrote must not move the cursor, rename the
//! window or hide a line. Where a person decides by a text, [`agent_core::visible`] shows all of it instead.

use std::borrow::Cow;

use agent_core::visible;

/// The text without escape sequences and control characters; line ends and tabs stay.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let stripped = anstream::adapter::strip_str(text).to_string();
    Cow::Owned(stripped.chars().filter(|c| !is_harmful(*c)).collect())
}

/// Joiners and other characters that are not seen stay: answers in some scripts need them.
fn is_harmful(c: char) -> bool {
    visible::moves(c) && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let check = |text: &str, expect: &str| assert_eq!(plain(text), expect, "{text:?}");
        check("a\tb\nü 漢", "a\tb\nü 漢");
        check("\x1b[31mred\x1b[0m", "red");
        check("a\x1b]0;title\x07b", "ab");
        check("50%\r100%", "50%100%");
        check("a\x08\x7fb", "ab");
        check("x\u{202e}y", "xy");
        check("می\u{200c}خواهم", "می\u{200c}خواهم");
    }
}
