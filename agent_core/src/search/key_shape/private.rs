//! Private keys, known by the marks around them, whatever stands before their lines: a diff's sign, a file's name and
//! number, the quotes of a program. A line may end in a line end that is written as `\n`.

use std::ops::Range;

/// What every mark has in it.
const SIGN: &str = "PRIVATE KEY";

/// What stands before the lines of a PuTTY key.
const PUTTY: &str = "Private-Lines:";

/// The least base64 characters of a full line of a key.
const FULL: usize = 40;

/// The most characters that are looked at around a mark.
const NEAR: usize = 64;

/// How far a beginning is looked after for key material.
const AFTER: usize = 200;

/// `-----BEGIN … PRIVATE KEY-----`, or the same with `END`.
struct Mark {
    place: Range<usize>,
    is_begin: bool,
}

/// Where private keys are.
pub(super) fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    while let Some(mark) = next_mark(text, at) {
        // No line of a key lies behind another mark.
        let floor = at;
        at = mark.place.end;
        match (open, mark.is_begin) {
            (None, true) if is_followed_by_key(&text[at..]) => open = Some(mark.place.start),
            (Some(begin), false) => {
                open = None;
                blocks.push(begin..at);
            }
            // Its beginning is not here: it was cut off, or left out of a long output.
            (None, false) => {
                let begin = begin_of_lines(text, floor, mark.place.start);
                if begin < mark.place.start {
                    blocks.push(begin..at);
                }
            }
            (None | Some(_), true) => {}
        }
    }
    blocks.extend(open.map(|begin| begin..text.len()));
    blocks.extend(putty(text));
    blocks
}

fn next_mark(text: &str, at: usize) -> Option<Mark> {
    let mut at = at;
    loop {
        let sign = at + text[at..].find(SIGN)?;
        let end = sign + SIGN.len();
        if let Some((begin, is_begin)) = mark_before(text.as_bytes(), sign) {
            return Some(Mark {
                place: begin.max(at)..mark_end(text, end),
                is_begin,
            });
        }
        at = end;
    }
}

/// Where the mark begins that has `PRIVATE KEY` here.
fn mark_before(bytes: &[u8], sign: usize) -> Option<(usize, bool)> {
    let floor = sign.saturating_sub(NEAR);
    let is_label = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let label = floor + bytes[floor..sign].iter().rposition(|byte| !is_label(byte))? + 1;
    let words = bytes[label..sign].trim_ascii_start();
    let is_begin = match words {
        [b'B', b'E', b'G', b'I', b'N', b' ', ..] => true,
        [b'E', b'N', b'D', b' ', ..] => false,
        _ => return None,
    };
    let dashes = bytes[floor..label]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'-')
        .count();
    (dashes >= 4).then(|| (label - dashes.min(5), is_begin))
}

fn mark_end(text: &str, sign_end: usize) -> usize {
    let rest = &text[sign_end..];
    let rest = rest.strip_prefix(" BLOCK").unwrap_or(rest);
    let rest = rest
        .strip_prefix(' ')
        .filter(|rest| rest.starts_with('-'))
        .unwrap_or(rest);
    let dashes = rest.bytes().take(5).take_while(|byte| *byte == b'-').count();
    text.len() - rest.len() + dashes
}

/// Whether a key follows the mark that begins one. A program and a sentence name the mark alone.
fn is_followed_by_key(after: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\r']);
    if rest.is_empty() || rest.starts_with(['\n', '\\']) {
        return true;
    }
    let near = &rest.as_bytes()[..rest.len().min(AFTER)];
    base64_length(near) >= 16 || near.split(|byte| !is_base64(*byte)).any(|run| run.len() >= FULL)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn base64_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_base64(**byte)).count()
}

/// Where the lines of a key begin that end here.
fn begin_of_lines(text: &str, floor: usize, end: usize) -> usize {
    let (mut begin, mut next) = match last_break(text, floor, end) {
        Some(line_end) => (end, line_end),
        None => return end,
    };
    let mut is_last = true;
    loop {
        let line_end = next.start;
        let before = last_break(text, floor, line_end);
        let line_begin = before.as_ref().map_or(floor, |line_end| line_end.end);
        let line = &text[line_begin..line_end];
        if !is_key_line(line, is_last) {
            return begin;
        }
        begin = line_begin + prefix_length(line);
        is_last = false;
        match before {
            Some(line_end) => next = line_end,
            None => return begin,
        }
    }
}

/// The last line end before a place, a true one or one that is written.
fn last_break(text: &str, floor: usize, end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    (floor..end).rev().find_map(|at| match bytes[at] {
        b'\n' => Some(at..at + 1),
        b'n' if at > floor && bytes[at - 1] == b'\\' => Some(at - 1..at + 1),
        _ => None,
    })
}

/// The next line end and what is behind it.
fn next_break(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    (at..bytes.len()).find_map(|at| match bytes[at] {
        b'\n' => Some(at..at + 1),
        b'\\' if bytes.get(at + 1) == Some(&b'n') => Some(at..at + 2),
        _ => None,
    })
}

fn bare_line(line: &str) -> &str {
    let line = line.strip_suffix("\\r").unwrap_or(line);
    line.trim_end_matches([' ', '\t', '\r', '"', '\'', ',', '\\'])
}

/// What stands before a line of a key: a sign, a name with a number, quotes.
fn prefix_length(line: &str) -> usize {
    let line = bare_line(line).as_bytes();
    line.len() - line.iter().rev().take_while(|byte| is_base64(**byte)).count()
}

/// Whether a line is one of a key. Its last line may be short, so nothing but one word may stand there.
fn is_key_line(line: &str, may_be_short: bool) -> bool {
    let bare = bare_line(line);
    let run = bare.len() - prefix_length(line);
    let is_one_word = || !bare.trim_start_matches(['>', ' ', '\t']).contains([' ', '\t']);
    run >= FULL || (may_be_short && run > 0 && is_one_word())
}

/// The lines of `PuTTY`'s private keys: the rest of its file is no secret.
fn putty(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(PUTTY) {
        at += found + PUTTY.len();
        let Some(line_end) = next_break(text, at) else { break };
        let count = text[at..line_end.start].trim().parse().unwrap_or(usize::MAX);
        let mut line_begin = line_end.end;
        at = line_begin;
        let mut begin = None;
        let mut end = line_begin;
        for _ in 0..count {
            if line_begin >= text.len() {
                break;
            }
            let line_end = next_break(text, line_begin).unwrap_or(text.len()..text.len());
            let line = &text[line_begin..line_end.start];
            if !is_key_line(line, true) {
                break;
            }
            begin.get_or_insert(line_begin + prefix_length(line));
            end = line_begin + bare_line(line).len();
            line_begin = line_end.end;
        }
        at = at.max(end);
        blocks.extend(begin.map(|begin| begin..end));
    }
    blocks
}
