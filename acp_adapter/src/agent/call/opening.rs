//! Requests that open a session: a new one, an earlier one, or a copy.

use agent_client_protocol_schema::v1::{Error, ForkSessionRequest, LoadSessionRequest, NewSessionRequest};
use serde_json::{Value, json};

use super::super::{from_acp, instructions, params};
use super::{Call, session};

/// Reads `session/new`.
pub(super) fn new(params: Value) -> Result<Call, Error> {
    let request: NewSessionRequest = params::read(with_servers(params))?;
    Ok(Call::New {
        folders: from_acp::folders(request.cwd, request.additional_directories, request.mcp_servers)?,
        instructions: instructions::read(request.system_prompt)?,
    })
}

/// Reads `session/load`, and `session/resume`, which has the same fields.
pub(super) fn open(params: Value, replay: bool) -> Result<Call, Error> {
    let request: LoadSessionRequest = params::read(with_servers(params))?;
    Ok(Call::Open {
        session: session(&request.session_id),
        folders: from_acp::folders(request.cwd, request.additional_directories, request.mcp_servers)?,
        instructions: instructions::read(request.system_prompt)?,
        replay,
    })
}

/// Clients leave out `mcpServers` where they have none, and of a server what it does not have, which the schema's types
/// would refuse.
fn with_servers(mut params: Value) -> Value {
    if let Value::Object(map) = &mut params {
        let servers = map.entry("mcpServers").or_insert_with(|| json!([]));
        let servers = servers.as_array_mut().into_iter().flatten();
        for server in servers.filter_map(Value::as_object_mut) {
            for field in ["args", "env", "headers"] {
                server.entry(field).or_insert_with(|| json!([]));
            }
        }
    }
    params
}

/// Reads `session/fork`.
pub(super) fn fork(params: Value) -> Result<Call, Error> {
    let request: ForkSessionRequest = params::read(with_servers(params))?;
    Ok(Call::Fork {
        session: session(&request.session_id),
        folders: from_acp::folders(request.cwd, request.additional_directories, request.mcp_servers)?,
        instructions: instructions::read(request.system_prompt)?,
    })
}
