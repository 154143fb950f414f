//! The tags and the text of HTML one after another: in one look, however they nest.

/// A piece of a page. Comments and what nobody sees, such as scripts, are none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// A tag in lower case, and how it is written.
    Start(String, &'a str),
    End(String),
}

/// What is left out with all that is in it.
const SKIPPED: [&str; 7] = ["script", "style", "noscript", "template", "svg", "iframe", "title"];
/// Tags that change how what follows is to be read; without them it is read as ordinary text and tags.
const DROPPED: [&str; 11] = [
    "applet",
    "frameset",
    "marquee",
    "math",
    "noembed",
    "noframes",
    "object",
    "plaintext",
    "svg",
    "textarea",
    "xmp",
];

/// The pieces of a page.
pub(crate) struct Pieces<'a> {
    rest: &'a str,
    /// Which of the `SKIPPED` are not closed any more.
    unclosed: [bool; SKIPPED.len()],
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(html: &'a str) -> Self {
        Self {
            rest: html,
            unclosed: [false; SKIPPED.len()],
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Leaves out what is in an element that nobody sees.
    fn skip(&mut self, name: &str) {
        let Some(at) = SKIPPED.iter().position(|skipped| *skipped == name) else {
            return;
        };
        if !self.unclosed[at] {
            match end_of(self.rest, name) {
                Some(end) => {
                    self.take(end);
                }
                None if matches!(name, "script" | "style") => self.rest = "",
                None => self.unclosed[at] = true,
            }
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while let Some(first) = self.rest.bytes().next() {
            let second = self.rest.as_bytes().get(1).copied().unwrap_or_default();
            let third = self.rest.as_bytes().get(2).copied().unwrap_or_default();
            match (first, second) {
                (b'<', b'!' | b'?') => {
                    self.take(comment(self.rest));
                }
                (b'<', b'/') if third.is_ascii_alphabetic() => {
                    let name = name(&self.rest[2..]);
                    self.take(tag(self.rest));
                    if !is_unseen(&name) {
                        return Some(Piece::End(name));
                    }
                }
                (b'<', b'/') => {
                    self.take(self.rest.find('>').map_or(self.rest.len(), |end| end + 1));
                }
                (b'<', letter) if letter.is_ascii_alphabetic() => {
                    let name = name(&self.rest[1..]);
                    let written = self.take(tag(self.rest));
                    // Of the elements that are skipped this one can be closed where it begins.
                    if !(name == "svg" && written.ends_with("/>")) {
                        self.skip(&name);
                    }
                    if !is_unseen(&name) && written.ends_with('>') {
                        return Some(Piece::Start(name, written));
                    }
                }
                _ => {
                    let end = self.rest.bytes().skip(1).position(|byte| byte == b'<');
                    let end = end.map_or(self.rest.len(), |end| end + 1);
                    return Some(Piece::Text(self.take(end)));
                }
            }
        }
        None
    }
}

fn is_unseen(name: &str) -> bool {
    SKIPPED.contains(&name) || DROPPED.contains(&name)
}

fn name(tag: &str) -> String {
    let end = tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
    tag[..end.unwrap_or(tag.len())].to_ascii_lowercase()
}

/// Where in a tag a character stands.
#[derive(Clone, Copy)]
enum Place {
    Tag,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Bare,
    Quoted(u8),
}

/// How long the tag is that begins here; a `>` in a quoted value does not end it.
fn tag(html: &str) -> usize {
    let mut place = Place::Tag;
    for (at, byte) in html.bytes().enumerate() {
        let is_space = byte.is_ascii_whitespace();
        place = match (place, byte) {
            (Place::Quoted(quote), _) if quote == byte => Place::BeforeName,
            (Place::Quoted(_), _) => place,
            (_, b'>') => return at + 1,
            (Place::BeforeValue, b'"' | b'\'') => Place::Quoted(byte),
            (Place::BeforeValue, _) if !is_space => Place::Bare,
            (Place::Name | Place::AfterName, b'=') => Place::BeforeValue,
            (Place::Tag | Place::Name | Place::AfterName, b'/') if at > 1 => Place::BeforeName,
            (Place::Tag | Place::Bare, _) if is_space => Place::BeforeName,
            (Place::Name, _) if is_space => Place::AfterName,
            (Place::BeforeName, _) if !is_space && byte != b'/' => Place::Name,
            (Place::AfterName, _) if !is_space => Place::Name,
            _ => place,
        };
    }
    html.len()
}

/// How long the comment is, or what counts as one, that begins here.
fn comment(html: &str) -> usize {
    let end = |mark: &str, from: usize| html[from..].find(mark).map(|end| from + end + mark.len());
    let is_empty = html.starts_with("<!-->") || html.starts_with("<!--->");
    let found = match html.starts_with("<!--") && !is_empty {
        true => end("-->", 4),
        false => end(">", 2),
    };
    found.unwrap_or(html.len())
}

/// Where the end tag of an element is.
fn end_of(html: &str, name: &str) -> Option<usize> {
    let bytes = html.as_bytes();
    html.match_indices("</").map(|(at, _)| at).find(|at| {
        let tag = &bytes[at + 2..];
        tag.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            && !tag.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// Elements whose text is a line of its own.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "br"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "header"
            | "hr"
            | "html"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "option"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
    )
}

/// Elements without an end tag, and those that the next one of their kind or the end of their parent closes.
pub(crate) fn needs_no_end(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
            | "body"
            | "colgroup"
            | "dd"
            | "dt"
            | "head"
            | "html"
            | "li"
            | "optgroup"
            | "option"
            | "p"
            | "rb"
            | "rp"
            | "rt"
            | "rtc"
            | "tbody"
            | "tfoot"
            | "thead"
            | "tr"
    )
}

/// Elements that a page's reader opens again in each block until they are closed.
pub(crate) fn is_format(name: &str) -> bool {
    matches!(
        name,
        "a" | "b" | "big" | "code" | "em" | "font" | "i" | "nobr" | "s" | "small" | "strike" | "strong" | "tt" | "u"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_tags_and_its_text() {
        let check = |html: &str, expect: &str| {
            let pieces = Pieces::of(html).map(|piece| match piece {
                Piece::Text(text) => format!("{text}|"),
                Piece::Start(name, _) => format!("+{name}|"),
                Piece::End(name) => format!("-{name}|"),
            });
            assert_eq!(pieces.collect::<String>(), expect, "{html}");
        };
        check("<DIV class='a>b'>é<br/>x</Div >", "+div|é|+br|x|-div|");
        check("a < b <3 <!-- <p> --> c<!-->d<?x?>e</3>f", "a |< b |<3 | c|d|e|f|");
        check("<script>if (a<b) '</p>'</script>x<style><p>", "x|");
        check("<svg><path/></svg>x<svg><p>y", "x|+p|y|");
        check("<a title=\"<p>\">z<p", "+a|z|");
        check("<p x=a\"b>c", "+p|c|");
        check(
            "<p x=a=\">b<p x=\"a\"=\">c<p =\">d<p/x = \n'>'>e</p '>f",
            "+p|b|+p|c|+p|d|+p|e|-p|f|",
        );
        check("<svg/>x<svg>y</svg>", "x|");
        check("<!-- never closed <p>", "");
    }
}
