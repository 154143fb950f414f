//! The request as Anthropic Messages wants it.

mod block;
mod cache;
mod plan;
mod thinking;
mod tools;
mod turn;

#[cfg(test)]
mod tests;

use agent_core::provider::{ModelInfo, Request};
use serde::Serialize;

use block::Block;
use cache::Breakpoint;
use plan::Plan;
use tools::{Named, Tool};
use turn::Turn;

/// The body of a request. What differs from step to step stands last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
    #[serde(flatten)]
    named: Option<Named<'a>>,
    #[serde(flatten)]
    plan: Plan,
}

/// Writes a request to `model` as JSON.
pub(super) fn body(request: &Request<'_>, model: &ModelInfo) -> String {
    let mut messages = turn::turns(request, model);
    cache::mark(&mut messages);
    let tools = if model.tools { request.tools } else { &[] };
    let body = Body {
        model: &model.origin.model,
        stream: true,
        system: system(request.system),
        tools: tools::given(tools),
        named: tools.is_empty().then(|| tools::named(&messages)).flatten(),
        plan: plan::plan(request, model, &messages),
        messages,
    };
    serde_json::to_string(&body).expect("texts, numbers and maps with text keys are JSON")
}

fn system(text: &str) -> Vec<Block<'_>> {
    let block = Block::text(text).map(|block| Block {
        cache_control: Some(Breakpoint::Ephemeral),
        ..block
    });
    block.into_iter().collect()
}
