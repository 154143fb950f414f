//! Text as clients can bear it: in pieces, in fences, and cut where it is too long to show.

/// Bytes of text in one update of a message.
pub(crate) const PIECE: usize = 4 * 1024;

/// Bytes of a tool's text that are shown.
pub(super) const SHOWN: usize = 32 * 1024;

/// The text in pieces of at most [`PIECE`] bytes; none for an empty one.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The text, or its beginning with a note of its true length.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, SHOWN)
}

/// The text in `limit` bytes, with a note of its true length where that cuts it.
pub(crate) fn cut_to(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!(
        "{}\n{}",
        &text[..text.floor_char_boundary(limit)],
        true_length(text.len())
    )
}

/// The text verbatim, cut where it is too long: in a fence longer than any run of backticks inside.
pub(super) fn fence(language: &str, text: &str) -> String {
    let shown = &text[..text.floor_char_boundary(SHOWN)];
    let fenced = whole_fence(language, shown);
    if shown.len() == text.len() {
        fenced
    } else {
        format!("{fenced}\n{}", true_length(text.len()))
    }
}

/// The same, never cut.
pub(super) fn whole_fence(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{newline}{fence}")
}

/// The text in one line of at most 1,000 bytes.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    if line.len() > 1000 {
        line.truncate(line.floor_char_boundary(1000));
        line.push('…');
    }
    line
}

fn true_length(bytes: usize) -> String {
    format!("… {bytes} bytes in all; the rest is not shown")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_and_make_the_text_again() {
        assert_eq!(pieces("").count(), 0);
        assert_eq!(pieces("a").collect::<Vec<_>>(), ["a"]);
        let text = "äöü€".repeat(3000);
        assert!(pieces(&text).all(|piece| piece.len() <= PIECE));
        assert_eq!(pieces(&text).collect::<String>(), text);
    }

    #[test]
    fn fences_are_longer_than_any_run_inside() {
        assert_eq!(fence("", "a"), "```\na\n```");
        assert_eq!(fence("sh", "a\n"), "```sh\na\n```");
        assert_eq!(fence("", "a ``` b ```` c"), "`````\na ``` b ```` c\n`````");
    }

    #[test]
    fn what_is_cut_says_its_true_length() {
        let long = "€".repeat(20_000);
        assert!(cut(&long).ends_with("\n… 60000 bytes in all; the rest is not shown"));
        assert!(cut(&long).len() < SHOWN + 100);
        let fenced = fence("", &long);
        assert!(fenced.ends_with("```\n… 60000 bytes in all; the rest is not shown"));
        assert_eq!(cut("short"), "short");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a\n  b\r\nc"), "a b c");
        assert!(one_line(&"ä".repeat(2000)).len() < 1010);
    }
}
