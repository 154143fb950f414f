//! What an answer's body is, told by how it begins: services and what stands before them often call it something else.

/// What it is.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    /// A stream of events.
    Events,
    /// JSON: a whole reply, or an error.
    Json,
    /// A web page.
    Page,
    /// Nothing of a model's.
    Other,
}

/// So many blanks at the beginning say that no JSON follows.
const MOST_BLANKS: usize = 4096;

/// The names that a line of a stream begins with.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

impl Kind {
    /// What begins so; none if more must come to tell.
    pub(crate) fn of(beginning: &[u8]) -> Option<Self> {
        let bare = beginning.strip_prefix("\u{feff}".as_bytes()).unwrap_or(beginning);
        let bare = bare.trim_ascii_start();
        match bare.first() {
            None => (beginning.len() > MOST_BLANKS).then_some(Self::Events),
            Some(b'{' | b'[') => Some(Self::Json),
            Some(b'<') => Some(Self::Page),
            Some(b':') => Some(Self::Events),
            Some(_) => Self::of_line(bare),
        }
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        if FIELDS.iter().any(|field| field.starts_with(line)) || "\u{feff}".as_bytes().starts_with(line) {
            return None;
        }
        let is_field = |field: &&[u8]| {
            let after = line.strip_prefix(*field).and_then(<[u8]>::first);
            matches!(after, Some(b':' | b'\r' | b'\n'))
        };
        Some(if FIELDS.iter().any(is_field) {
            Self::Events
        } else {
            Self::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_it_begins_like() {
        let check = |beginning: &str, expect: Option<Kind>| {
            assert_eq!(Kind::of(beginning.as_bytes()), expect, "{beginning:?}");
        };
        check("", None);
        check("\n \r\n", None);
        check(&"\n".repeat(5000), Some(Kind::Events));
        check("dat", None);
        check("id", None);
        check("data:", Some(Kind::Events));
        check("\u{feff}event: x", Some(Kind::Events));
        check("\n: comment", Some(Kind::Events));
        check("data\n", Some(Kind::Events));
        check("data centre", Some(Kind::Other));
        check("idle", Some(Kind::Other));
        check(" {", Some(Kind::Json));
        check("[", Some(Kind::Json));
        check("\n<!DOCTYPE", Some(Kind::Page));
        check("Bad gateway", Some(Kind::Other));
    }
}
