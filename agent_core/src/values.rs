//! How many values a JSON text holds, told before it is parsed: each takes many times its bytes once it is.

/// How many values a text holds, told by what comes first in a list or an object and what parts two, outside of texts.
pub fn count(json: &[u8]) -> usize {
    let (mut values, mut in_text, mut escaped, mut opened) = (1, false, false, false);
    for &byte in json {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        values += usize::from(opened && !is_blank && !matches!(byte, b']' | b'}'));
        opened &= is_blank;
        match byte {
            b'"' => in_text = true,
            b',' => values += 1,
            b'[' | b'{' => opened = true,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        let check = |text: &str, expect: usize| assert_eq!(count(text.as_bytes()), expect, "{text}");
        check("1", 1);
        check("[]", 1);
        check("[ \n]", 1);
        check("[1]", 2);
        check("[[],{},\"\"]", 4);
        check(r#"{"a": {"b": [1, 2]}}"#, 5);
        check(r#""a,[{\",""#, 1);
        check(r#"["\\",1]"#, 3);
    }
}
