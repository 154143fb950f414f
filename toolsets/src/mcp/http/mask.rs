//! The keys that a server is sent in headers, taken out of whatever it says, in case it repeats them.

use super::reader::Headers;

/// What stands in a key's place.
const MASK: &[u8] = b"***";

/// What is shorter is a word, and would make holes in every sentence.
const LEAST: usize = 16;

/// The keys, in each form in which JSON may write them.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask(Vec<Vec<u8>>);

impl Mask {
    /// Those of the headers that are named as if they held one. The word before a key, as in `Bearer …`, is none.
    pub(super) fn of(headers: &Headers) -> Self {
        let held = headers.iter().filter(|(name, _)| names_secret(name.as_str()));
        let held = held.filter_map(|(_, value)| value.to_str().ok()?.split_whitespace().next_back());
        let mut forms: Vec<Vec<u8>> = held
            .filter(|key| key.len() >= LEAST)
            .flat_map(|key| {
                let quoted = serde_json::Value::from(key).to_string();
                let escaped = &quoted[1..quoted.len() - 1];
                [key.to_owned(), escaped.to_owned(), escaped.replace('/', "\\/")]
            })
            .map(String::into_bytes)
            .collect();
        forms.sort();
        forms.dedup();
        Self(forms)
    }

    /// The bytes without them.
    pub(super) fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.0.iter().fold(bytes, |bytes, key| without(bytes, key))
    }

    /// The text without them.
    pub(super) fn text(&self, text: String) -> String {
        if self.0.is_empty() {
            return text;
        }
        String::from_utf8_lossy(&self.bytes(text.into_bytes())).into_owned()
    }
}

fn without(bytes: Vec<u8>, key: &[u8]) -> Vec<u8> {
    let next = |from: usize| {
        let found = bytes[from..].windows(key.len()).position(|window| window == key);
        found.map(|at| from + at)
    };
    let Some(mut at) = next(0) else { return bytes };
    let (mut clean, mut from) = (Vec::with_capacity(bytes.len()), 0);
    loop {
        clean.extend_from_slice(&bytes[from..at]);
        clean.extend_from_slice(MASK);
        from = at + key.len();
        match next(from) {
            Some(again) => at = again,
            None => break,
        }
    }
    clean.extend_from_slice(&bytes[from..]);
    clean
}

fn names_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = ["key", "token", "auth", "secret", "password", "cookie", "signature"];
    let name = name.to_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn mask(name: &'static str, value: &'static str) -> Mask {
        Mask::of(&Headers::from([(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )]))
    }

    #[test]
    fn a_key_is_taken_out_wherever_it_stands() {
        let mask = mask("authorization", "Bearer canary/0123456789");
        let check = |said: &str, expect: &str| assert_eq!(mask.text(said.to_owned()), expect);
        check("no: Bearer canary/0123456789", "no: Bearer ***");
        check("canary/0123456789canary/0123456789 é", "****** é");
        check(r#"{"a":"canary\/0123456789"}"#, r#"{"a":"***"}"#);
        check("canary/012345678", "canary/012345678");
        check("", "");
    }

    #[test]
    fn what_is_no_key_stays() {
        for mask in [
            mask("x-workspace", "/home/me/projects/app"),
            mask("x-api-key", "a-short-one"),
        ] {
            let said = "/home/me/projects/app has a-short-one";
            assert_eq!(mask.text(said.to_owned()), said);
        }
    }
}
