//! The request as Chat Completions wants it. The same conversation gives the same bytes, and a longer one begins with
//! them, so that the service's cache of prompts can work.

mod content;
mod message;

#[cfg(test)]
mod tests;

use agent_core::provider::{Message, ModelInfo, Request, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use message::Outgoing;

/// The one host that wants the newer name for the limit of a reply, and refuses the older.
const OPENAI: &str = "api.openai.com";
/// What a picture takes of the context, in tokens, where nobody has said.
const IMAGE_TOKENS: usize = 1500;
/// A reply with less room than this is none; the service may then decide what to do.
const LEAST_ROOM: u64 = 256;

/// The body of a request. What differs from step to step stands last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Outgoing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// Writes a request to `model` at `host` as JSON.
pub(crate) fn body(request: &Request<'_>, model: &ModelInfo, host: &str) -> String {
    let limit = reply_limit(request, model);
    let (newer, older) = if host == OPENAI { (limit, None) } else { (None, limit) };
    let tools = if model.tools { request.tools } else { &[] };
    let body = Body {
        model: &model.origin.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: tools.iter().map(tool).collect(),
        messages: message::outgoing(request, model),
        max_tokens: older,
        max_completion_tokens: newer,
    };
    serde_json::to_string(&body).expect("texts, numbers and maps with text keys are JSON")
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        function: Function {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.schema,
        },
    }
}

/// Tokens that the reply may have: what the model can, and no more than its context still holds.
fn reply_limit(request: &Request<'_>, model: &ModelInfo) -> Option<u64> {
    let most = model.max_output?;
    let Some(window) = model.context_window else {
        return Some(most);
    };
    let room = window.saturating_sub(estimate(request));
    (room >= LEAST_ROOM).then_some(most.min(room))
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
        Message::User(content) => content.iter().map(content::size).sum(),
        Message::Assistant {
            text, calls, native, ..
        } => {
            let calls = calls
                .iter()
                .map(|call| call.name.len() + message::arguments(&call.input).len() + FRAME);
            let native = native.as_ref().map_or(0, |native| native.item.len());
            text.len() + native + calls.sum::<usize>()
        }
        Message::ToolResult { text, images, .. } => text.len() + images.iter().map(content::size).sum::<usize>(),
    };
    FRAME + pieces
}
