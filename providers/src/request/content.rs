//! Pieces of a message as text, or as text and pictures for a model that sees.

use agent_core::content::Content;
use serde::Serialize;

use super::IMAGE_TOKENS;

/// The content of a message: a text, or a list where there are pictures.
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

/// Writes a user's message; never an empty one, which services refuse. A model that `sees` gets the pictures.
pub(super) fn user(content: &[Content], sees: bool) -> Body {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut after_link = false;
    for piece in content {
        match sees.then(|| picture(piece)).flatten() {
            Some(picture) => {
                end_text(&mut text, &mut parts);
                parts.push(picture);
            }
            None => append(&mut text, piece, after_link),
        }
        after_link = matches!(piece, Content::Link { .. });
    }
    if parts.is_empty() {
        return Body::Text(or_note(text, "(an empty message)"));
    }
    end_text(&mut text, &mut parts);
    Body::Parts(parts)
}

/// `text`, or `note` where there is none.
pub(super) fn or_note(text: String, note: &str) -> String {
    if text.trim().is_empty() { note.to_owned() } else { text }
}

/// A piece's size in bytes, a picture's by the context that it takes.
pub(super) fn size(piece: &Content) -> usize {
    match piece {
        Content::Text { text } => text.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.len(),
        Content::Link { uri, name } => uri.len() + name.len(),
        Content::Image { .. } => IMAGE_TOKENS * 3,
    }
}

fn end_text(text: &mut String, parts: &mut Vec<Part>) {
    let text = std::mem::take(text);
    if !text.trim().is_empty() {
        parts.push(Part::Text { text });
    }
}

/// A piece as a picture, unless it is none or its bytes are lost.
fn picture(piece: &Content) -> Option<Part> {
    match piece {
        Content::Image { mime_type, data, .. } if !data.bytes().is_empty() => {
            let url = format!("data:{mime_type};base64,{}", data.base64());
            Some(Part::ImageUrl {
                image_url: ImageUrl { url },
            })
        }
        Content::Image { .. } | Content::Text { .. } | Content::Resource { .. } | Content::Link { .. } => None,
    }
}

/// Writes a piece behind the text before it, on a line of its own; only a link stands within its sentence.
fn append(text: &mut String, piece: &Content, after_link: bool) {
    match piece {
        Content::Link { uri, name } => text.push_str(&format!("[{name}]({uri})")),
        Content::Text { text: more } if after_link => text.push_str(more),
        Content::Text { text: more } => append_lines(text, more),
        Content::Resource { uri, text: more, .. } => {
            append_lines(text, &format!("<resource uri=\"{uri}\">\n{more}\n</resource>\n"));
        }
        Content::Image { mime_type, .. } => append_lines(text, &format!("(a picture, {mime_type}: not shown)\n")),
    }
}

fn append_lines(text: &mut String, more: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(more);
}
