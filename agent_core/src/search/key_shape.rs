//! Text that has the shape of a key, masked: for what is shown of a history that may hold some.
//!
//! It knows keys by how they begin or by what stands before them, and no others. Whoever needs the text exact, such as a
//! patch, does not come here.

use std::borrow::Cow;

/// What stands for a key.
const MASK: &str = "***";

/// How keys begin, and the least characters that follow then.
const BEGINNINGS: [(&str, usize); 31] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
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
];

/// What stands before a key, in small letters, and the least characters that it has then.
const NAMES: [&str; 8] = [
    "api_key", "apikey", "api-key", "token", "secret", "password", "passwd", "bearer",
];

const NAMED: usize = 12;

/// The text with what looks like a key masked.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(begin) = next_word(text, at) {
        let word = &text[begin..begin + word_length(&text[begin..])];
        at = begin + word.len();
        let kept = if word.starts_with("-----BEGIN") && text[begin..].lines().next().is_some_and(is_private) {
            at = end_of_block(text, begin);
            Some(0)
        } else {
            beginning(word).or_else(|| is_named(&text[..begin], word).then_some(0))
        };
        if let Some(kept) = kept {
            shown.push_str(&text[copied..begin + kept]);
            shown.push_str(MASK);
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'~')
}

fn next_word(text: &str, at: usize) -> Option<usize> {
    text.as_bytes()[at..]
        .iter()
        .position(|byte| is_part(*byte))
        .map(|found| at + found)
}

fn word_length(text: &str) -> usize {
    text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

/// How much of a key's beginning may be shown; none if the word is no key.
fn beginning(word: &str) -> Option<usize> {
    let is_one = |(start, least): &&(&str, usize)| {
        word.strip_prefix(start)
            .is_some_and(|rest| rest.len() >= *least && has_digit_or_capital(rest) && !rest.contains('/'))
    };
    BEGINNINGS.iter().find(is_one).map(|(start, _)| start.len())
}

/// Whether a name such as `password` and a sign stand right before the word, and it is no plain word itself.
fn is_named(before: &str, word: &str) -> bool {
    if word.len() < NAMED || !word.bytes().any(|byte| byte.is_ascii_digit()) || word.starts_with(['/', '.']) {
        return false;
    }
    let name = before.trim_end_matches([' ', '"', '\'', '=', ':', '>']);
    // `Bearer KEY` has nothing but a space in between; with other names that is just a sentence.
    let between = &before[name.len()..];
    let tail = name
        .get(name.len().saturating_sub(16)..)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_signed = between.contains(['=', ':']) || (between == " " && tail.ends_with("bearer"));
    is_signed && between.len() <= 6 && NAMES.iter().any(|name| tail.ends_with(name))
}

fn has_digit_or_capital(text: &str) -> bool {
    text.bytes()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

fn is_private(line: &str) -> bool {
    line.contains("PRIVATE KEY")
}

/// Where a block of PEM ends; the end of the text if it does not.
fn end_of_block(text: &str, begin: usize) -> usize {
    let Some(end) = text[begin..].find("-----END") else {
        return text.len();
    };
    let end = begin + end;
    text[end..].find('\n').map_or(text.len(), |line_end| end + line_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_masked_and_nothing_else_is() {
        let check = |text: &str, expect: &str| assert_eq!(masked(text), expect);
        check("use sk-proj-abcdef0123456789XYZ now", "use sk-*** now");
        check("ghp_0123456789abcdefghijABCDEFGHIJ", "ghp_***");
        check("id=AKIAIOSFODNN7EXAMPLE.", "id=AKIA***");
        check("Authorization: Bearer abcdef0123456789", "Authorization: Bearer ***");
        check("OPENAI_API_KEY=\"abc123def456ghi\"", "OPENAI_API_KEY=\"***\"");
        check("password: hunter2hunter2", "password: ***");
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nafter",
            "***\nafter",
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIabc", "***");
        check(
            "-----BEGIN CERTIFICATE-----\nMIIabc",
            "-----BEGIN CERTIFICATE-----\nMIIabc",
        );
        check(
            "the token is a word and sk-learn another",
            "the token is a word and sk-learn another",
        );
        check(
            "fn token(kind: SyntaxKind0123456789)",
            "fn token(kind: SyntaxKind0123456789)",
        );
        check("naïve 日本 — é", "naïve 日本 — é");
        check("", "");
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_masked(text in proptest::prelude::any::<String>()) {
            masked(&text);
        }
    }
}
