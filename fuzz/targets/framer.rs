//! Lines from a client. What must hold: however the bytes come in pieces, the lines are those of the whole text, each
//! with its own fault at most (no UTF-8, too long); none holds more memory than the limit wants; nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use talaria_fuzz::pieces::{Drip, ways};

use framer::{Framer, Line};

#[allow(dead_code, reason = "the file is the adapter's own, which uses all of it")]
#[path = "../../acp_adapter/src/agent/framer.rs"]
mod framer;

/// Much less than the adapter's, so that short inputs reach it.
const LONGEST: usize = 48;

fuzz_target!(|bytes: &[u8]| {
    let expect = plainly(bytes);
    for way in ways(bytes) {
        let mut framer = Framer::with_longest(Drip(way.into_iter()), LONGEST);
        let mut lines = Vec::new();
        while let Some(line) = framer.next_line().expect("the input has no faults") {
            if let Line::Text(text) = &line {
                assert!(
                    text.len() <= LONGEST && text.capacity() <= 2 * LONGEST,
                    "a line that is too large"
                );
            }
            lines.push(line);
        }
        assert_eq!(lines, expect);
    }
});

/// The lines of a text, told from all of it at once.
fn plainly(bytes: &[u8]) -> Vec<Line> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    let line = |line: &[u8]| match line {
        _ if line.len() > LONGEST => Line::TooLong,
        _ => String::from_utf8(line.strip_suffix(b"\r").unwrap_or(line).to_vec()).map_or(Line::NotUtf8, Line::Text),
    };
    lines.into_iter().map(line).collect()
}
