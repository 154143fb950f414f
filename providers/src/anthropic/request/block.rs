//! The blocks that messages are made of.

use std::borrow::Cow;

use agent_core::content::Content;
use serde::Serialize;
use serde_json::{Map, Value};

use super::cache::Breakpoint;
use crate::content::{Part, parts};

/// A block of a message.
#[derive(Serialize)]
pub(super) struct Block<'a> {
    #[serde(flatten)]
    pub kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<Breakpoint>,
}

/// What a block is.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Kind<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
    },
    /// A thought that goes back as it came.
    #[serde(untagged)]
    Thought(Map<String, Value>),
}

/// Where a picture is: in the request itself.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source {
    Base64 { media_type: &'static str, data: String },
}

impl<'a> Block<'a> {
    /// A text, unless it says nothing: the service refuses an empty one.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then(|| Kind::Text { text }.into())
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self.kind, Kind::ToolResult { .. })
    }

    pub(super) fn is_thought(&self) -> bool {
        matches!(self.kind, Kind::Thought(_))
    }
}

impl<'a> From<Kind<'a>> for Block<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self {
            kind,
            cache_control: None,
        }
    }
}

/// Writes pieces of a message; never none. A model that `sees` gets the pictures whose type the service takes.
pub(super) fn blocks<'a>(content: &[Content], sees: bool) -> Vec<Block<'a>> {
    let parts = parts(content, sees).into_iter().map(|part| match part {
        Part::Text(text) => Kind::Text { text: text.into() },
        Part::Picture { mime_type, base64 } => match media_type(&mime_type) {
            Some(media_type) => Kind::Image {
                source: Source::Base64 {
                    media_type,
                    data: base64,
                },
            },
            None => Kind::Text {
                text: format!("(a picture, {mime_type}: not shown)").into(),
            },
        },
    });
    parts.map(Block::from).collect()
}

/// The name that the service has for a type of pictures, if it takes them.
fn media_type(mime_type: &str) -> Option<&'static str> {
    match mime_type.to_ascii_lowercase().as_str() {
        "image/png" => Some("image/png"),
        "image/jpeg" | "image/jpg" => Some("image/jpeg"),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
