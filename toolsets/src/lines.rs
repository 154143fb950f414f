//! A text as its lines with their ends, whichever these are: what keeps an edit from touching other lines.

/// One line and what ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing at the end of the text.
    pub(crate) end: &'a str,
}

/// All lines; together they are the text, byte for byte.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = match rest.as_bytes()[at..] {
            [] => 0,
            [b'\r', b'\n', ..] => 2,
            [_, ..] => 1,
        };
        lines.push(Line {
            text: &rest[..at],
            end: &rest[at..at + end],
        });
        rest = &rest[at + end..];
    }
    lines
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    /// What ends most lines of a text.
    pub(crate) fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let lf = text.matches('\n').count() - crlf;
        let cr = text.matches('\r').count() - crlf;
        if crlf > lf && crlf >= cr {
            Self::CrLf
        } else if cr > lf {
            Self::Cr
        } else {
            Self::Lf
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// A text with its lines ended like this. Where lines end in `\n`, a `\r` that someone wrote stays.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.to_owned(),
            Self::CrLf | Self::Cr => text.replace("\r\n", "\n").replace('\n', self.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_text() {
        let check = |text: &str, expect: &[(&str, &str)]| {
            let found: Vec<_> = lines(text).iter().map(|line| (line.text, line.end)).collect();
            assert_eq!(found, expect, "{text:?}");
        };
        check("", &[]);
        check("a", &[("a", "")]);
        check("a\nb\r\n\rc", &[("a", "\n"), ("b", "\r\n"), ("", "\r"), ("c", "")]);
        check("\n", &[("", "\n")]);
    }

    #[test]
    fn the_commonest_line_end_is_kept() {
        let check = |old: &str, new: &str, expect: &str| assert_eq!(LineEnd::of(old).apply(new), expect, "{old:?}");
        check("a\nb\n", "x\ny\n", "x\ny\n");
        check("a\r\nb\r\n", "x\ny\r\n", "x\r\ny\r\n");
        check("a\rb\r", "x\ny", "x\ry");
        check("a\r\nb\nc\n", "x\ny", "x\ny");
        check("", "x\ny", "x\ny");
    }
}
