//! The tools of a request.

use std::borrow::Cow;

use agent_core::provider::ToolSpec;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::block::Kind;
use super::cache::Breakpoint;
use super::turn::Turn;

/// A tool.
#[derive(Serialize)]
pub(super) struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Breakpoint>,
}

/// Tools that were called and may not be called again.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    tools: Vec<Tool<'a>>,
    tool_choice: Choice,
}

/// Which tools the model may call.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    None,
}

/// Writes the tools that the model may call, with a breakpoint behind the last.
pub(super) fn given(specs: &[ToolSpec]) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = specs.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(Breakpoint::Ephemeral);
    }
    tools
}

/// Names the tools of a conversation's calls, for a request without tools: the service refuses calls of tools that it
/// knows nothing of.
pub(super) fn named<'a>(turns: &[Turn<'a>]) -> Option<Named<'a>> {
    let mut tools: Vec<Tool<'a>> = Vec::new();
    for block in turns.iter().flat_map(|turn| &turn.content) {
        let Kind::ToolUse { name, .. } = &block.kind else {
            continue;
        };
        if tools.iter().all(|tool| tool.name != *name) {
            tools.push(Tool {
                name: name.clone(),
                description: "",
                input_schema: Cow::Owned(json!({"type": "object"})),
                cache_control: None,
            });
        }
    }
    let tool_choice = Choice::None;
    (!tools.is_empty()).then_some(Named { tools, tool_choice })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: spec.name.as_str().into(),
        description: &spec.description,
        input_schema: schema(&spec.schema),
        cache_control: None,
    }
}

/// A schema that the service takes: of an object, and without alternatives at its top. One that it refuses would cost
/// the whole conversation.
fn schema(schema: &Value) -> Cow<'_, Value> {
    const REFUSED: [&str; 3] = ["oneOf", "anyOf", "allOf"];
    let is_refused = |field: &String| REFUSED.contains(&field.as_str());
    let fields = schema.as_object();
    if schema["type"] == "object" && fields.is_some_and(|fields| !fields.keys().any(is_refused)) {
        return Cow::Borrowed(schema);
    }
    let mut taken = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let others = fields.into_iter().flatten();
    let others = others.filter(|(field, _)| *field != "type" && !is_refused(field));
    taken.extend(others.map(|(field, value)| (field.clone(), value.clone())));
    Cow::Owned(Value::Object(taken))
}
