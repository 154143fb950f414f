//! Conversations for the tests of every dialect: a model, a tool, and what is said.

use agent_core::content::{Blob, Content};
use agent_core::event::CallInput;
use agent_core::provider::{Call, Message, ModelInfo, Native, Origin, ToolSpec};
use serde_json::json;

/// A model that sees, behind a service that speaks this dialect.
pub(crate) fn model(api: &str, base_url: &str, name: &str) -> ModelInfo {
    ModelInfo {
        name: format!("test/{name}").parse().expect("a name with a provider is one"),
        origin: Origin {
            api: api.into(),
            base_url: base_url.into(),
            model: name.into(),
        },
        context_window: None,
        max_output: None,
        images: true,
        tools: true,
        price: None,
    }
}

/// The one tool.
pub(crate) fn read() -> ToolSpec {
    ToolSpec {
        name: "read".into(),
        description: "Reads.".into(),
        schema: json!({"type": "object"}),
    }
}

/// A prompt.
pub(crate) fn user(text: &str) -> Message {
    Message::User(vec![Content::text(text)])
}

/// A picture of a type.
pub(crate) fn picture(mime_type: &str, bytes: &[u8]) -> Content {
    Content::Image {
        mime_type: mime_type.into(),
        data: Blob::Inline(bytes.into()),
        uri: None,
    }
}

/// A reply with calls of the tool, and what its service had to keep.
pub(crate) fn assistant(text: &str, calls: &[(&str, CallInput)], native: Option<Native>) -> Message {
    let call = |(id, input): &(&str, CallInput)| Call {
        id: (*id).into(),
        name: "read".into(),
        input: input.clone(),
    };
    Message::Assistant {
        text: text.into(),
        thought: "never sent as text".into(),
        calls: calls.iter().map(call).collect(),
        native,
    }
}

/// The arguments `p` of a call.
pub(crate) fn p(number: u64) -> CallInput {
    CallInput::Json(json!({"p": number}))
}

/// What came of a call.
pub(crate) fn result(id: &str, text: &str, images: Vec<Content>, failed: bool) -> Message {
    Message::ToolResult {
        id: id.into(),
        name: "read".into(),
        text: text.into(),
        images,
        failed,
    }
}
