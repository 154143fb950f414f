//! The content of a message: a text, or a list where there are pictures.

use agent_core::content::Content;
use serde::Serialize;

use crate::content::{self, parts};

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body {
    Text(String),
    Parts(Vec<Part>),
}

/// One part of a content that has pictures.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

/// Writes a user's message. A model that `sees` gets the pictures.
pub(super) fn user(content: &[Content], sees: bool) -> Body {
    let mut parts = parts(content, sees);
    match (parts.len(), parts.pop()) {
        (1, Some(content::Part::Text(text))) => Body::Text(text),
        (_, last) => Body::Parts(parts.into_iter().chain(last).map(part).collect()),
    }
}

fn part(part: content::Part) -> Part {
    match part {
        content::Part::Text(text) => Part::Text { text },
        content::Part::Picture { mime_type, base64 } => Part::ImageUrl {
            image_url: ImageUrl {
                url: format!("data:{mime_type};base64,{base64}"),
            },
        },
    }
}
