//! The core's content and values as the protocol's, within the size of one update.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink, TextResourceContents,
};
use agent_core::content::Content;
use serde_json::Value;

use super::text;

/// What one update may carry, in bytes of its largest part: with all the rest it stays under 1 MB.
pub(super) const LARGEST: usize = 512 * 1024;

/// A piece of content. What is too large for an update is named instead of shown.
pub(super) fn block(piece: &Content) -> ContentBlock {
    match piece {
        Content::Text { text } => text::cut_to(text, LARGEST).into(),
        Content::Image { mime_type, data, uri } => {
            let base64 = data.base64();
            if base64.len() > LARGEST {
                return format!(
                    "[a picture, {mime_type}, {} bytes, too large to show]",
                    data.bytes().len()
                )
                .into();
            }
            ContentBlock::Image(ImageContent::new(base64, mime_type.clone()).uri(uri.clone()))
        }
        Content::Resource { uri, text, .. } if text.len() > LARGEST => {
            ContentBlock::ResourceLink(ResourceLink::new(last_part(uri), uri.clone()))
        }
        Content::Resource { uri, mime_type, text } => {
            let text = TextResourceContents::new(text.clone(), uri.clone()).mime_type(mime_type.clone());
            let resource = EmbeddedResourceResource::TextResourceContents(text);
            ContentBlock::Resource(EmbeddedResource::new(resource))
        }
        Content::Link { uri, name } => ContentBlock::ResourceLink(ResourceLink::new(name.clone(), uri.clone())),
    }
}

/// How many bytes a block takes, roughly.
pub(super) fn size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::ResourceLink(link) => link.uri.len(),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => text.text.len(),
            EmbeddedResourceResource::BlobResourceContents(blob) => blob.blob.len(),
            _ => 0,
        },
        _ => 0,
    }
}

/// A path that every JSON writer takes.
pub(super) fn path(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}

/// A value as it is, or with its long texts cut where the whole would be too large.
pub(super) fn bounded(value: &Value, limit: usize) -> Value {
    if weight(value) <= limit {
        return value.clone();
    }
    let cut = cut_texts(value);
    let size = weight(&cut);
    if size <= limit {
        return cut;
    }
    Value::String(format!("[{} bytes of JSON, too large to show]", weight(value)))
}

fn cut_texts(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text::cut_to(text, text::PIECE)),
        Value::Array(items) => items.iter().map(cut_texts).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), cut_texts(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn weight(value: &Value) -> usize {
    const FLAT: usize = 8;
    match value {
        Value::String(text) => FLAT + text.len(),
        Value::Array(items) => FLAT + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => FLAT + map.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => FLAT,
    }
}

fn last_part(uri: &str) -> &str {
    uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_core::content::Blob;
    use serde_json::json;

    #[test]
    fn what_is_too_large_for_an_update_is_named() {
        let data = Blob::Inline(vec![0; LARGEST].into());
        let image = Content::Image {
            mime_type: "image/png".into(),
            data,
            uri: None,
        };
        assert_eq!(
            block(&image),
            "[a picture, image/png, 524288 bytes, too large to show]".into()
        );
        let resource = Content::Resource {
            uri: "file:///a/b.txt".into(),
            mime_type: None,
            text: "x".repeat(LARGEST + 1),
        };
        let link = ContentBlock::ResourceLink(ResourceLink::new("b.txt", "file:///a/b.txt"));
        assert_eq!(block(&resource), link);
    }

    #[test]
    fn values_are_whole_until_they_are_too_large() {
        let small = json!({ "path": "a", "content": "x".repeat(10_000) });
        assert_eq!(bounded(&small, LARGEST), small);
        let large = json!({ "path": "a", "content": "x".repeat(LARGEST) });
        let cut = bounded(&large, LARGEST);
        assert_eq!(cut["path"], "a");
        assert!(
            cut["content"]
                .as_str()
                .is_some_and(|text| text.contains("524288 bytes in all"))
        );
        let many = Value::Array(vec![json!("x"); LARGEST]);
        assert!(bounded(&many, LARGEST).is_string());
    }
}
