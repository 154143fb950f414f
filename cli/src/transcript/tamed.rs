//! Markdown of a session, so that it stays within its place in a larger one: its fences are closed, its headings are
//! below ours, and it holds no HTML, no link that runs something, and no picture that is fetched. Everything else is as
//! it was written.
//!
//! Where code begins and ends must be the same for us and for any reader of Markdown, or what we leave as code is none
//! there. So each fence stands at the line's beginning, whatever list it was in, and no code span goes over a line's end.

/// How many levels of headings are ours.
const OURS: usize = 3;
/// The lowest one there is.
const LOWEST: usize = 6;

/// A block of code that is open.
struct Fence {
    sign: u8,
    length: usize,
    /// How far it was indented.
    indent: usize,
}

/// The text with all that could reach out of its place made harmless.
pub(super) fn tamed(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len() + 16);
    let mut open: Option<Fence> = None;
    let mut is_below_text = false;
    for line in text.trim_end().lines() {
        match &open {
            Some(fence) if fence.is_closed_by(line) => {
                push_line(&mut tamed, &fence.sign_line());
                open = None;
            }
            Some(fence) => push_line(&mut tamed, without_indent(line, fence.indent)),
            None => match opened(line) {
                Some((before, fence, name)) => {
                    if !before.trim().is_empty() {
                        push_line(&mut tamed, before);
                    }
                    push_line(&mut tamed, &format!("{}{name}", fence.sign_line()));
                    open = Some(fence);
                }
                None => push_text(&mut tamed, line, is_below_text),
            },
        }
        is_below_text = open.is_none() && !line.trim().is_empty();
    }
    if let Some(fence) = open {
        push_line(&mut tamed, &fence.sign_line());
    }
    tamed
}

fn push_line(tamed: &mut String, line: &str) {
    tamed.push_str(line);
    tamed.push('\n');
}

impl Fence {
    fn sign_line(&self) -> String {
        char::from(self.sign).to_string().repeat(self.length)
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.bytes().all(|byte| byte == self.sign)
    }
}

/// The fence that a line opens: what stands before it, such as the sign of a list, and what it is named.
fn opened(line: &str) -> Option<(&str, Fence, String)> {
    let bytes = line.as_bytes();
    let begin = line.len() - behind_list_signs(line).len();
    let sign = *bytes.get(begin).filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = bytes[begin..].iter().take_while(|byte| **byte == sign).count();
    let name = line[begin + length..].trim_end();
    if length < 3 || (sign == b'`' && name.contains('`')) {
        return None;
    }
    let fence = Fence {
        sign,
        length,
        indent: begin,
    };
    Some((
        &line[..begin],
        fence,
        name.replace(['<', '&', '`'], " ").trim_end().to_owned(),
    ))
}

fn behind_list_signs(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let signs: &[char] = if digits > 0 { &['.', ')'] } else { &['-', '*', '+'] };
        let Some(behind) = rest[digits..].strip_prefix(signs) else {
            return rest;
        };
        let next = behind.trim_start();
        if next.len() == behind.len() {
            return rest;
        }
        rest = next;
    }
}

/// The line without so much of white space at its beginning.
fn without_indent(line: &str, indent: usize) -> &str {
    let white = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[white.min(indent)..]
}

fn push_text(tamed: &mut String, line: &str, is_below_text: bool) {
    let begin = line.len() - behind_signs(line).len();
    let (signs, rest) = line.split_at(begin);
    let level = rest.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=LOWEST).contains(&level) && rest[level..].starts_with([' ', '\t']) || level == rest.len();
    let bare = rest.trim_end();
    let is_rule = |sign: char| !bare.is_empty() && bare.chars().all(|letter| letter == sign);
    tamed.push_str(signs);
    if is_heading && level > 0 {
        tamed.push_str(&"#".repeat((level + OURS).min(LOWEST)));
        push_inline(tamed, &rest[level..]);
    } else {
        // Below a text such a line would make a heading of it.
        if is_rule('=') || (is_rule('-') && (is_below_text || !signs.trim().is_empty())) {
            tamed.push('\\');
        }
        push_inline(tamed, rest);
    }
    tamed.push('\n');
}

/// The line without the signs of quotes and lists.
fn behind_signs(line: &str) -> &str {
    let mut rest = line;
    loop {
        let next = behind_list_signs(rest);
        let next = next.strip_prefix('>').unwrap_or(next);
        if next.len() == rest.len() {
            return rest;
        }
        rest = next;
    }
}

/// The text of one line. A run of backticks with no other of its length behind it opens nothing.
fn push_inline(tamed: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut runs = runs(bytes);
    let mut at = 0;
    let mut copied = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let escape = match rest {
            [b'\\', next, ..] if next.is_ascii_punctuation() => {
                at += 2;
                continue;
            }
            [b'`', ..] => {
                let length = rest.iter().take_while(|byte| **byte == b'`').count();
                if let Some(end) = closing(&mut runs, at + length, length) {
                    at = end;
                    continue;
                }
                // Each of them, so that none is left to meet one of another line.
                tamed.push_str(&text[copied..at]);
                tamed.push_str(&"\\`".repeat(length));
                at += length;
                copied = at;
                continue;
            }
            [b'<', next, ..] => next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?'),
            [b'!', b'[', ..] => true,
            [b']', b'(' | b':', ..] => {
                at += 1;
                !leads_to_text(&text[at + 1..])
            }
            _ => false,
        };
        if escape {
            tamed.push_str(&text[copied..at]);
            tamed.push('\\');
            copied = at;
        }
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    tamed.push_str(&text[copied..]);
}

/// The places of the runs of backticks of each length, the last one first.
fn runs(bytes: &[u8]) -> std::collections::HashMap<usize, Vec<usize>> {
    let mut runs: std::collections::HashMap<usize, Vec<usize>> = std::collections::HashMap::new();
    let mut end = bytes.len();
    while let Some(last) = bytes[..end].iter().rposition(|byte| *byte == b'`') {
        let begin = bytes[..last]
            .iter()
            .rposition(|byte| *byte != b'`')
            .map_or(0, |before| before + 1);
        runs.entry(last + 1 - begin).or_default().push(begin);
        end = begin;
    }
    runs
}

/// Where the code span ends that such a run opens before this place.
fn closing(runs: &mut std::collections::HashMap<usize, Vec<usize>>, from: usize, length: usize) -> Option<usize> {
    let places = runs.get_mut(&length)?;
    while places.last().is_some_and(|place| *place < from) {
        places.pop();
    }
    places.last().map(|place| place + length)
}

/// Whether a link leads to a page, a file or a mail, and runs nothing.
fn leads_to_text(link: &str) -> bool {
    let link = link.trim_start().trim_start_matches('<').to_ascii_lowercase();
    let scheme = link.split(['/', '?', '#', ' ', '\t', ')']).next().unwrap_or_default();
    let is_known = ["http:", "https:", "mailto:"]
        .iter()
        .any(|known| scheme.starts_with(known));
    !link.is_empty() && (is_known || !scheme.contains([':', '&', '\\']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_stays_as_it_was_written() {
        for text in [
            "One **line** with `code`, a [link](https://example.com/a_b) and <3, 1 < 2.\n",
            "- a\n- b\n  1. c\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
            "```rust\nfn main() -> Vec<u8> {}\n# no heading\n```\n\nafter\n",
            "~~~\n```\n<b>\n~~~\n",
            "> quoted\n\n---\n\n#5 and #hashtag\n",
            "see [a](src/a.rs#L3), [b](/abs) and [c](mailto:a@b.c); `` a ` <b> ``\n",
            "[1]: https://example.com\n",
            "日本語 — é `<b>`\n",
        ] {
            assert_eq!(tamed(text), text);
        }
    }

    #[test]
    fn what_reaches_out_is_made_harmless() {
        let check = |text: &str, expect: &str| assert_eq!(tamed(text), expect, "{text}");
        check("a\n```python\nprint(1)", "a\n```python\nprint(1)\n```\n");
        check("````\n```\nx", "````\n```\nx\n````\n");
        check("# A\n## B\n###### C\n#", "#### A\n##### B\n###### C\n####\n");
        check("- ## 3 · now\n> # x", "- ##### 3 · now\n> #### x\n");
        check("Title\n===\nOther\n---", "Title\n\\===\nOther\n\\---\n");
        check("<script>a</script> <!-- x", "\\<script>a\\</script> \\<!-- x\n");
        check(
            "[x](javascript:a) [y](JaVa&#115;cript:b)",
            "[x]\\(javascript:a) [y]\\(JaVa&#115;cript:b)\n",
        );
        check("[x](<javascript:a>)", "[x]\\(\\<javascript:a>)\n");
        check("[x](\njavascript:a)", "[x]\\(\njavascript:a)\n");
        check("[x]: data:text/html,a", "[x]\\: data:text/html,a\n");
        check("![x](https://h/p.png)", "\\![x](https://h/p.png)\n");
        // A span that would begin in one line and end in another is none.
        check("a ` b\n` <b> `", "a \\` b\n` <b> `\n");
        check("`` <b> `\n", "\\`\\` \\<b> \\`\n");
        check("\\`<b>`", "\\`\\<b>\\`\n");
        // Out of a list: where the list ends would else say where the code does.
        check(
            "- a\n  ```sh\n  <b>\n    x\n  ```\n- c",
            "- a\n```sh\n<b>\n  x\n```\n- c\n",
        );
        check("1. ```\n   a\n<b>", "1. \n```\na\n<b>\n```\n");
        check("    ```\n  ```\n<b>", "```\n```\n\\<b>\n");
        check("~~~ a```\n<b>", "~~~ a\n<b>\n~~~\n");
    }

    proptest::proptest! {
        /// What is left to see when all code is gone.
        #[test]
        fn nothing_outside_code_is_raw(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "```", "~~~", "````", "`", "``", "\n", "\n", "  ", "    ", "- ", "1. ", "> ", "<b>", "# x", "a", "\\", "\n\n", "===", "---",
                    "[x](", "javascript:", "](", "]:", "!["
                ]),
                0..24,
            )
        ) {
            let text = tamed(&pieces.concat());
            let mut code: Option<String> = None;
            for line in text.lines() {
                match &code {
                    Some(fence) if line == fence => code = None,
                    Some(_) => {}
                    // With another backtick behind it, it is a code span.
                    None if line.starts_with("~~~")
                        || (line.starts_with("```") && !line.trim_start_matches('`').contains('`')) =>
                    {
                        let sign = &line[..1];
                        let length = line.len() - line.trim_start_matches(sign).len();
                        code = Some(sign.repeat(length));
                    }
                    None => assert!(!line.starts_with("# ") && !line.starts_with("## "), "{text}"),
                }
            }
            assert!(code.is_none(), "a fence stays open: {text}");
        }
    }
}
