//! Events from a model's service. What must hold: however the bytes come in pieces, the events are the same, and so is
//! what is wrong with them; they are those that the standard's rules give; nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use talaria_fuzz::pieces::ways;

use sse::{SseError, SseReader};

#[allow(dead_code, reason = "the file is the providers' own, which use all of it")]
#[path = "../../providers/src/sse.rs"]
mod sse;

/// The events of a stream and the one that it ends with, up to the first that is wrong.
type Told = (Vec<String>, Result<Option<String>, SseError>);

fuzz_target!(|bytes: &[u8]| {
    let expect = plainly(bytes);
    for way in ways(bytes) {
        assert_eq!(read(&way), expect);
    }
});

fn read(pieces: &[&[u8]]) -> Told {
    let (mut reader, mut events) = (SseReader::default(), Vec::new());
    for piece in pieces {
        if let Err(error) = reader.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    (events, reader.end())
}

/// The same, told from all of the stream at once.
fn plainly(bytes: &[u8]) -> Told {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => lines.push(Vec::new()),
            b'\r' => {
                rest.next_if(|next| **next == b'\n');
                lines.push(Vec::new());
            }
            byte => lines.last_mut().expect("there is one").push(*byte),
        }
    }
    let (mut events, mut data) = (Vec::new(), Vec::new());
    let whole = |data: &mut Vec<Vec<u8>>| match std::mem::take(data) {
        none if none.is_empty() => Ok(None),
        some => String::from_utf8(some.join(&b'\n'))
            .map(Some)
            .map_err(|_| SseError::NotText),
    };
    let last = lines.pop().expect("there is one");
    for line in lines {
        if let Some(value) = line.strip_prefix(b"data:") {
            data.push(value.strip_prefix(b" ").unwrap_or(value).to_vec());
        } else if line.is_empty() {
            match whole(&mut data) {
                Ok(event) => events.extend(event),
                Err(error) => return (events, Err(error)),
            }
        }
    }
    if let Some(value) = last.strip_prefix(b"data:") {
        data.push(value.strip_prefix(b" ").unwrap_or(value).to_vec());
    }
    (events, whole(&mut data))
}
