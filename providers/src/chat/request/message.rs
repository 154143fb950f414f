//! The messages of a conversation as Chat Completions wants them.

use std::collections::BTreeMap;

use agent_core::content::Content;
use agent_core::provider::{Call, Message, ModelInfo, Request};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::kept::Kept;
use super::content::{Body, user};
use crate::content::{arguments, or_note};

/// One message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Outgoing<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Body,
    },
    Assistant {
        /// Null, not missing, where there is none: some servers refuse a message without the field.
        content: Option<&'a str>,
        /// Reasoning that goes back as it came.
        #[serde(flatten)]
        kept: Map<String, Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<OutgoingCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

/// A call that the model made earlier.
#[derive(Serialize)]
pub(super) struct OutgoingCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: OutgoingFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct OutgoingFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// Writes a conversation. A tool's result can hold no picture in this dialect, and nothing may stand between the
/// results of one reply, so their pictures follow the last of them in a user's message.
pub(super) fn outgoing<'a>(request: &Request<'a>, model: &ModelInfo) -> Vec<Outgoing<'a>> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(Outgoing::System {
            content: request.system,
        });
    }
    let mut pictures = Vec::new();
    for message in request.messages {
        if !matches!(message, Message::ToolResult { .. }) {
            show(&mut pictures, &mut messages, model);
        }
        if let Message::ToolResult { name, images, .. } = message {
            pictures.extend(images.iter().map(|image| (name.as_str(), image)));
        }
        messages.extend(one(message, model));
    }
    show(&mut pictures, &mut messages, model);
    messages
}

/// Writes the pictures of the tool results before.
fn show(pictures: &mut Vec<(&str, &Content)>, messages: &mut Vec<Outgoing<'_>>, model: &ModelInfo) {
    let mut content = Vec::new();
    for (tool, picture) in pictures.drain(..) {
        content.push(Content::text(format!("Picture from the tool {tool}:")));
        content.push(picture.clone());
    }
    if !content.is_empty() {
        let content = user(&content, model.images);
        messages.push(Outgoing::User { content });
    }
}

fn one<'a>(message: &'a Message, model: &ModelInfo) -> Option<Outgoing<'a>> {
    match message {
        Message::User(content) => Some(Outgoing::User {
            content: user(content, model.images),
        }),
        // Services refuse a message that says nothing.
        Message::Assistant { text, calls, .. } if text.is_empty() && calls.is_empty() => None,
        Message::Assistant {
            text, calls, native, ..
        } => {
            let Kept { message, calls: extras } = Kept::of(native.as_ref(), &model.origin);
            Some(Outgoing::Assistant {
                content: Some(text.as_str()).filter(|text| !text.is_empty()),
                kept: message,
                tool_calls: calls.iter().map(|call| outgoing_call(call, &extras)).collect(),
            })
        }
        Message::ToolResult { id, text, .. } => Some(Outgoing::Tool {
            tool_call_id: id,
            content: or_note(text.clone(), "(no output)"),
        }),
    }
}

fn outgoing_call<'a>(call: &'a Call, extras: &BTreeMap<String, Value>) -> OutgoingCall<'a> {
    OutgoingCall {
        id: &call.id,
        r#type: "function",
        function: OutgoingFunction {
            name: &call.name,
            arguments: arguments(&call.input),
        },
        extra_content: extras.get(&call.id).cloned(),
    }
}
