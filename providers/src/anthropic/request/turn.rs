//! The messages of a conversation in strict turns: what several messages say in a row is one turn.

use std::borrow::Cow;

use agent_core::content::Content;
use agent_core::event::CallInput;
use agent_core::provider::{Call, Message, ModelInfo, Request};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::kept::Kept;
use super::block::{Block, Kind, blocks};
use crate::names::{Form, Ids, tool_name};

/// What the service takes as an id of a call.
const IDS: Form = Form::Plain(64);

/// One side's turn.
#[derive(Serialize)]
pub(super) struct Turn<'a> {
    pub role: Role,
    pub content: Vec<Block<'a>>,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

impl Turn<'_> {
    /// Whether it brings results of tools, so that the model's turn before it goes on.
    pub(super) fn has_results(&self) -> bool {
        self.content.iter().any(Block::is_result)
    }
}

/// Writes a conversation.
pub(super) fn turns<'a>(request: &Request<'a>, model: &ModelInfo) -> Vec<Turn<'a>> {
    let mut turns = Vec::new();
    let mut ids = Ids::new(IDS);
    for message in request.messages {
        let (role, content) = match message {
            Message::User(content) => (Role::User, blocks(content, model.images)),
            Message::Assistant {
                text, calls, native, ..
            } => {
                let kept = Kept::of(native.as_ref(), &model.origin);
                (Role::Assistant, spoken(text, calls, kept, &mut ids))
            }
            Message::ToolResult {
                id,
                text,
                images,
                failed,
                ..
            } => {
                let sees = model.images && !failed;
                let result = Kind::ToolResult {
                    tool_use_id: ids.result(id),
                    content: result(text, images, sees),
                    is_error: *failed,
                };
                (Role::User, vec![result.into()])
            }
        };
        add(role, content, &mut turns);
    }
    turns
}

/// Adds to the turn of that side, or begins it. Results stand before all else that a user's turn has.
fn add<'a>(role: Role, content: Vec<Block<'a>>, turns: &mut Vec<Turn<'a>>) {
    match turns.last_mut() {
        _ if content.is_empty() => {}
        Some(turn) if turn.role == role => {
            turn.content.extend(content);
            turn.content
                .sort_by_key(|block| role == Role::User && !block.is_result());
        }
        Some(_) | None => turns.push(Turn { role, content }),
    }
}

/// What a tool gave. The service takes pictures of a call that did what it should only.
fn result<'a>(text: &'a str, images: &[Content], sees: bool) -> Vec<Block<'a>> {
    let mut content: Vec<Block<'a>> = Block::text(text).into_iter().collect();
    if !images.is_empty() {
        content.extend(blocks(images, sees));
    }
    if content.is_empty() {
        content.extend(Block::text("(no output)"));
    }
    content
}

/// What a model said, with its thoughts where they stood. None of them may stand last.
fn spoken<'a>(text: &'a str, calls: &'a [Call], kept: Kept, ids: &mut Ids<'a>) -> Vec<Block<'a>> {
    let mut content = Vec::new();
    let (mut said, mut called) = (0, 0);
    for thought in kept.thoughts {
        // What was changed since has no such place; the thought then stands before it.
        if let Some(before) = text.get(said..thought.after_text) {
            content.extend(Block::text(before));
            said = thought.after_text;
        }
        if let Some(before) = calls.get(called..thought.after_calls) {
            content.extend(before.iter().map(|call| one_call(call, ids)));
            called = thought.after_calls;
        }
        content.push(Kind::Thought(thought.block).into());
    }
    content.extend(text.get(said..).and_then(Block::text));
    content.extend(calls[called..].iter().map(|call| one_call(call, ids)));
    while content.last().is_some_and(Block::is_thought) {
        content.pop();
    }
    content
}

fn one_call<'a>(call: &'a Call, ids: &mut Ids<'a>) -> Block<'a> {
    let id = ids.call(&call.id);
    Block::from(Kind::ToolUse {
        id,
        name: tool_name(&call.name),
        input: object(&call.input),
    })
}

/// Arguments as the object that the service takes; what was wrong with others stands in the call's result.
fn object(input: &CallInput) -> Cow<'_, Value> {
    match input {
        CallInput::Json(value @ Value::Object(_)) => Cow::Borrowed(value),
        CallInput::Json(value) => Cow::Owned(json!({ "malformed_arguments": value.to_string() })),
        CallInput::Malformed(text) => Cow::Owned(json!({ "malformed_arguments": text })),
    }
}
