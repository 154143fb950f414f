//! Keys that are known by how they begin.

use std::ops::Range;

/// How keys begin, and the least characters that follow then.
const BEGINNINGS: [(&str, usize); 48] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xoxe-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("hf_", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("dop_v1_", 30),
    ("SG.", 30),
    ("eyJ", 30),
    ("AGE-SECRET-KEY-1", 20),
    ("pplx-", 20),
    ("nvapi-", 20),
    ("tvly-", 16),
    ("r8_", 30),
    ("shpat_", 20),
    ("shpss_", 20),
    ("sntrys_", 20),
    ("lin_api_", 20),
    ("dckr_pat_", 16),
    ("ATATT3", 30),
    ("PMAK-", 20),
    ("sk_", 32),
    ("key-", 32),
];

/// Which bytes are the second of one, a bit each, by the first.
const SECOND: [u128; 128] = {
    let mut second = [0_u128; 128];
    let mut index = 0;
    while index < BEGINNINGS.len() {
        let start = BEGINNINGS[index].0.as_bytes();
        second[start[0] as usize] |= 1 << start[1];
        index += 1;
    }
    second
};

/// How much of a word is looked at before it counts as a key.
const LOOK: usize = 64;

/// Adds the keys of a text, each without its beginning, which may be shown.
pub(super) fn keys(text: &str, keys: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        let key = match may_begin(bytes[at], bytes[at + 1]) {
            true => key(bytes, at),
            false => None,
        };
        match key {
            Some(key) => {
                at = key.end;
                keys.push(key);
            }
            None => at += 1,
        }
    }
}

fn may_begin(first: u8, second: u8) -> bool {
    first.is_ascii() && second.is_ascii() && SECOND[usize::from(first)] >> second & 1 == 1
}

fn key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if !is_begin(bytes, at) {
        return None;
    }
    let (start, least) = BEGINNINGS
        .iter()
        .find(|(start, _)| bytes[at..].starts_with(start.as_bytes()))?;
    let rest = at + start.len();
    let look = &bytes[rest..bytes.len().min(rest + LOOK)];
    let seen = &look[..length(look)];
    if seen.len() < *least || !is_random(start, seen, is_in_base64(bytes, at)) {
        return None;
    }
    let mut end = rest + length(&bytes[rest..]);
    while bytes[end - 1] == b'.' {
        end -= 1;
    }
    Some(rest..end)
}

fn length(bytes: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'~');
    bytes.iter().take_while(|byte| is_part(byte)).count()
}

/// Whether a key can begin here: after no letter, or after a letter that belongs to an escape.
fn is_begin(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(8)..at];
    match before {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'x', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit),
        [.., b'm'] => is_colour(&before[..before.len() - 1]),
        _ => false,
    }
}

/// Whether this ends in what stands before the `m` of a colour, of which the escape character is written or gone.
fn is_colour(before: &[u8]) -> bool {
    let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
    let numbers = before.iter().rev().take_while(is_number).count();
    before.len() > numbers && before[before.len() - 1 - numbers] == b'['
}

/// Whether the word may go on from a long base64 text.
fn is_in_base64(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[..at].last(), Some(b'/' | b'+'))
}

/// Whether the rest of the word is none that people write.
fn is_random(start: &str, rest: &[u8], is_in_base64: bool) -> bool {
    match start {
        "AKIA" | "ASIA" => rest
            .iter()
            .take(16)
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
        "eyJ" if is_in_base64 => rest.contains(&b'.'),
        _ => {
            let is_strong = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            let strong = rest.iter().filter(|byte| is_strong(byte)).count();
            let has_run = || {
                rest.split(|byte| !byte.is_ascii_alphanumeric())
                    .any(|run| run.len() >= 12 && run.iter().any(is_strong))
            };
            strong >= 6 || (strong > 0 && has_run())
        }
    }
}
