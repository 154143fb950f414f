//! A server's tool as the core calls it.

use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::event::ToolKind;
use agent_core::plan::{ForeignTool, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Limit, Planned, Tool, ToolError};
use serde_json::{Map, Value};

use super::listing::Listed;
use super::server::Server;
use crate::title;

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

    fn limit(&self, _input: &Value) -> Limit {
        Limit::Own(self.server.limit())
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
