//! The items of a conversation as OpenAI Responses wants them.

use std::borrow::Cow;

use agent_core::content::Content;
use agent_core::provider::{Call, Message, ModelInfo, Native, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::kept::{Entry, Kept};
use crate::content::{self, arguments, or_note, parts};
use crate::layout;
use crate::names::{Form, Ids, tool_name};
use crate::pictures::Pictures;

/// What the service takes as an id of a call.
const IDS: Form = Form::Plain(64);

/// One item.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outgoing<'a> {
    /// As it came.
    Reasoning(Box<RawValue>),
    Item(Item<'a>),
}

/// An item that is written here.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The service wants one with an id of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        content: Vec<Part<'a>>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        call_id: String,
        name: Cow<'a, str>,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: String,
    },
}

/// A part of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText { text: String },
    InputImage { detail: &'static str, image_url: String },
    OutputText { text: &'a str, annotations: [(); 0] },
}

/// Writes a conversation. A tool's result can hold no picture that every server of this dialect takes.
pub(super) fn outgoing<'a>(request: &Request<'a>, model: &ModelInfo) -> Vec<Outgoing<'a>> {
    let mut items = Vec::new();
    let mut ids = Ids::new(IDS);
    let mut pictures = Pictures::default();
    for message in request.messages {
        items.extend(pictures.before(Some(message)).map(|shown| user(&shown, model)));
        pictures.add(message);
        match message {
            Message::User(content) => items.push(user(content, model)),
            Message::Assistant {
                text, calls, native, ..
            } => items.extend(assistant(text, calls, native.as_ref(), model, &mut ids)),
            Message::ToolResult { id, text, .. } => items.push(Outgoing::Item(Item::FunctionCallOutput {
                call_id: ids.result(id),
                output: or_note(text.clone(), "(no output)"),
            })),
        }
    }
    items.extend(pictures.before(None).map(|shown| user(&shown, model)));
    items
}

fn user<'a>(content: &[Content], model: &ModelInfo) -> Outgoing<'a> {
    let part = |part| match part {
        content::Part::Text(text) => Part::InputText { text },
        content::Part::Picture { mime_type, base64 } => Part::InputImage {
            detail: "auto",
            image_url: format!("data:{mime_type};base64,{base64}"),
        },
    };
    Outgoing::Item(Item::Message {
        id: None,
        status: None,
        role: "user",
        phase: None,
        content: parts(content, model.images).into_iter().map(part).collect(),
    })
}

/// Writes a reply: its items in their order, where that is known. Reasoning that nothing follows stays out, as the
/// service refuses it.
fn assistant<'a>(
    text: &'a str,
    calls: &'a [Call],
    native: Option<&Native>,
    model: &ModelInfo,
    ids: &mut Ids<'a>,
) -> Vec<Outgoing<'a>> {
    let kept = Kept::of(native, &model.origin);
    let lengths = kept.iter().filter_map(|entry| match entry {
        Entry::Message { bytes, .. } => Some(*bytes),
        Entry::Reasoning(_) | Entry::Call { .. } => None,
    });
    let texts = layout::cut(text, lengths);
    let mut items = match texts {
        Some(texts) => in_order(kept, texts, calls, ids),
        None => one_by_one(kept, text, calls, ids),
    };
    while let Some(Outgoing::Reasoning(_)) = items.last() {
        items.pop();
    }
    items
}

/// The items as they came. A call that the conversation no longer has, as it never ran, is left out.
fn in_order<'a>(kept: Vec<Entry>, texts: Vec<&'a str>, calls: &'a [Call], ids: &mut Ids<'a>) -> Vec<Outgoing<'a>> {
    let mut texts = texts.into_iter();
    let mut items = Vec::new();
    let mut left: Vec<&Call> = calls.iter().collect();
    for entry in kept {
        match entry {
            Entry::Reasoning(whole) => items.push(Outgoing::Reasoning(whole)),
            Entry::Message { id, phase, .. } => {
                items.extend(texts.next().and_then(|text| said(id, phase, text)));
            }
            Entry::Call { id, call_id } => {
                let position = left.iter().position(|call| call.id == call_id);
                items.extend(position.map(|position| called(id, left.remove(position), ids)));
            }
        }
    }
    items.extend(left.into_iter().map(|call| called(None, call, ids)));
    items
}

/// The items of a reply whose order is not known: what it thought, said and called.
fn one_by_one<'a>(kept: Vec<Entry>, text: &'a str, calls: &'a [Call], ids: &mut Ids<'a>) -> Vec<Outgoing<'a>> {
    let reasoning = kept.into_iter().filter_map(|entry| match entry {
        Entry::Reasoning(whole) => Some(Outgoing::Reasoning(whole)),
        Entry::Message { .. } | Entry::Call { .. } => None,
    });
    let called = calls.iter().map(|call| called(None, call, ids));
    reasoning.chain(said(None, None, text)).chain(called).collect()
}

/// A text, unless it says nothing.
fn said(id: Option<String>, phase: Option<String>, text: &str) -> Option<Outgoing<'_>> {
    let content = Part::OutputText { text, annotations: [] };
    (!text.trim().is_empty()).then(|| {
        Outgoing::Item(Item::Message {
            status: id.is_some().then_some("completed"),
            id,
            role: "assistant",
            phase,
            content: vec![content],
        })
    })
}

fn called<'a>(id: Option<String>, call: &'a Call, ids: &mut Ids<'a>) -> Outgoing<'a> {
    Outgoing::Item(Item::FunctionCall {
        id,
        call_id: ids.call(&call.id),
        name: tool_name(&call.name),
        arguments: arguments(&call.input),
    })
}
