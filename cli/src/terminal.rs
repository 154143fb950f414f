//! The process's own output where it holds foreign words: error texts of services, names of models and folders, titles.
//! On a terminal whatever could steer it is escaped; into a file or another program text goes as it is.

use std::io::{self, IsTerminal, Write};

use agent_core::visible;

/// Writes text that carries no styles of our own.
pub(crate) struct Words<W> {
    out: W,
    on_terminal: bool,
    /// The beginning of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

/// Standard output.
pub(crate) fn stdout() -> Words<io::Stdout> {
    Words::new(io::stdout(), io::stdout().is_terminal())
}

/// How wide text for people is set: as the terminal is, and no wider than one likes to read.
pub(crate) fn width() -> usize {
    const LIKED: usize = 100;
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    match columns {
        0 => LIKED,
        columns => columns.clamp(20, LIKED),
    }
}

/// Standard error.
pub(crate) fn stderr() -> Words<io::Stderr> {
    Words::new(io::stderr(), io::stderr().is_terminal())
}

impl<W: Write> Words<W> {
    /// Escapes for a terminal, and passes on as it is for anything else.
    pub(crate) fn new(out: W, on_terminal: bool) -> Self {
        Self {
            out,
            on_terminal,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Words<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.on_terminal {
            return self.out.write(bytes);
        }
        let mut whole = std::mem::take(&mut self.begun);
        whole.extend_from_slice(bytes);
        let (ready, begun) = whole.split_at(whole.len() - unfinished(&whole));
        self.begun = begun.to_vec();
        let text = String::from_utf8_lossy(ready);
        self.out.write_all(visible::text(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How many bytes at the end begin a character and don't end it.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        Err(_) | Ok(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[track_caller]
    fn check(on_terminal: bool, pieces: &[&[u8]], expect: &str) {
        let mut out = Vec::new();
        let mut words = Words::new(&mut out, on_terminal);
        pieces.iter().for_each(|piece| words.write_all(piece).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn foreign_words_do_not_steer_a_terminal() {
        check(true, &[b"a\x1b]0;t\x07\n"], "a\\u{1b}]0;t\\u{7}\n");
        check(true, &["ä€".as_bytes()], "ä€");
        check(true, &[b"\xc2", b"\x9b", b"2J"], "\\u{9b}2J");
        check(true, &[b"a\xffb"], "a\u{fffd}b");
    }

    #[test]
    fn what_goes_elsewhere_stays_as_it_is() {
        check(false, &[b"a\x1b[31m\r\n"], "a\x1b[31m\r\n");
    }
}
