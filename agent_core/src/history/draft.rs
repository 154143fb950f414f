//! The assistant's message that is being put together, and what becomes of its calls.

use std::collections::HashMap;

use crate::event::{ToolCall, ToolOutcome, ToolStatus};
use crate::id::ToolCallId;
use crate::provider::{Call, Message, Native};
use crate::replay::INTERRUPTED_CALL;

/// The message, with the results of its calls.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) results: HashMap<ToolCallId, ToolOutcome>,
    pub(super) native: Option<Native>,
    /// The row that it began with.
    pub(super) row: u64,
}

impl Draft {
    pub(super) fn begin(&mut self, row: u64) {
        if self.row == 0 {
            self.row = row;
        }
    }
}

pub(super) fn to_call(call: &ToolCall) -> Call {
    Call {
        id: call.given_id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
    }
}

pub(super) fn to_result(call: ToolCall, outcome: Option<ToolOutcome>) -> Message {
    let (text, images, failed) = match outcome {
        Some(ToolOutcome { status, output }) => (output.text, output.images, status != ToolStatus::Completed),
        None => (INTERRUPTED_CALL.to_owned(), Vec::new(), true),
    };
    let text = if text.is_empty() {
        "(no output)".to_owned()
    } else {
        text
    };
    Message::ToolResult {
        id: call.given_id,
        name: call.name,
        text,
        images,
        failed,
    }
}
