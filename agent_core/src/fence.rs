//! Text put verbatim into Markdown.

use crate::visible;

/// The text in a fence that is longer than any run of backticks in it, so that no text can end its own fence.
/// Ends with a line end.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}\n{text}{end}{fence}\n")
}

/// The text in a code span, on one line, and nothing in it hides.
pub(crate) fn code(text: &str) -> String {
    let text = visible::line(&text.replace('\r', " "));
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_own_fence() {
        let check = |text: &str, expect: &str| assert_eq!(fenced(text), expect);
        check("a", "```\na\n```\n");
        check("a\n", "```\na\n```\n");
        check("", "```\n```\n");
        check("```\na\n```", "````\n```\na\n```\n````\n");
    }

    #[test]
    fn no_text_ends_its_own_span() {
        let check = |text: &str, expect: &str| assert_eq!(code(text), expect);
        check("a b", "`a b`");
        check("a\nb", "`a b`");
        check("a\u{1b}[1m\u{202e}b", "`a\\u{1b}[1m\\u{202e}b`");
        check("a`b", "``a`b``");
        check("`a", "`` `a ``");
    }
}
