//! Bytes of a program as text that people and models read: no terminal commands, no half characters.

use super::screen::Screen;

/// Text without terminal commands: escape sequences and control characters go, a line that a carriage return wrote
/// anew keeps its last state, and what is no UTF-8 is replaced.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = Screen::text_of(&String::from_utf8_lossy(bytes));
    let mut lines = text.split('\n').map(last_state);
    let mut readable = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        readable.push('\n');
        readable.push_str(line);
    }
    readable
}

/// What a terminal would show of a line that was written over again and again.
fn last_state(line: &str) -> &str {
    line.split('\r').rfind(|state| !state.is_empty()).unwrap_or_default()
}

/// How many of the bytes make whole characters: all but a character at the end of which only the first bytes came.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(3);
    for index in (start..bytes.len()).rev() {
        let needed = match bytes[index] {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            0b1000_0000..=0b1011_1111 => continue,
            _ => return bytes.len(),
        };
        let begun = bytes.len() - index < needed;
        return if begun { index } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_commands_are_taken_out() {
        for (bytes, expect) in [
            (&b"plain\n\ttext\n"[..], "plain\n\ttext\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]52;c;never ended\nnext", "\nnext"),
            (b"\x1b[2J\x1b[1;1Hhome", "home"),
            (b"\x1b(Bset", "set"),
            (b"\x1bPdcs\x1b\\x", "x"),
            (b"a\x08b\x07c\x00d", "abcd"),
            (b"10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
            (b"\xff\xfeok", "\u{fffd}\u{fffd}ok"),
            ("\u{9b}31mred".as_bytes(), "red"),
            (b"broken \x1b[31", "broken "),
            ("broken \x1b[3ö".as_bytes(), "broken ö"),
            (b"\x1b", ""),
        ] {
            assert_eq!(readable(bytes), expect, "{bytes:?}");
        }
    }

    #[test]
    fn whole_characters_are_counted() {
        for (bytes, expect) in [
            (&b""[..], 0),
            (b"a", 1),
            (b"a\xe2", 1),
            (b"a\xe2\x82", 1),
            (b"a\xe2\x82\xac", 4),
            (b"\xf0\x9f\x98", 0),
            (b"\xf0\x9f\x98\x80", 4),
            (b"a\x80\x80\x80", 4),
        ] {
            assert_eq!(whole_characters(bytes), expect, "{bytes:?}");
        }
    }
}
