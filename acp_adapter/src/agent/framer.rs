//! Bytes to lines. Knows nothing of JSON; never holds more than one line of [`LONGEST`] bytes.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line that is read, in bytes; a longer one is skipped to its end in constant memory.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;

/// A line as it came, without its end.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Text; may be blank.
    Text(String),
    /// Bytes that are no UTF-8.
    NotUtf8,
    /// Longer than the limit.
    TooLong,
}

/// Cuts a stream of bytes into lines.
pub(crate) struct Framer<R> {
    input: BufReader<R>,
    longest: usize,
}

impl<R: Read> Framer<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::with_longest(input, LONGEST)
    }

    pub(crate) fn with_longest(input: R, longest: usize) -> Self {
        Self {
            input: BufReader::new(input),
            longest,
        }
    }

    /// The next line; none at the end of the input. The last line needs no newline.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        let mut begun = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(begun.then(|| finish(line, too_long)));
            }
            begun = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            too_long |= line.len() + piece.len() > self.longest;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(piece);
            }
            let taken = end.map_or(bytes.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(finish(line, too_long)));
            }
        }
    }
}

fn finish(mut line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        return Line::TooLong;
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Gives its bytes in pieces of `step`, so that lines are cut anywhere.
    struct Drip<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.step.min(self.bytes.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes = &self.bytes[count..];
            Ok(count)
        }
    }

    #[track_caller]
    fn check(input: &[u8], expect: &[Line]) {
        for step in [1, 2, 7, 1000] {
            let mut framer = Framer::with_longest(Drip { bytes: input, step }, 8);
            let mut lines = Vec::new();
            while let Some(line) = framer.next_line().unwrap() {
                lines.push(line);
            }
            assert_eq!(lines, expect, "in pieces of {step}");
        }
    }

    fn text(text: &str) -> Line {
        Line::Text(text.into())
    }

    /// The lines that are cut from a text at once.
    fn plainly(input: &[u8]) -> Vec<Line> {
        let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        lines.pop_if(|last| last.is_empty());
        let finished = |line: &&[u8]| finish(line.to_vec(), line.len() > 8);
        lines.iter().map(finished).collect()
    }

    #[test]
    fn every_short_input_is_the_same_in_all_pieces() {
        let parts: [&[u8]; 5] = [b"\n", b"\r", b"a", b"\xc3", b"\xbc234567"];
        let mut inputs: Vec<Vec<u8>> = vec![Vec::new()];
        for _ in 0..5 {
            let longer = |input: &Vec<u8>| parts.map(|part| [input, part].concat());
            inputs = inputs.iter().flat_map(longer).collect();
        }
        for input in inputs {
            check(&input, &plainly(&input));
        }
    }

    #[test]
    fn lines_end_with_newline_crlf_or_the_input() {
        check(b"", &[]);
        check(b"a\nb\r\nc", &[text("a"), text("b"), text("c")]);
        check(b"\n\r\n", &[text(""), text("")]);
    }

    #[test]
    fn invalid_utf8_costs_only_its_line() {
        check(b"a\n\xff\xfe\nb\n", &[text("a"), Line::NotUtf8, text("b")]);
        check("äö\n".as_bytes(), &[text("äö")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        check(
            b"12345678\n123456789\nb\n",
            &[text("12345678"), Line::TooLong, text("b")],
        );
        check(b"1234567890123456789012345", &[Line::TooLong]);
    }
}
