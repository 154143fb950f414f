//! The messages of a conversation as Chat Completions wants them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_core::content::Content;
use agent_core::provider::{Call, Message, ModelInfo, Request};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::kept::Kept;
use super::content::{Body, user};
use crate::content::{arguments, or_note};
use crate::names::{Form, Ids, tool_name};
use crate::pictures::Pictures;

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
        tool_call_id: String,
        content: String,
    },
}

/// A call that the model made earlier.
#[derive(Serialize)]
pub(super) struct OutgoingCall<'a> {
    id: String,
    r#type: &'static str,
    function: OutgoingFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct OutgoingFunction<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

/// Writes a conversation. A tool's result can hold no picture in this dialect.
pub(super) fn outgoing<'a>(request: &Request<'a>, model: &ModelInfo, host: &str) -> Vec<Outgoing<'a>> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(Outgoing::System {
            content: request.system,
        });
    }
    let mut ids = Ids::new(ids_at(host));
    let mut pictures = Pictures::default();
    for message in request.messages {
        messages.extend(pictures.before(Some(message)).map(|shown| show(&shown, model)));
        pictures.add(message);
        messages.extend(one(message, model, &mut ids));
    }
    messages.extend(pictures.before(None).map(|shown| show(&shown, model)));
    messages
}

/// What a service takes as an id of a call.
fn ids_at(host: &str) -> Form {
    match host {
        "api.mistral.ai" => Form::Exactly(9),
        // OpenAI's own limit; nobody takes fewer.
        _ => Form::Any(40),
    }
}

fn show<'a>(content: &[Content], model: &ModelInfo) -> Outgoing<'a> {
    Outgoing::User {
        content: user(content, model.images),
    }
}

fn one<'a>(message: &'a Message, model: &ModelInfo, ids: &mut Ids<'a>) -> Option<Outgoing<'a>> {
    match message {
        Message::User(content) => Some(show(content, model)),
        // Services refuse a message that says nothing.
        Message::Assistant { text, calls, .. } if text.trim().is_empty() && calls.is_empty() => None,
        Message::Assistant {
            text, calls, native, ..
        } => {
            let Kept { message, calls: extras } = Kept::of(native.as_ref(), &model.origin);
            Some(Outgoing::Assistant {
                content: Some(text.as_str()).filter(|text| !text.trim().is_empty()),
                kept: message,
                tool_calls: calls.iter().map(|call| outgoing_call(call, &extras, ids)).collect(),
            })
        }
        Message::ToolResult { id, text, .. } => Some(Outgoing::Tool {
            tool_call_id: ids.result(id),
            content: or_note(text.clone(), "(no output)"),
        }),
    }
}

fn outgoing_call<'a>(call: &'a Call, extras: &BTreeMap<String, Value>, ids: &mut Ids<'a>) -> OutgoingCall<'a> {
    OutgoingCall {
        id: ids.call(&call.id),
        r#type: "function",
        function: OutgoingFunction {
            name: tool_name(&call.name),
            arguments: arguments(&call.input),
        },
        extra_content: extras.get(&call.id).cloned(),
    }
}
