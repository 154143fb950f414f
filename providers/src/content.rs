//! Pieces of a message as texts, and as pictures for a model that sees; and a call's arguments.

use agent_core::content::Content;
use agent_core::event::CallInput;
use serde_json::{Value, json};

/// What a message is made of when it is sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    /// A text that says something.
    Text(String),
    /// A picture.
    Picture {
        /// Its type, such as `image/png`.
        mime_type: String,
        /// Its bytes in base64.
        base64: String,
    },
}

/// A user's message; never an empty one, which services refuse. A model that `sees` gets the pictures; texts between
/// two of them are one part.
pub(crate) fn parts(content: &[Content], sees: bool) -> Vec<Part> {
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
        return vec![Part::Text(or_note(text, "(an empty message)"))];
    }
    end_text(&mut text, &mut parts);
    parts
}

/// `text`, or `note` where there is none.
pub(crate) fn or_note(text: String, note: &str) -> String {
    if text.trim().is_empty() { note.to_owned() } else { text }
}

/// Arguments as text. Many servers parse them and refuse the whole conversation for one that is no object, so a
/// malformed one goes back inside of one; what was wrong stands in the call's result.
pub(crate) fn arguments(input: &CallInput) -> String {
    match input {
        CallInput::Json(value @ Value::Object(_)) => value.to_string(),
        CallInput::Json(Value::Null) => "{}".to_owned(),
        CallInput::Json(value) => json!({ "malformed_arguments": value.to_string() }).to_string(),
        CallInput::Malformed(text) => json!({ "malformed_arguments": text }).to_string(),
    }
}

fn end_text(text: &mut String, parts: &mut Vec<Part>) {
    let text = std::mem::take(text);
    if !text.trim().is_empty() {
        parts.push(Part::Text(text));
    }
}

/// A piece as a picture, unless it is none or its bytes are lost.
fn picture(piece: &Content) -> Option<Part> {
    match piece {
        Content::Image { mime_type, data, .. } if !data.bytes().is_empty() => Some(Part::Picture {
            mime_type: mime_type.clone(),
            base64: data.base64().to_string(),
        }),
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
