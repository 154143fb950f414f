//! The request as Chat Completions wants it.

mod content;
mod message;

#[cfg(test)]
mod tests;

use agent_core::provider::{ModelInfo, Request, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::effort::effort;
use message::Outgoing;

/// The one host that wants the newer name for the limit of a reply, and refuses the older.
const OPENAI: &str = "api.openai.com";

/// The one host that has caches made for models whose own service makes them only where it is told to.
const OPENROUTER: &str = "openrouter.ai";

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
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// What is to be cached: all that is sent, so that the next request, which begins with the same, finds it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
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
pub(super) fn body(request: &Request<'_>, model: &ModelInfo, host: &str) -> String {
    let limit = request.reply_limit(model);
    let (newer, older) = if host == OPENAI { (limit, None) } else { (None, limit) };
    let tools = if model.tools { request.tools } else { &[] };
    let body = Body {
        model: &model.origin.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: tools.iter().map(tool).collect(),
        messages: message::outgoing(request, model, host),
        max_tokens: older,
        max_completion_tokens: newer,
        reasoning_effort: request.thinking.and_then(|level| effort(level, &model.origin.model)),
        cache_control: (host == OPENROUTER && model.origin.model.contains("claude")).then_some(CacheControl::Ephemeral),
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
