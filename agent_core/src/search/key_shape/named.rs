//! Secrets that are known by what stands before them: a name with a sign, `Bearer`, an option of a command line, the
//! user of an address.

use std::ops::Range;

use super::value::{self, Place, Worth};

/// The most characters that are looked at before a value is judged; all of it is masked then.
const LOOK: usize = 256;

/// The longest name that is looked at.
const NAME: usize = 32;

/// The most blanks and quotes between a name, its sign and its value.
const BETWEEN: usize = 8;

/// How a request says who asks, in small letters.
const SCHEMES: [&str; 8] = [
    "basic",
    "bearer",
    "token",
    "apikey",
    "api-key",
    "key",
    "bot",
    "negotiate",
];

/// A sign between a name and a value.
struct Sign {
    end: usize,
    place: Place,
}

/// Adds the secrets of a text.
pub(super) fn values(text: &str, keys: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..]
        .iter()
        .position(|byte| matches!(byte, b'=' | b':' | b'%' | b' ' | b'>'))
    {
        at += found;
        let key = match bytes[at] {
            b' ' => after_blank(text, at),
            b':' if bytes[at..].starts_with(b"://") => in_address(text, at + 3),
            _ => after_sign(text, at),
        };
        match key {
            Some(key) => {
                at = key.end.max(at + 1);
                keys.push(key);
            }
            None => at += 1,
        }
    }
}

fn after_sign(text: &str, at: usize) -> Option<Range<usize>> {
    let sign = sign(text.as_bytes(), at)?;
    let name = name_before(text, at);
    if name.is_empty() {
        return None;
    }
    let worth = Worth::of(name);
    let begin = skip(text, sign.end);
    let is_spaced = text[sign.end..begin].contains([' ', '\t']);
    if ends_with(name, "authorization") {
        return scheme(text, begin).or_else(|| found(text, begin, worth?, sign.place, is_spaced));
    }
    found(text, begin, worth?, sign.place, is_spaced)
}

/// The sign that begins here. What compares is none, but for a text that is written out.
fn sign(bytes: &[u8], at: usize) -> Option<Sign> {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    let rest = &bytes[at..];
    let (length, place) = match rest {
        [b':', b':', ..] => return None,
        [b':', b'=', ..] => (2, Place::Equals),
        [b':', ..] if before == Some(b':') => return None,
        [b':', ..] => (1, Place::Colon),
        [b'=', b'=', b'=', ..] => (3, Place::Compared),
        [b'=', b'=', ..] if !matches!(before, Some(b'=' | b'!')) => (2, Place::Compared),
        [b'=', b'>', ..] => (2, Place::Colon),
        [b'=', b'~', ..] => return None,
        [b'=', ..] if before == Some(b'!') => (1, Place::Compared),
        [b'=', ..] if matches!(before, Some(b'=' | b'<' | b'>' | b':' | b'~')) => return None,
        [b'=', ..] => (1, Place::Equals),
        [b'%', b'3', b'D' | b'd' | b'A' | b'a', ..] => (3, Place::Equals),
        [b'>', ..] if !matches!(before, Some(b'=' | b'-')) => (1, Place::Element),
        _ => return None,
    };
    Some(Sign {
        end: at + length,
        place,
    })
}

/// The name before a sign, which may stand in quotes or brackets.
fn name_before(text: &str, at: usize) -> &str {
    let bytes = &text.as_bytes()[..at];
    let between = |byte: &&u8| matches!(**byte, b' ' | b'"' | b'\'' | b'`' | b'\\' | b']' | b'?' | b'!' | b'=');
    let end = at - bytes.iter().rev().take(BETWEEN).take_while(between).count();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-' | b'.');
    let length = bytes[..end].iter().rev().take(NAME).take_while(is_part).count();
    &text[end - length..end]
}

fn ends_with(name: &str, end: &str) -> bool {
    let tail = name.len().checked_sub(end.len()).and_then(|at| name.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// Past blanks, in the same line.
fn skip(text: &str, at: usize) -> usize {
    let blanks = text.as_bytes()[at..].iter().take(BETWEEN);
    at + blanks.take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The value that begins here, if it is a secret.
fn found(text: &str, begin: usize, worth: Worth, place: Place, is_spaced: bool) -> Option<Range<usize>> {
    let rest = &text[begin..];
    let (opening, quote) = opening(rest);
    let begin = begin + opening;
    let look = &text[begin..text.floor_char_boundary(begin + LOOK)];
    let Some(quote) = quote else {
        if place == Place::Compared {
            return None;
        }
        let seen = &look[..length(look, place)];
        let after = &text[begin + seen.len()..];
        let context = value::Context {
            place,
            is_spaced,
            after: &after[..after.floor_char_boundary(NAME)],
        };
        return value::is_secret(seen, worth, &value::Written::Bare(context))
            .then(|| begin..begin + length(&text[begin..], place));
    };
    let seen = &look[..quoted_length(look, quote, opening > 1)];
    value::is_secret(seen, worth, &value::QUOTED)
        .then(|| begin..begin + quoted_length(&text[begin..], quote, opening > 1))
}

/// The quote that a value begins with, and how long it is with what stands before it: an escape, the `b` of bytes.
fn opening(rest: &str) -> (usize, Option<u8>) {
    let bytes = rest.as_bytes();
    let letters = usize::from(matches!(bytes, [b'b' | b'r' | b'f' | b'u' | b'L', b'"' | b'\'', ..]));
    let escapes = bytes[letters..]
        .iter()
        .take(BETWEEN)
        .take_while(|byte| **byte == b'\\')
        .count();
    match bytes.get(letters + escapes) {
        // With a letter before it the quote is no escaped one.
        Some(quote @ (b'"' | b'\'' | b'`')) if letters == 0 || escapes == 0 => (letters + escapes + 1, Some(*quote)),
        Some(_) | None => (0, None),
    }
}

/// How long a value in quotes is: up to the quote, or the line's end.
fn quoted_length(text: &str, quote: u8, is_escaped: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => return at,
            b'\\' if is_escaped => {
                let escapes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
                if bytes.get(at + escapes) == Some(&quote) {
                    return at;
                }
                at += escapes;
            }
            b'\\' => at += 2,
            byte if byte == quote => return at,
            _ => at += 1,
        }
    }
    text.len()
}

/// How long a value without quotes is.
fn length(text: &str, place: Place) -> usize {
    let bytes = text.as_bytes();
    let ends = |at: &usize| match bytes[*at] {
        b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b')' | b']' | b'}' | b'|' => true,
        b'<' => *at > 0 || place == Place::Element,
        b'>' => !text.starts_with('<'),
        b'\\' => matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\\')),
        _ => false,
    };
    let end = (0..bytes.len()).find(ends).unwrap_or(bytes.len());
    // A placeholder has an end of its own.
    match bytes.get(end) {
        Some(close @ (b'}' | b')' | b']')) if has_open(&bytes[..end], *close) => end + 1,
        Some(b'>') if text.starts_with('<') => end + 1,
        Some(_) | None => end,
    }
}

fn has_open(bytes: &[u8], close: u8) -> bool {
    let open = match close {
        b'}' => b'{',
        b')' => b'(',
        _ => b'[',
    };
    bytes.iter().take(LOOK).any(|byte| *byte == open)
}

/// `Basic …` and the like after `Authorization:`.
fn scheme(text: &str, begin: usize) -> Option<Range<usize>> {
    let begin = begin + opening(&text[begin..]).0;
    let letters = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'-';
    let length = text.as_bytes()[begin..].iter().take(NAME).take_while(letters).count();
    let name = text[begin..begin + length].to_ascii_lowercase();
    let value = skip(text, begin + length);
    if value == begin + length || !SCHEMES.contains(&name.as_str()) {
        return None;
    }
    token(text, value, 6)
}

/// A word that is shown to a service, of at least so many characters.
fn token(text: &str, begin: usize, least: usize) -> Option<Range<usize>> {
    let key = begin..begin + length(&text[begin..], Place::Equals);
    let seen = &text[begin..text.floor_char_boundary(key.end.min(begin + LOOK))];
    let is_strong = seen
        .bytes()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    (seen.len() >= least && is_strong && !value::is_placeholder(seen) && !value::is_code(seen)).then_some(key)
}

/// What follows a blank: the token of a `Bearer`, or the value of an option.
fn after_blank(text: &str, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[..at];
    // Most words end in another letter than all of ours.
    let last = before.last()?.to_ascii_lowercase();
    if !matches!(last, b'd' | b'e' | b't' | b's' | b'n' | b'y' | b'l' | b'r' | b'c') {
        return None;
    }
    let ends = |word: &str| {
        before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
    };
    if ends("bearer") || ends("basic") {
        let key = token(text, skip(text, at), if ends("basic") { 16 } else { 12 })?;
        let has = |is: fn(&u8) -> bool| text.as_bytes()[key.clone()].iter().take(LOOK).any(is);
        let is_random = has(u8::is_ascii_digit) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase));
        return is_random.then_some(key);
    }
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'-' | b'_');
    let length = before.iter().rev().take(NAME).take_while(is_part).count();
    let name = text[at - length..at].strip_prefix("--")?;
    found(text, skip(text, at), Worth::of(name)?, Place::Option, true)
}

/// The password of an address, as in `https://user:password@host`.
fn in_address(text: &str, begin: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |byte: &u8| {
        matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>') || byte.is_ascii_whitespace()
    };
    let near = &bytes[begin..bytes.len().min(begin + LOOK)];
    let authority = &near[..near.iter().position(is_end).unwrap_or(near.len())];
    let host = authority.iter().rposition(|byte| *byte == b'@')?;
    let Some(user) = authority[..host].iter().position(|byte| *byte == b':') else {
        let is_long = host >= 20 && authority[..host].iter().any(u8::is_ascii_digit);
        return is_long.then_some(begin..begin + host);
    };
    let key = begin + user + 1..begin + host;
    let password = text.get(key.clone())?;
    (!password.is_empty() && !value::is_placeholder(password)).then_some(key)
}
