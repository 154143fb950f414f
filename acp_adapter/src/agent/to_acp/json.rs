//! JSON set out for people: a value a line. Nothing in it is read, so that each number and each escape stays as it was.

use std::str::Chars;

/// The longest text that is set out, in bytes,
const LONGEST: usize = 64 << 10;
/// and the most that may come of it: deep nesting is mostly blanks.
const ROOM: usize = 256 << 10;

/// The JSON, a value a line; none if it would be too long.
pub(super) fn set_out(json: &str) -> Option<String> {
    if json.len() > LONGEST {
        return None;
    }
    let mut lines = String::new();
    let mut depth = 0_usize;
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => copy_string(&mut lines, &mut rest),
            '{' | '[' => {
                lines.push(c);
                let inside = rest.as_str().trim_start();
                if inside.starts_with(['}', ']']) {
                    lines.push_str(&inside[..1]);
                    rest = inside[1..].chars();
                } else {
                    depth += 1;
                    break_line(&mut lines, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut lines, depth);
                lines.push(c);
            }
            ',' => {
                lines.push(c);
                break_line(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => lines.push(c),
        }
        if lines.len() > ROOM {
            return None;
        }
    }
    Some(lines)
}

/// Copies the rest of a string, up to its closing quote.
fn copy_string(lines: &mut String, rest: &mut Chars<'_>) {
    lines.push('"');
    while let Some(c) = rest.next() {
        lines.push(c);
        match c {
            '"' => break,
            '\\' => lines.extend(rest.next()),
            _ => {}
        }
    }
}

fn break_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_line() {
        for (json, lines) in [
            ("{}", "{}"),
            ("[ ]", "[]"),
            ("[{}, [\n]]", "[\n  {},\n  []\n]"),
            (
                r#"{"a":1e999,"b":["{,\"",null]}"#,
                "{\n  \"a\": 1e999,\n  \"b\": [\n    \"{,\\\"\",\n    null\n  ]\n}",
            ),
            ("[\"ä\u{a0}: [\", true ]", "[\n  \"ä\u{a0}: [\",\n  true\n]"),
        ] {
            assert_eq!(set_out(json).as_deref(), Some(lines));
        }
    }

    #[test]
    fn what_is_no_json_is_only_broken_otherwise() {
        for text in ["", "\"", "]]", "{\"a", "\"\\", "[}"] {
            assert!(set_out(text).is_some());
        }
    }

    #[test]
    fn what_would_be_too_long_is_left() {
        assert_eq!(set_out(&" ".repeat(LONGEST + 1)), None);
        assert_eq!(set_out(&"[".repeat(LONGEST)), None);
    }
}
