//! Server-sent events: bytes in any pieces to the data of whole events. It knows nothing of what the data says.

use std::mem::take;

/// The longest line, and the longest data of one event, in bytes.
pub(crate) const LONGEST: usize = 8 * 1024 * 1024;

/// What can be wrong with a stream of events.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum SseError {
    /// A line or an event without an end.
    #[error("sent an event of more than {} MiB", LONGEST / 1024 / 1024)]
    TooLong,
    /// Text that is not UTF-8.
    #[error("sent an event that is not UTF-8")]
    NotText,
}

/// Collects lines into events.
#[derive(Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    /// The data of the event so far; a line feed after each of its lines.
    data: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line has been seen; only before it a byte order mark is none of the text.
    begun: bool,
}

impl SseReader {
    /// Takes the next bytes and adds the data of each event that they complete, those before a fault too.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
        let mut rest = bytes;
        if !rest.is_empty() && take(&mut self.after_cr) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            let cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            events.extend(self.end_line()?);
        }
        self.extend_line(rest)
    }

    /// What a stream that ended without its last blank line had begun to say.
    pub(crate) fn end(&mut self) -> Result<Option<String>, SseError> {
        match self.end_line()? {
            Some(data) => Ok(Some(data)),
            None => self.end_event(),
        }
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + bytes.len() > LONGEST {
            return Err(SseError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, SseError> {
        let whole = take(&mut self.line);
        let begun = std::mem::replace(&mut self.begun, true);
        let line = match whole.strip_prefix("\u{feff}".as_bytes()) {
            Some(line) if !begun => line,
            Some(_) | None => &whole,
        };
        if line.is_empty() {
            return self.end_event();
        }
        // All other fields (event, id, retry) and comments say nothing that a reply needs.
        if let Some(value) = line.strip_prefix(b"data:") {
            self.extend_data(value.strip_prefix(b" ").unwrap_or(value))?;
        }
        Ok(None)
    }

    fn extend_data(&mut self, value: &[u8]) -> Result<(), SseError> {
        if self.data.len() + value.len() > LONGEST {
            return Err(SseError::TooLong);
        }
        self.data.extend_from_slice(value);
        self.data.push(b'\n');
        Ok(())
    }

    fn end_event(&mut self) -> Result<Option<String>, SseError> {
        let mut data = take(&mut self.data);
        if data.pop().is_none() {
            return Ok(None);
        }
        String::from_utf8(data).map(Some).map_err(|_| SseError::NotText)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The events of a stream that comes in these pieces, and the one that it ends with.
    fn read(pieces: &[&[u8]]) -> (Vec<String>, Result<Option<String>, SseError>) {
        let (mut reader, mut events) = (SseReader::default(), Vec::new());
        for piece in pieces {
            if let Err(error) = reader.push(piece, &mut events) {
                return (events, Err(error));
            }
        }
        (events, reader.end())
    }

    fn check(stream: &str, expect: &[&str]) {
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(read(&[stream.as_bytes()]).0, expect, "{stream:?} in one piece");
        assert_eq!(read(&bytes).0, expect, "{stream:?} byte by byte");
    }

    #[test]
    fn events_end_at_blank_lines_of_any_line_end() {
        check("data: a\n\ndata: b\r\n\r\ndata:c\r\rdata: d\n\n", &["a", "b", "c", "d"]);
        check("data: a\r\n\ndata: b\n\r\ndata: c\n\r", &["a", "b", "c"]);
        check("data: cut\n", &[]);
    }

    #[test]
    fn only_data_is_data() {
        check(": comment\r\n\nevent: x\nid: 7\nretry: 1\ndata: a\n\n\n\n", &["a"]);
        check("data: a\ndata:  b\ndata:\n\n", &["a\n b\n"]);
        check("\u{feff}data: a\n\ndata: \u{feff}b\n\n", &["a", "\u{feff}b"]);
    }

    #[test]
    fn the_end_gives_what_had_begun() {
        for (stream, expect) in [
            ("data: a", Some("a")),
            ("data: a\n", Some("a")),
            ("data: a\n\n", None),
            ("", None),
        ] {
            assert_eq!(read(&[stream.as_bytes()]).1.unwrap().as_deref(), expect, "{stream:?}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let (mut reader, mut events) = (SseReader::default(), Vec::new());
        let piece = vec![b'x'; LONGEST / 2];
        assert_eq!(reader.push(&piece, &mut events), Ok(()));
        assert_eq!(reader.push(&piece, &mut events), Ok(()));
        assert_eq!(reader.push(b"x", &mut events), Err(SseError::TooLong));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), (vec![], Err(SseError::NotText)));
    }

    #[test]
    fn what_came_whole_before_a_fault_is_told() {
        let told = (vec!["a".to_owned()], Err(SseError::NotText));
        assert_eq!(read(&[b"data: a\n\ndata: \xff\n\ndata: b\n\n"]), told);
    }

    #[test]
    fn every_short_stream_is_the_same_however_it_is_cut() {
        let parts: [&[u8]; 8] = [b"\n", b"\r", b"data:", b"data: x", b" ", b"x", b"\xff", b"\xef\xbb\xbf"];
        let mut streams: Vec<Vec<u8>> = vec![Vec::new()];
        for _ in 0..4 {
            let longer = |stream: &Vec<u8>| parts.map(|part| [stream, part].concat());
            streams = streams.iter().flat_map(longer).collect();
        }
        for stream in &streams {
            let whole = read(&[stream]);
            assert_eq!(
                read(&stream.chunks(1).collect::<Vec<_>>()),
                whole,
                "{stream:?} byte by byte"
            );
            for at in 1..stream.len() {
                assert_eq!(read(&[&stream[..at], &stream[at..]]), whole, "{stream:?} cut at {at}");
            }
        }
    }
}
