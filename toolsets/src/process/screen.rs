//! Bytes of a program as a terminal may be given them: text, what ends a line or a column, and what sets colours. What
//! moves the cursor, clears, renames the window or asks the terminal something is taken out, also where it comes in
//! pieces. Who reads it elsewhere is given no colours either.

use super::text::whole_characters;

/// The longest sequence that sets colours; a longer one is none.
pub(super) const LONGEST: usize = 64;

/// What came so far of something that is not whole yet.
#[derive(Default)]
pub(super) struct Screen {
    /// The first bytes of a character.
    character: Vec<u8>,
    place: Place,
    colours: Colours,
}

/// What becomes of the sequences that set colours.
#[derive(Clone, Copy, Default)]
enum Colours {
    #[default]
    Stay,
    Go,
}

/// Where in the output the next character is.
#[derive(Default)]
enum Place {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In the name of a character set and its like.
    Designation,
    /// In a control sequence, with its parameters so far; none where it surely sets no colour.
    Control(Option<String>),
    /// In a text for the terminal, such as a title.
    String,
    /// There, after an escape character, which may end it.
    StringEscape,
}

impl Screen {
    /// What may be shown of the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.character);
        all.extend_from_slice(bytes);
        self.character = all.split_off(whole_characters(&all));
        self.read_text(&String::from_utf8_lossy(&all))
    }

    /// The text alone, without colours.
    pub(super) fn text_of(text: &str) -> String {
        let mut screen = Self {
            colours: Colours::Go,
            ..Self::default()
        };
        screen.read_text(text)
    }

    fn read_text(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            if let Place::Text = self.place {
                let (plain, other) = rest.split_at(rest.bytes().position(needs_a_look).unwrap_or(rest.len()));
                shown.push_str(plain);
                rest = other;
            }
            if let Some(char) = rest.chars().next() {
                rest = &rest[char.len_utf8()..];
                self.take(char, &mut shown);
            }
        }
        shown
    }

    fn take(&mut self, char: char, shown: &mut String) {
        let place = std::mem::take(&mut self.place);
        self.place = match (place, char) {
            (Place::Text, _) => self.begun_by(char, shown),
            (Place::Escape, '[') => self.control(),
            (Place::Escape, ']' | 'P' | 'X' | '^' | '_') => Place::String,
            (Place::Escape | Place::Designation, ' '..='/') => Place::Designation,
            (Place::Escape | Place::Designation, '0'..='~') => Place::Text,
            (Place::Control(parameters), ' '..='?') => Place::Control(parameters.and_then(|text| more(text, char))),
            (Place::Control(parameters), '@'..='~') => {
                if let Some(parameters) = parameters.filter(|_| char == 'm') {
                    shown.push_str("\u{1b}[");
                    shown.push_str(&parameters);
                    shown.push('m');
                }
                Place::Text
            }
            (Place::String, '\u{7}' | '\u{9c}') | (Place::StringEscape, '\\') => Place::Text,
            (Place::String, '\u{1b}') => Place::StringEscape,
            // One that is never ended swallows one line at most.
            (Place::String, '\n') => self.begun_by(char, shown),
            (Place::String, _) => Place::String,
            // What was begun is broken off, and this belongs to what follows.
            (Place::StringEscape, _) => {
                self.place = Place::Escape;
                return self.take(char, shown);
            }
            (Place::Escape | Place::Designation | Place::Control(_), _) => self.begun_by(char, shown),
        };
    }

    /// What a character in the text begins; shown if it is text itself.
    fn begun_by(&self, char: char, shown: &mut String) -> Place {
        match char {
            '\u{1b}' => return Place::Escape,
            '\u{9b}' => return self.control(),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => return Place::String,
            '\n' | '\r' | '\t' => shown.push(char),
            _ if char.is_control() => {}
            _ => shown.push(char),
        }
        Place::Text
    }

    fn control(&self) -> Place {
        match self.colours {
            Colours::Stay => Place::Control(Some(String::new())),
            Colours::Go => Place::Control(None),
        }
    }
}

/// Whether a byte may begin something else than text. Much comes here, and all of it passes this.
fn needs_a_look(byte: u8) -> bool {
    // The last is how the control characters above 127 begin.
    (byte < b' ' && byte != b'\n' && byte != b'\r' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

/// The parameters with one more character, as long as they may be those of a colour.
fn more(mut parameters: String, char: char) -> Option<String> {
    let may_be = matches!(char, '0'..='9' | ';' | ':') && parameters.len() < LONGEST - 3;
    may_be.then(|| {
        parameters.push(char);
        parameters
    })
}

/// How many bytes of the beginning make whole characters and colours.
pub(super) fn whole_end(text: &[u8]) -> usize {
    let end = whole_characters(text);
    let near = end.saturating_sub(LONGEST);
    match text[near..end].iter().rposition(|byte| *byte == 0x1b) {
        Some(escape) if !text[near + escape..end].contains(&b'm') => near + escape,
        Some(_) | None => end,
    }
}

/// Where from `start` on the first whole character or colour begins.
pub(super) fn whole_start(text: &[u8], start: usize) -> usize {
    let near = start.saturating_sub(LONGEST);
    let begun = text[near..start].iter().rposition(|byte| *byte == 0x1b);
    if let Some(escape) = begun
        && !text[near + escape..start].contains(&b'm')
        && let Some(end) = text[start..].iter().position(|byte| *byte == b'm')
    {
        return start + end + 1;
    }
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    start + text[start..].iter().take(3).take_while(is_inside).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(&[u8], &str); 22] = [
        (b"plain\n\ttext\n", "plain\n\ttext\n"),
        (b"\x1b[31mred\x1b[0m \x1b[mplain", "\x1b[31mred\x1b[0m \x1b[mplain"),
        (b"\x1b[38;5;1;1m\x1b[38:2::1:2:3mx", "\x1b[38;5;1;1m\x1b[38:2::1:2:3mx"),
        (b"\xc2\x9b32mgreen", "\x1b[32mgreen"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]52;c;never ended\nnext", "\nnext"),
        (b"\x1b]2;t\x1b[31mred", "\x1b[31mred"),
        (b"\x1b[2J\x1b[1;1Hhome\x1b[?25l\x1b[6n\x1b[1A", "home"),
        (b"\x1b[>4;2mkeys\x1b[?1m\x1b[ m\x1b[1$m", "keys"),
        (b"\x1b(Bset\x1bc\x1b7\x1b#8", "set"),
        (b"\x1bPdcs\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x", "x"),
        (b"a\x08b\x07c\x00d\x0e\x7f", "abcd"),
        (b"10%\r100%\r\n", "10%\r100%\r\n"),
        (b"\xff\xfeok", "\u{fffd}\u{fffd}ok"),
        (b"broken \x1b[31", "broken "),
        (b"broken \x1b[3\xc3\xb6", "broken ö"),
        (b"broken \x1b[3\x1b[32mgreen", "broken \x1b[32mgreen"),
        (b"broken \x1b[3\nline", "broken \nline"),
        (b"\x1b\x1b[33mx", "\x1b[33mx"),
        (b"\xe2\x82\xac \xf0\x9f\x98\x80", "\u{20ac} \u{1f600}"),
        (b"\x1b", ""),
    ];

    #[test]
    fn colours_stay_and_all_else_that_steers_a_terminal_goes() {
        for (bytes, expect) in CASES {
            assert_eq!(Screen::default().read(bytes), expect, "{bytes:?}");
        }
        let long = format!("\u{1b}[{}mx", "1;".repeat(LONGEST));
        assert_eq!(Screen::default().read(long.as_bytes()), "x");
    }

    #[test]
    fn where_the_pieces_end_changes_nothing() {
        for (bytes, expect) in CASES {
            for size in 1..=bytes.len() {
                let mut screen = Screen::default();
                let shown: String = bytes.chunks(size).map(|piece| screen.read(piece)).collect();
                assert_eq!(shown, expect, "{bytes:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn excerpts_hold_no_half_character_and_no_half_colour() {
        let text = "a€\u{1b}[31mb".as_bytes();
        let ends: Vec<usize> = (0..=text.len()).map(|end| whole_end(&text[..end])).collect();
        assert_eq!(ends, [0, 1, 1, 1, 4, 4, 4, 4, 4, 9, 10]);
        let starts: Vec<usize> = (0..=text.len()).map(|start| whole_start(text, start)).collect();
        assert_eq!(starts, [0, 1, 4, 4, 4, 9, 9, 9, 9, 9, 10]);
    }
}
