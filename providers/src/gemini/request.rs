//! The request as Gemini wants it.

mod content;
mod part;
mod thinking;

#[cfg(test)]
mod tests;

use agent_core::provider::{ModelInfo, Request, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::bare;
use content::{Outgoing, outgoing};
use part::Part;
use thinking::{Thinking, thinking};

/// The body of a request. What differs from step to step stands last.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    contents: Vec<Outgoing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Generation>,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Function<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    /// `parameters` would take no more than a part of JSON schema.
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

/// Writes a request to `model` as JSON.
pub(super) fn body(request: &Request<'_>, model: &ModelInfo) -> String {
    let tools = if model.tools { request.tools } else { &[] };
    let max_output_tokens = request.reply_limit(model);
    let name = bare(&model.origin.model);
    let thinking_config = request.thinking.map(|level| thinking(level, name));
    let body = Body {
        system_instruction: (!request.system.is_empty()).then(|| System {
            parts: [Part::text(request.system)],
        }),
        tools: (!tools.is_empty()).then(|| {
            [Tools {
                function_declarations: tools.iter().map(function).collect(),
            }]
        }),
        contents: outgoing(request, model),
        generation_config: (max_output_tokens.is_some() || thinking_config.is_some()).then_some(Generation {
            max_output_tokens,
            thinking_config,
        }),
    };
    serde_json::to_string(&body).expect("texts, numbers and maps with text keys are JSON")
}

fn function(spec: &ToolSpec) -> Function<'_> {
    Function {
        name: &spec.name,
        description: &spec.description,
        parameters_json_schema: &spec.schema,
    }
}
