//! Text set in lines of a width: paragraphs are wrapped at words, and what is code or a table stays as it is.

/// The text in lines of at most `width` columns where words allow it, each of which begins with `indent`.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let begin = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| begin.starts_with(mark));
        let is_code = fence.is_some() || mark.is_some() || begin.starts_with('|') || line.starts_with("    ");
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_) | None, _) => {}
        }
        if is_code || columns(line) + columns(indent) <= width {
            lines.push(format!("{indent}{line}").trim_end().to_owned());
        } else {
            paragraph(line, width, indent, &mut lines);
        }
    }
    lines
}

/// A point of a list goes on below its words, and not below its mark.
fn paragraph(line: &str, width: usize, indent: &str, lines: &mut Vec<String>) {
    let blanks = line.len() - line.trim_start().len();
    let hanging = format!("{indent}{}", " ".repeat(blanks + list_mark(line.trim_start())));
    let mut so_far = format!("{indent}{}", &line[..blanks]);
    let mut is_begun = false;
    for word in line.trim_start().split(' ') {
        if is_begun && columns(&so_far) + 1 + columns(word) > width {
            lines.push(so_far);
            so_far = hanging.clone();
        } else if is_begun {
            so_far.push(' ');
        }
        // A run without a blank, as in Chinese, is cut where the line is full.
        for letter in word.chars() {
            if wide(letter) == 2 && columns(&so_far) + 2 > width {
                lines.push(so_far);
                so_far = hanging.clone();
            }
            so_far.push(letter);
        }
        is_begun = true;
    }
    lines.push(so_far);
}

/// How long the mark of a list is that a line begins with.
fn list_mark(line: &str) -> usize {
    if ["- ", "* ", "+ ", "> "].iter().any(|mark| line.starts_with(mark)) {
        return 2;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = (1..=3).contains(&digits) && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    if is_number { digits + 2 } else { 0 }
}

fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

/// The columns of a character, near enough to set text.
fn wide(letter: char) -> usize {
    match u32::from(letter) {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_code_is_not() {
        let check = |text: &str, expect: &[&str]| assert_eq!(wrapped(text, 12, "  "), expect, "{text}");
        check("one two three four", &["  one two", "  three four"]);
        check("- one two three", &["  - one two", "    three"]);
        check("10. one two three", &["  10. one", "      two", "      three"]);
        check("a\n\nb", &["  a", "", "  b"]);
        check(
            "```\nlet very_long = 1;\n```\nand on and on",
            &["  ```", "  let very_long = 1;", "  ```", "  and on and", "  on"],
        );
        check("| a | b | c | d |", &["  | a | b | c | d |"]);
        check("averyverylongword b", &["  averyverylongword", "  b"]);
        check("日本語を直すこと", &["  日本語を直", "  すこと"]);
    }
}
