//! What a call gave back, as models and people get it: text and pictures; what is neither is named.

use agent_core::content::{Blob, Content};
use agent_core::event::{Display, ToolOutput};
use agent_core::tool::ToolError;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::picture::{MAX_PICTURE, media_type};
use crate::process::Output;

/// The longest structured result that clients get as such; a longer one has its text alone, without the middle.
const RAW: usize = 64 << 10;
/// The longest text that is set out for people if it is JSON.
const JSON: usize = 64 << 10;

/// A result; one that the server calls an error is a failure.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut pieces = Pieces::default();
    for block in result.content {
        pieces.add(block);
    }
    if let Some(structured) = result.structured_content {
        pieces.add_structured(structured);
    }
    let failed = result.is_error == Some(true);
    if pieces.texts.is_empty() && pieces.images.is_empty() {
        let nothing = if failed {
            "The tool failed and did not say why."
        } else {
            "Done. The tool gave nothing back."
        };
        pieces.texts.push(nothing.to_owned());
    }
    let text = bounded(&pieces.texts.join("\n"));
    let output = ToolOutput {
        display: if is_json(&text) {
            Display::Json
        } else {
            Display::Verbatim
        },
        text,
        images: pieces.images,
        raw: pieces
            .structured
            .map(|structured| json!({ "structuredContent": structured, "isError": failed })),
    };
    if failed {
        Err(ToolError {
            message: output.text.clone(),
            output: Some(output),
        })
    } else {
        Ok(output)
    }
}

#[derive(Default)]
struct Pieces {
    texts: Vec<String>,
    images: Vec<Content>,
    structured: Option<Value>,
}

impl Pieces {
    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text),
            ContentBlock::Image(image) => self.add_bytes("picture", &image.mime_type, &image.data, None),
            ContentBlock::Audio(audio) => self.add_bytes("sound", &audio.mime_type, &audio.data, None),
            ContentBlock::Resource(resource) => self.add_resource(resource.resource),
            ContentBlock::ResourceLink(link) => {
                let about = link.description.map_or_else(String::new, |about| format!(": {about}"));
                self.texts
                    .push(format!("[resource {} at {}{about}]", link.name, link.uri));
            }
            _ => self.texts.push("[something that this agent does not know]".to_owned()),
        }
    }

    fn add_resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.texts.push(format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents {
                uri, mime_type, blob, ..
            } => {
                let mime_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                self.add_bytes("resource", mime_type, &blob, Some(uri));
            }
            _ => self.texts.push("[a resource that this agent does not know]".to_owned()),
        }
    }

    /// A picture that models take, by its first bytes; anything else is named.
    fn add_bytes(&mut self, what: &str, said: &str, base64: &str, uri: Option<String>) {
        let at = uri.as_ref().map_or_else(String::new, |uri| format!(" {uri}"));
        let Ok(data) = Blob::from_base64(base64) else {
            self.texts
                .push(format!("[a {what}{at}, {said}, that can't be read: it is not base64]"));
            return;
        };
        let length = data.bytes().len();
        match media_type(data.bytes()) {
            Some(mime_type) if length as u64 <= MAX_PICTURE => self.images.push(Content::Image {
                mime_type: mime_type.to_owned(),
                data,
                uri,
            }),
            Some(_) => self.texts.push(format!(
                "[a {what}{at}, {said}, of {length} bytes: too large to look at]"
            )),
            None => self.texts.push(format!(
                "[a {what}{at}, {said}, of {length} bytes, that can't be shown]"
            )),
        }
    }

    /// Servers should say the same as text too, and many do.
    fn add_structured(&mut self, structured: Value) {
        let says_it = |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value == structured);
        let is_said = self.texts.iter().any(says_it);
        let text = structured.to_string();
        if text.len() <= RAW {
            self.structured = Some(structured);
        }
        if !is_said {
            self.texts.push(text);
        }
    }
}

/// The text with its middle left out where it is very long.
fn bounded(text: &str) -> String {
    let output = Output::new();
    output.push(text.as_bytes());
    output.since(0).text()
}

/// Whether people are better off with the text set out: an object or a list, and nothing else.
fn is_json(text: &str) -> bool {
    text.len() <= JSON && text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const PNG: &str = "iVBORw0KGgo=";

    fn read(value: Value) -> Result<ToolOutput, ToolError> {
        output(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn content_of_every_sort_reaches_the_model() {
        let check = |content: Value, text: &str, images: usize| {
            let output = read(json!({ "content": [content] })).unwrap();
            assert_eq!((output.text.as_str(), output.images.len()), (text, images));
        };
        check(json!({"type": "text", "text": "a\nb"}), "a\nb", 0);
        check(json!({"type": "image", "mimeType": "image/png", "data": PNG}), "", 1);
        check(
            json!({"type": "image", "mimeType": "image/png", "data": "?"}),
            "[a picture, image/png, that can't be read: it is not base64]",
            0,
        );
        check(
            json!({"type": "audio", "mimeType": "audio/wav", "data": "YWJj"}),
            "[a sound, audio/wav, of 3 bytes, that can't be shown]",
            0,
        );
        check(
            json!({"type": "resource", "resource": {"uri": "f:///a", "text": "x"}}),
            "[resource f:///a]\nx",
            0,
        );
        check(
            json!({"type": "resource", "resource": {"uri": "f:///a", "blob": PNG}}),
            "",
            1,
        );
        check(
            json!({"type": "resource_link", "uri": "f:///a", "name": "n", "description": "d"}),
            "[resource n at f:///a: d]",
            0,
        );
    }

    #[test]
    fn structured_content_is_told_once() {
        let structured = json!({ "a": 1 });
        let both = json!({ "content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": structured });
        assert_eq!(read(both).unwrap().text, "{\"a\": 1}");
        let alone = read(json!({ "structuredContent": structured })).unwrap();
        assert_eq!(alone.text, "{\"a\":1}");
        assert_eq!(alone.raw.unwrap()["structuredContent"], structured);
        let long = read(json!({ "structuredContent": { "a": "x".repeat(RAW) } })).unwrap();
        assert!(long.raw.is_none() && long.text.starts_with("{\"a\":\"xx"));
    }

    #[test]
    fn only_an_object_or_a_list_alone_is_set_out() {
        let check = |text: &str, display: Display| {
            let output = read(json!({ "content": [{"type": "text", "text": text}] })).unwrap();
            assert_eq!((output.text.as_str(), output.display), (text, display), "{text}");
        };
        for json in ["{\"a\":1}", " [1,\n2]", "{}"] {
            check(json, Display::Json);
        }
        for text in ["1", "null", "\"a\"", "[1", "[1] and more", "{a}"] {
            check(text, Display::Verbatim);
        }
        check(&format!("[\"{}\"]", "x".repeat(JSON)), Display::Verbatim);
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        check(&deep, Display::Json);
    }

    #[test]
    fn what_the_server_calls_an_error_is_a_failure_with_a_reason() {
        let error = json!({ "content": [{"type": "text", "text": "no such thing"}], "isError": true });
        assert_eq!(read(error).unwrap_err().message, "no such thing");
        assert!(
            read(json!({ "content": [], "isError": true }))
                .unwrap_err()
                .message
                .contains("did not say why")
        );
        assert!(!read(json!({ "content": [] })).unwrap().text.is_empty());
    }

    #[test]
    fn a_very_long_text_loses_its_middle() {
        let text = format!("begin{}end", "x".repeat(1 << 20));
        let output = read(json!({ "content": [{"type": "text", "text": text}] })).unwrap();
        assert!(output.text.starts_with("begin") && output.text.ends_with("end"));
        assert!(output.text.contains("bytes left out") && output.text.len() < 200_000);
    }
}
