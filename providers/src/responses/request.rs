//! The request as OpenAI Responses wants it.

mod item;

#[cfg(test)]
mod tests;

use agent_core::provider::{ModelInfo, Request, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::effort::{effort, thinks};
use item::Outgoing;

/// The body of a request. What differs from step to step stands last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Outgoing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// A strict tool could have no optional argument.
    strict: bool,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    summary: &'static str,
}

/// Writes a request to `model` as JSON.
pub(super) fn body(request: &Request<'_>, model: &ModelInfo) -> String {
    let tools = if model.tools { request.tools } else { &[] };
    let name = &model.origin.model;
    let body = Body {
        model: name,
        stream: true,
        store: false,
        include: if thinks(name) {
            &["reasoning.encrypted_content"]
        } else {
            &[]
        },
        instructions: request.system,
        tools: tools.iter().map(tool).collect(),
        input: item::outgoing(request, model),
        max_output_tokens: request.reply_limit(model),
        reasoning: request
            .thinking
            .and_then(|level| effort(level, name))
            .map(|effort| Reasoning {
                effort,
                summary: "auto",
            }),
    };
    serde_json::to_string(&body).expect("texts, numbers, JSON and maps with text keys are JSON")
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.schema,
        strict: false,
    }
}
