//! The ways in which a secret may be written: as it is, as JSON has it, also in JSON within JSON, as a part of an address,
//! and in lower case as in the name of a host.

use serde_json::Value;

/// The secret, and how JSON may write it where that differs.
pub(crate) fn in_json(secret: &str) -> Vec<String> {
    let quoted = Value::from(secret).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let mut forms = vec![secret.to_owned(), escaped.replace('/', "\\/"), escaped];
    forms.dedup();
    forms.sort();
    forms.dedup();
    forms
}

/// Where the secret first stands in a text, in whatever form, and how long it is there.
pub(crate) fn find(text: &str, secret: &str) -> Option<(usize, usize)> {
    let exact = text.find(secret).map(|at| (at, secret.len()));
    let before = exact.map_or(text.len(), |(at, _)| at);
    let first = *secret.as_bytes().first()?;
    let bytes = text.as_bytes();
    let may_begin = |byte: u8| byte.eq_ignore_ascii_case(&first) || matches!(byte, b'\\' | b'%');
    let other = (0..before).filter(|at| may_begin(bytes[*at]) && text.is_char_boundary(*at));
    let mut other = other.filter_map(|at| Some((at, length(&bytes[at..], secret.as_bytes())?)));
    other.find(|(at, length)| text.is_char_boundary(at + length)).or(exact)
}

/// How long the secret is at the text's beginning.
fn length(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut at = 0;
    for byte in secret {
        at += written(&text[at..], *byte)?;
    }
    Some(at)
}

/// How long one byte of it is there: `a`, `\a`, `\u0061` or `%61`, with more backslashes the deeper the JSON.
fn written(text: &[u8], byte: u8) -> Option<usize> {
    let slashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let bare = &text[slashes..];
    let is = |digits: Option<&[u8]>| {
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) == Some(u32::from(byte))
    };
    if slashes > 0 && bare.first() == Some(&b'u') && is(bare.get(1..5)) {
        return Some(slashes + 5);
    }
    if bare.first() == Some(&b'%') && is(bare.get(1..3)) {
        return Some(slashes + 3);
    }
    if byte == b'\\' {
        return (slashes > 0).then_some(slashes);
    }
    bare.first()
        .filter(|first| first.eq_ignore_ascii_case(&byte))
        .map(|_| slashes + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Ab/+\"c\\d=";

    #[test]
    fn a_secret_is_found_in_every_form() {
        for form in [
            SECRET,
            r#"Ab/+\"c\\d="#,
            r#"Ab\/+\"c\\d="#,
            r#"Ab\\\/+\\\"c\\\\d="#,
            r"Ab\u002f\u002B\u0022c\u005cd\u003d",
            "Ab%2F%2B%22c%5Cd%3D",
            "ab%2f%2b%22c%5cd%3d",
            "ab/+\"c\\d=",
        ] {
            let text = format!("é {form} é");
            assert_eq!(find(&text, SECRET), Some((3, form.len())), "{form}");
        }
        for other in ["", "Ab/+\"c\\d", "Ab%2G", "\\u00", "Ab/+\"cd="] {
            assert_eq!(find(other, SECRET), None, "{other}");
        }
        assert_eq!(find("a%25b", "a%25b"), Some((0, 5)));
    }

    #[test]
    fn json_writes_a_secret_in_up_to_three_ways() {
        assert_eq!(in_json("sk-1"), ["sk-1"]);
        assert_eq!(in_json("a/b"), ["a/b", "a\\/b"]);
        assert_eq!(in_json("a/\"b").len(), 3);
    }
}
