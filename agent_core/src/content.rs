//! What a message is made of: text, images, files put in, and references to things that were not.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// One piece of a message, in the order the user or a tool gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text or Markdown.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture.
    Image {
        /// Its media type, such as `image/png`.
        mime_type: String,
        /// Its bytes.
        data: Blob,
        /// Where it came from, if it came from somewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// A text that was put in whole, with its origin.
    Resource {
        /// Where it came from.
        uri: String,
        /// Its media type, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The text itself.
        text: String,
    },
    /// A reference; what it points to is not part of the message.
    Link {
        /// Where it points, with its fragment (`#L10-20`).
        uri: String,
        /// What a person calls it.
        name: String,
    },
}

impl Content {
    /// Text, the common case.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Roughly its bytes in memory: exact for what can be large.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text { text } | Self::Resource { text, .. } => text.len(),
            Self::Image { data, .. } => data.bytes().len(),
            Self::Link { uri, .. } => uri.len(),
        }
    }
}

/// The text pieces of a message, one a line: what search, titles and slash commands read.
pub fn plain_text(content: &[Content]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|piece| match piece {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } | Content::Resource { .. } | Content::Link { .. } => None,
        })
        .collect();
    texts.join("\n")
}

/// Whether there is nothing in a message but blanks.
pub fn is_blank(content: &[Content]) -> bool {
    content.iter().all(|piece| match piece {
        Content::Text { text } => text.trim().is_empty(),
        Content::Image { .. } | Content::Resource { .. } | Content::Link { .. } => false,
    })
}

/// Bytes that are no text. In memory they are always [`Blob::Inline`]; the store keeps them once, by their hash.
#[derive(Clone, Debug, PartialEq)]
pub enum Blob {
    /// The bytes themselves; base64 in JSON.
    Inline(Arc<[u8]>),
    /// The SHA-256 of bytes in the store's `blobs` table, in hexadecimal. Never leaves the store.
    Stored(String),
}

impl Blob {
    /// The bytes; empty for a blob that the store could not find.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Inline(bytes) => bytes,
            Self::Stored(_) => &[],
        }
    }

    /// The bytes in base64, as protocols carry them.
    pub fn base64(&self) -> String {
        STANDARD.encode(self.bytes())
    }

    /// Reads base64 as protocols carry it.
    pub fn from_base64(text: &str) -> Result<Self, base64::DecodeError> {
        Ok(Self::Inline(STANDARD.decode(text)?.into()))
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(_) => serializer.serialize_str(&self.base64()),
            Self::Stored(hash) => serializer.serialize_str(&format!("sha256:{hash}")),
        }
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix("sha256:") {
            Some(hash) => Ok(Self::Stored(hash.to_owned())),
            None => Self::from_base64(&text).map_err(D::Error::custom),
        }
    }
}
