//! What a server sent, as text for a model.

use encoding_rs::{Encoding, UTF_8};
use htmd::HtmlToMarkdown;

/// What came, before it is read.
pub(crate) struct Sent {
    /// Such as `text/html; charset=utf-8`; empty where the server did not say.
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// The text of a page, HTML as Markdown; what is no text is an error that says what it is.
pub(crate) fn text(sent: &Sent) -> Result<String, String> {
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

fn markdown(html: &str) -> Result<String, String> {
    let skipped = vec!["script", "style", "noscript", "template", "svg", "iframe", "head"];
    let converter = HtmlToMarkdown::builder().skip_tags(skipped).build();
    let text = converter
        .convert(html)
        .map_err(|error| format!("can't be read as HTML ({error})"))?;
    Ok(match title(html) {
        Some(title) => format!("Title: {title}\n\n{}", text.trim()),
        None => text.trim().to_owned(),
    })
}

/// The title in a page's head.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower[from..].find('>')? + 1;
    let to = from + lower[from..].find("</title")?;
    let words = HtmlToMarkdown::new().convert(&html[from..to]).ok()?;
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
