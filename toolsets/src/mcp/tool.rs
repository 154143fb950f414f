//! A server's tool as the core calls it.

use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::event::ToolKind;
use agent_core::plan::{ForeignTool, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Planned, Tool, ToolError};
use agent_core::visible;
use rmcp::model;
use serde_json::{Map, Value, json};

use super::fingerprint;
use super::server::Server;
use crate::title;

/// The most characters of a tool's description that a model is told.
const DESCRIPTION: usize = 8_000;

/// What a server says of a tool, as this session has it.
pub(super) struct Listed {
    pub(super) spec: ToolSpec,
    pub(super) foreign: ForeignTool,
    only_reads: bool,
}

impl Listed {
    /// A tool of a server, called `name` here.
    pub(super) fn new(name: String, server: &str, identity: &str, tool: &model::Tool) -> Self {
        Self {
            foreign: ForeignTool {
                server: server.to_owned(),
                identity: identity.to_owned(),
                tool: tool.name.to_string(),
                schema: fingerprint::of_tool(tool),
            },
            spec: ToolSpec {
                name,
                description: description(tool),
                schema: schema(tool),
            },
            only_reads: tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true),
        }
    }
}

/// The description as its user could see it: nothing in it is hidden from people and told to models.
fn description(tool: &model::Tool) -> String {
    let text = visible::text(tool.description.as_deref().unwrap_or_default());
    match text.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into_owned(),
    }
}

/// The schema; a service refuses a request with one that does not say that it is an object.
fn schema(tool: &model::Tool) -> Value {
    let mut schema = tool.input_schema.as_ref().clone();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// A tool of a server.
pub(super) struct McpTool {
    server: Arc<Server>,
    listed: Arc<Listed>,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, listed: Arc<Listed>) -> Self {
        Self { server, listed }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn title(&self, _input: &Value) -> String {
        let ForeignTool { server, tool, .. } = &self.listed.foreign;
        title::line(&format!("{server}: {tool}"))
    }

    /// As the server says. It decides what may run side by side, and never whether to ask.
    fn only_reads(&self, _input: &Value) -> bool {
        self.listed.only_reads
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let arguments = match input {
            Value::Object(arguments) => arguments.clone(),
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let name = &self.listed.spec.name;
                return Err(ToolError::new(format!(
                    "{name}: the arguments must be an object, and it was not called"
                )));
            }
        };
        let (server, tool) = (Arc::clone(&self.server), self.listed.foreign.tool.clone());
        Ok(Planned {
            plan: Plan::Foreign(self.listed.foreign.clone()),
            locations: Vec::new(),
            action: Box::new(move |run| server.call(&tool, arguments, run)),
        })
    }
}
