//! How much of a model's context a request takes, and what it leaves for the reply.

use agent_core::content::Content;
use agent_core::provider::{Message, ModelInfo, Request};

use crate::content::arguments;

/// What a picture takes of the context, in tokens, where nobody has said.
const IMAGE_TOKENS: usize = 1500;
/// A reply with less room than this is none; the service may then decide what to do.
const LEAST_ROOM: u64 = 256;

/// Tokens that the reply may have: what the model can, and no more than its context still holds.
pub(crate) fn reply_limit(request: &Request<'_>, model: &ModelInfo) -> Option<u64> {
    let most = model.max_output?;
    match left(request, model) {
        Some(room) => (room >= LEAST_ROOM).then_some(most.min(room)),
        None => Some(most),
    }
}

/// Tokens that the context still holds beside the request, where its size is known.
pub(crate) fn left(request: &Request<'_>, model: &ModelInfo) -> Option<u64> {
    let window = model.context_window?;
    Some(window.saturating_sub(estimate(request)))
}

/// About how many tokens a request has, rather too many: a token is seldom less than three bytes in any script.
fn estimate(request: &Request<'_>) -> u64 {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
    let messages = request.messages.iter().map(message_size);
    let bytes = request.system.len() + tools.sum::<usize>() + messages.sum::<usize>();
    u64::try_from(bytes / 3).unwrap_or(u64::MAX)
}

/// A message in bytes, its frame and pictures counted by what they take of the context.
fn message_size(message: &Message) -> usize {
    const FRAME: usize = 24;
    let pieces = match message {
        Message::User(content) => content.iter().map(size).sum(),
        Message::Assistant {
            text, calls, native, ..
        } => {
            let calls = calls
                .iter()
                .map(|call| call.name.len() + arguments(&call.input).len() + FRAME);
            let native = native.as_ref().map_or(0, |native| native.item.len());
            text.len() + native + calls.sum::<usize>()
        }
        Message::ToolResult { text, images, .. } => text.len() + images.iter().map(size).sum::<usize>(),
    };
    FRAME + pieces
}

/// A piece's size in bytes, a picture's by the context that it takes.
fn size(piece: &Content) -> usize {
    match piece {
        Content::Text { text } => text.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.len(),
        Content::Link { uri, name } => uri.len() + name.len(),
        Content::Image { .. } => IMAGE_TOKENS * 3,
    }
}
