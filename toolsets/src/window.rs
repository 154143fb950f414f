//! A window of a file's lines, taken from its bytes as they stream by, so that no file is too large to look into.

use std::io::{self, Read};

use agent_core::cancel::Cancel;
use sha2::{Digest, Sha256};

use crate::coding::{Coding, SAMPLE};
use crate::files::{Fingerprint, MAX_WHOLE};

/// A longer line is cut, in characters.
pub(crate) const MAX_LINE: usize = 2_000;
/// A longer window is cut, in characters.
pub(crate) const MAX_TEXT: usize = 100_000;

const CHUNK: usize = 64 * 1024;

/// What a window shows of a file.
pub(crate) struct Shown {
    /// The lines, each with its number if asked for.
    pub(crate) text: String,
    /// The last line that is shown; one less than the first if none is.
    pub(crate) last: u64,
    /// There is more after the last one.
    pub(crate) more: bool,
    /// All lines of the file; none if it was not read to its end.
    pub(crate) total: Option<u64>,
    /// What the whole file holds; none if it was not read to its end, or is too large to be changed anyway.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) coding: Coding,
}

/// Which lines are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// The first line, from 1.
    pub(crate) offset: u64,
    /// How many.
    pub(crate) limit: u64,
    /// Each line gets its number, and a long one is cut.
    pub(crate) numbered: bool,
}

/// Reads the first bytes of a file: enough to know what it is.
pub(crate) fn head(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(SAMPLE as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Takes a window out of a file, of which `head` has been read and `reader` has the rest; none if it is no text.
pub(crate) fn read(head: &[u8], mut reader: impl Read, wanted: Wanted, cancel: &Cancel) -> io::Result<Option<Shown>> {
    let Some(coding) = Coding::detect(head, head.len() < SAMPLE) else {
        return Ok(None);
    };
    let mut window = Window::new(wanted);
    let mut decoder = coding.encoding.new_decoder_without_bom_handling();
    let mut digest = Sha256::new();
    let mut text = String::new();
    let mut decode = |bytes: &[u8], last: bool, window: &mut Window| {
        text.clear();
        text.reserve(
            decoder
                .max_utf8_buffer_length(bytes.len())
                .unwrap_or(bytes.len() * 3 + 16),
        );
        let _ = decoder.decode_to_string(bytes, &mut text, last);
        window.feed(&text);
    };
    digest.update(head);
    decode(&head[coding.bom..], false, &mut window);
    let mut size = head.len() as u64;
    let mut chunk = vec![0; CHUNK];
    let mut whole = false;
    while !cancel.is_set() && (size <= MAX_WHOLE || !window.is_full()) {
        let read = reader.read(&mut chunk)?;
        if read == 0 {
            decode(&[], true, &mut window);
            whole = true;
            break;
        }
        if size <= MAX_WHOLE {
            digest.update(&chunk[..read]);
        }
        decode(&chunk[..read], false, &mut window);
        size += read as u64;
    }
    let fingerprint = (whole && size <= MAX_WHOLE).then(|| digest.finalize().into());
    Ok(Some(window.finish(whole, coding, fingerprint)))
}

/// Collects the wanted lines and counts all of them.
struct Window {
    wanted: Wanted,
    text: String,
    /// Characters in `text`.
    length: usize,
    /// Number of the line that is being read, from 1.
    line: u64,
    /// The wanted part of the line that is being read.
    current: String,
    /// Characters of the line that is being read.
    width: usize,
    /// A carriage return came last; a line feed after it belongs to the same line end.
    after_return: bool,
    last: u64,
    /// The text has reached its limit.
    overflow: bool,
}

impl Window {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            text: String::new(),
            length: 0,
            line: 1,
            current: String::new(),
            width: 0,
            after_return: false,
            last: wanted.offset.saturating_sub(1),
            overflow: false,
        }
    }

    fn is_full(&self) -> bool {
        self.overflow || self.line >= self.wanted.offset.saturating_add(self.wanted.limit)
    }

    fn is_wanted(&self) -> bool {
        self.line >= self.wanted.offset && !self.is_full()
    }

    fn feed(&mut self, text: &str) {
        for piece in text.split_inclusive(['\n', '\r']) {
            let body = piece.trim_end_matches(['\n', '\r']);
            if !body.is_empty() {
                self.after_return = false;
                self.push(body);
            }
            match piece.as_bytes()[body.len()..] {
                [b'\r'] => {
                    self.after_return = true;
                    self.end_line();
                }
                [b'\n'] if std::mem::take(&mut self.after_return) => {}
                [b'\n'] => self.end_line(),
                _ => {}
            }
        }
    }

    fn push(&mut self, text: &str) {
        if !self.is_wanted() {
            // How long a line is matters only where it is shown.
            self.width += text.len();
            return;
        }
        let most = if self.wanted.numbered { MAX_LINE } else { MAX_TEXT };
        let room = most.saturating_sub(self.width);
        self.current.extend(text.chars().take(room));
        self.width += text.chars().count();
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.show_line();
        }
        self.current.clear();
        self.width = 0;
        self.line += 1;
    }

    fn show_line(&mut self) {
        let line = std::mem::take(&mut self.current);
        let shown = match (self.wanted.numbered, self.width > MAX_LINE) {
            (false, _) => format!("{line}\n"),
            (true, false) => format!("{:>6}\t{line}\n", self.line),
            (true, true) => format!(
                "{:>6}\t{line}… [cut: the line has {} characters]\n",
                self.line, self.width
            ),
        };
        let length = shown.chars().count();
        if self.length + length > MAX_TEXT && self.length > 0 {
            self.overflow = true;
            return;
        }
        self.length += length;
        self.text.push_str(&shown);
        self.last = self.line;
    }

    fn finish(mut self, whole: bool, coding: Coding, fingerprint: Option<Fingerprint>) -> Shown {
        let mut lines = self.line - 1;
        if self.width > 0 {
            lines += 1;
            if whole {
                self.end_line();
            }
        }
        Shown {
            more: !whole || lines > self.last,
            text: self.text,
            last: self.last,
            total: whole.then_some(lines),
            fingerprint,
            coding,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Gives a byte at a time, so that characters and line ends come in pieces.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let [first, rest @ ..] = self.0 else { return Ok(0) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_come() {
        let check = |offset: u64, limit: u64, text: &str, last: u64, total: u64| {
            let wanted = Wanted {
                offset,
                limit,
                numbered: false,
            };
            // The sample is full, so the rest is read from what follows it.
            let head = [b"x".repeat(SAMPLE - 1), b"\n".to_vec()].concat();
            let rest = Dribble("é\r\nb\r\rc\n😀".as_bytes());
            let shown = read(&head, rest, wanted, &Cancel::new()).unwrap().unwrap();
            assert_eq!(
                (shown.text.as_str(), shown.last, shown.total),
                (text, last, Some(total))
            );
            assert!(shown.fingerprint.is_some());
        };
        check(2, 9, "é\nb\n\nc\n😀\n", 6, 6);
        check(2, 1, "é\n", 2, 6);
        check(6, 1, "😀\n", 6, 6);
        check(7, 1, "", 6, 6);
    }

    #[test]
    fn a_cancelled_reading_has_no_end() {
        let cancel = Cancel::new();
        cancel.set();
        let wanted = Wanted {
            offset: 1,
            limit: 1,
            numbered: true,
        };
        let shown = read(b"a", io::repeat(b'a'), wanted, &cancel).unwrap().unwrap();
        assert_eq!((shown.total, shown.fingerprint), (None, None));
    }
}
