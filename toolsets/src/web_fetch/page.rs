//! What a server sent, as text for a model.

use std::rc::Rc;

use agent_core::visible;
use encoding_rs::{Encoding, UTF_8};
use htmd::{HtmlToMarkdown, Node};

use super::tags::{self, Piece, Pieces};

/// Levels of elements in a page that becomes Markdown.
const DEEPEST: usize = 120;
/// Elements in such a page.
const MOST_ELEMENTS: usize = 30_000;
/// Elements in it together with those that are opened again.
const MOST_COST: usize = 200_000;
/// Elements in it that are not surely closed.
const MOST_OPEN: usize = 1_000;
const NO_LAYOUT: &str = "[this is the page's bare text: it has too many elements, or too deep ones, for its layout]";

/// What came, before it is read.
pub(crate) struct Sent {
    /// Such as `text/html; charset=utf-8`; empty where the server did not say.
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// The text of a page, HTML as Markdown, in which nothing is hidden; what is no text is an error that says what it is.
pub(crate) fn text(sent: &Sent) -> Result<String, String> {
    let text = raw(sent)?.replace("\r\n", "\n").replace('\r', "\n");
    Ok(visible::text(&text).into_owned())
}

fn raw(sent: &Sent) -> Result<String, String> {
    let media_type = sent.content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_lowercase();
    match media_type.as_str() {
        "text/html" | "application/xhtml+xml" => markdown(&decoded(sent)),
        "" if looks_like_html(&sent.bytes) => markdown(&decoded(sent)),
        _ if is_text(&media_type) => Ok(decoded(sent)),
        // What servers say of files they don't know.
        "" | "application/octet-stream" if !sent.bytes.contains(&0) => Ok(decoded(sent)),
        "" => Err("is no text".to_owned()),
        other => Err(format!("is {other}, and no text")),
    }
}

fn is_text(media_type: &str) -> bool {
    let application = media_type.strip_prefix("application/");
    media_type.starts_with("text/")
        || application.is_some_and(|kind| {
            matches!(
                kind,
                "json" | "xml" | "javascript" | "x-javascript" | "yaml" | "x-yaml" | "toml" | "x-ndjson"
            ) || kind.ends_with("+json")
                || kind.ends_with("+xml")
        })
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_lowercase();
    let start = start.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// By its byte order mark, else by what the server says, else by what a page says of itself, else UTF-8.
fn decoded(sent: &Sent) -> String {
    let said = sent.content_type.to_lowercase();
    let said = said.split("charset=").nth(1).map(str::to_owned);
    let said = said.or_else(|| in_page(&sent.bytes));
    let label = said.as_deref().map(|label| {
        let end = label.find([';', '"', '\'', '>', ' ', '/']).unwrap_or(label.len());
        &label[..end]
    });
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    encoding.unwrap_or(UTF_8).decode(&sent.bytes).0.into_owned()
}

/// The `charset=` in the beginning of a page.
fn in_page(bytes: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_lowercase();
    let after = start.split("<meta").find_map(|tag| tag.split_once("charset="))?.1;
    Some(after.trim_start_matches(['"', '\'']).to_owned())
}

/// A page as Markdown; as its bare text where its elements are too many or nest too deep for that.
fn markdown(html: &str) -> Result<String, String> {
    let converted = match bounded(html) {
        Some(html) => converted(&html)?,
        None => None,
    };
    let text = match converted {
        Some(text) => text.trim().to_owned(),
        None => format!("{NO_LAYOUT}\n\n{}", bare(html)),
    };
    Ok(match title(html) {
        Some(title) => format!("Title: {title}\n\n{text}"),
        None => text,
    })
}

/// The Markdown, if the elements don't nest too deep: it is written by a walk that calls itself for each level.
fn converted(html: &str) -> Result<Option<String>, String> {
    let skipped = vec!["script", "style", "noscript", "template", "svg", "iframe", "head"];
    let converter = HtmlToMarkdown::builder().skip_tags(skipped).build();
    let tree = converter
        .html_to_tree(html)
        .map_err(|error| format!("can't be read as HTML ({error})"))?;
    Ok(is_shallow(&tree).then(|| converter.tree_to_markdown(&tree)))
}

fn is_shallow(tree: &Rc<Node>) -> bool {
    let mut left = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = left.pop() {
        if depth > DEEPEST {
            return false;
        }
        left.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    true
}

/// The page's tags and text, if they are read as HTML in little time and space: for each element the open ones are
/// looked through, and formats that are left open are opened again in each block.
fn bounded(html: &str) -> Option<String> {
    let mut kept = String::with_capacity(html.len());
    let (mut elements, mut cost, mut formats) = (0, 0, 0);
    let mut open: Vec<String> = Vec::new();
    for piece in Pieces::of(html) {
        match piece {
            // What was left out must not make a tag of what stood around it.
            Piece::Text(text) => kept.push_str(&text.replace('<', "&lt;")),
            Piece::Start(name, written) => {
                kept.push_str(written);
                elements += 1;
                cost += 1 + formats;
                if is_cell(&name) {
                    open.pop_if(|last| is_cell(last));
                }
                if !tags::needs_no_end(&name) {
                    formats += usize::from(tags::is_format(&name));
                    open.push(name);
                }
            }
            Piece::End(name) => {
                kept.push_str("</");
                kept.push_str(&name);
                kept.push('>');
                cost += 1 + formats;
                // `</p>` and `</br>` can be elements too.
                elements += usize::from(matches!(name.as_str(), "p" | "br"));
                if name == "table" {
                    open.pop_if(|last| is_cell(last));
                }
                // Others than the last are not surely closed by this, and count on.
                if open.pop_if(|last| *last == name).is_some() {
                    formats -= usize::from(tags::is_format(&name));
                }
            }
        }
        if elements > MOST_ELEMENTS || cost > MOST_COST || open.len() > MOST_OPEN {
            return None;
        }
    }
    Some(kept)
}

fn is_cell(name: &str) -> bool {
    matches!(name, "td" | "th")
}

/// The text between the tags, without empty lines.
fn bare(html: &str) -> String {
    let mut text = String::new();
    for piece in Pieces::of(html) {
        match piece {
            Piece::Text(words) => text.push_str(&characters(words)),
            Piece::Start(name, _) | Piece::End(name) if tags::is_block(&name) => text.push('\n'),
            Piece::Start(..) | Piece::End(_) => {}
        }
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The text with its commonest character references as what they stand for.
fn characters(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut parts = text.split('&');
    read.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let named = part
            .split_once(';')
            .and_then(|(name, after)| Some((character(name)?, after)));
        match named {
            Some((character, after)) => {
                read.push(character);
                read.push_str(after);
            }
            None => {
                read.push('&');
                read.push_str(part);
            }
        }
    }
    read
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}

/// The title in a page's head.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower[from..].find('>')? + 1;
    let to = from + lower[from..].find("</title")?;
    // There are no tags in a title.
    let words = HtmlToMarkdown::new()
        .convert(&html[from..to].replace('<', "&lt;"))
        .ok()?;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content_type: &str, bytes: &[u8]) -> Result<String, String> {
        text(&Sent {
            content_type: content_type.to_owned(),
            bytes: bytes.to_vec(),
        })
    }

    #[test]
    fn a_page_becomes_markdown_with_its_links_and_code() {
        let html = "<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body>\
            <script>alert(1)</script><h1>Head</h1><p>See <a href=\"https://a.b/c\">this</a>.</p>\
            <pre><code>let a = 1;\n</code></pre><ul><li>one</li></ul></body></html>";
        let text = read("text/html", html.as_bytes()).unwrap_or_default();
        for part in ["Title: A & B\n\n# Head", "[this](https://a.b/c)", "let a = 1;", "one"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("alert") && !text.contains("p{}"), "{text}");
        assert_eq!(read("", html.as_bytes()), Ok(text));
    }

    /// Reads on a thread with the usual stack, as tools run.
    fn read_page(html: String) -> String {
        let reader = std::thread::spawn(move || read("text/html", html.as_bytes()));
        reader.join().unwrap_or_else(|_| Ok(String::new())).unwrap_or_default()
    }

    #[test]
    fn elements_in_elements_are_read_however_deep_they_are() {
        let nests = [
            "<div>",
            "<table><tr><td>",
            "<ul><li>",
            "<ol><li>",
            "<blockquote>",
            "<span>",
            "<b>",
            "<a href=x>",
            "<pre>",
            "<code>",
            "<button><p>",
            "<object>",
            "<svg><g>",
            "<x-y>",
            "<dl><dd>",
            "<details>",
            "<h1><div>",
            "<select>",
            "<font color=1>",
            "<p><table><caption>",
            "<template>",
            "<svg><title><div>",
            "<math><mi><div>",
        ];
        for nest in nests {
            for depth in [20, 35, 55, 110, 200, 1_000, 100_000] {
                let text = read_page(format!("<body>{}inside &amp; out", nest.repeat(depth)));
                assert!(text.contains("inside & out"), "{nest} x {depth}");
            }
        }
        let text = read_page("<div>".repeat(100_000) + "<p>a</p>b &#x41;<br>c");
        assert_eq!(text, format!("{NO_LAYOUT}\n\na\nb A\nc"));
        let title = read_page(format!("<title>T{}</title>x", "<b>".repeat(100_000)));
        assert!(title.starts_with("Title: T<b>") || title.starts_with("Title: T\\<b>"));
    }

    #[test]
    fn the_tree_of_deep_elements_is_built_and_dropped_without_a_call_for_each() {
        let build = || {
            HtmlToMarkdown::new()
                .html_to_tree(&"<x>".repeat(20_000))
                .is_ok_and(|tree| !is_shallow(&tree))
        };
        assert!(std::thread::spawn(build).join().unwrap_or_default());
    }

    #[test]
    fn a_page_of_many_elements_keeps_its_text() {
        let text = read_page("<b>x</b>".repeat(100_000));
        assert!(text.starts_with(NO_LAYOUT) && text.ends_with("xxx"), "{}", text.len());
        let open_formats: String = (0..9_000).map(|n| format!("<p><b id={n}>x</p>")).collect();
        assert!(read_page(open_formats).starts_with(NO_LAYOUT));
        for usual in ["<p>some <i>words</i>", "<li>x", "<tr><td>x<td>y"] {
            let table = format!("<table>{}", usual.repeat(2_000));
            assert!(!read_page(table).contains(NO_LAYOUT), "{usual}");
        }
    }

    #[test]
    fn what_hides_in_a_page_is_seen() {
        let hidden = "a\u{1b}[2J\u{202e}b\u{e0041}\r\nc";
        let shown = "a\\u{1b}[2J\\u{202e}b\\u{e0041}\nc";
        assert_eq!(read("text/plain", hidden.as_bytes()).as_deref(), Ok(shown));
        let page = read("text/html", format!("<p>x&#x202e;y{hidden}").as_bytes()).unwrap_or_default();
        assert!(page.contains("x\\u{202e}y"), "{page}");
    }

    #[test]
    fn text_is_read_in_its_encoding() {
        let check = |content_type: &str, bytes: &[u8], expect: &str| {
            assert_eq!(read(content_type, bytes).as_deref(), Ok(expect), "{content_type}");
        };
        check("text/plain; charset=ISO-8859-1", b"caf\xe9", "café");
        check("text/plain", "日本".as_bytes(), "日本");
        check("text/plain", b"\xff\xfea\0b\0", "ab");
        check("text/html", b"<meta charset=\"windows-1252\"><p>caf\xe9", "café");
        check("application/json", b"{\"a\": 1}", "{\"a\": 1}");
        check("application/ld+json; x=y", b"{}", "{}");
        check("application/octet-stream", b"plain", "plain");
        check("", b"plain", "plain");
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(
            read("image/png", b"\x89PNG"),
            Err("is image/png, and no text".to_owned())
        );
        assert_eq!(read("", b"a\0b"), Err("is no text".to_owned()));
        assert_eq!(
            read("application/octet-stream", b"a\0b"),
            Err("is application/octet-stream, and no text".to_owned())
        );
    }
}
