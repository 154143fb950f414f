//! A request as the call into the core that it asks for.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, CloseSessionRequest, DeleteSessionRequest, Error, ForkSessionRequest, ListSessionsRequest,
    LoadSessionRequest, LogoutRequest, NewSessionRequest, PromptRequest, SessionConfigOptionValue,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_core::content::Content;
use agent_core::id::SessionId;
use agent_core::prompt::Instructions;
use agent_core::runtime::{Folders, SetOption};
use serde::Deserialize;
use serde_json::{Value, json};

use super::handshake::Client;
use super::steering::Idle;
use super::to_acp::view::{MODE, MODEL, THOUGHT, THOUGHT_DEFAULT};
use super::{fault, from_acp, instructions, params, steering};

/// What a client asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Call {
    Initialize(Client),
    Authenticate {
        method: String,
    },
    Logout,
    New {
        folders: Folders,
        instructions: Option<Instructions>,
    },
    Open {
        session: SessionId,
        folders: Folders,
        instructions: Option<Instructions>,
        replay: bool,
    },
    List {
        cwd: Option<PathBuf>,
        cursor: Option<String>,
    },
    Fork {
        session: SessionId,
        folders: Folders,
        instructions: Option<Instructions>,
    },
    Close(SessionId),
    Delete(SessionId),
    Prompt {
        session: SessionId,
        content: Vec<Content>,
        joins: bool,
    },
    Steer {
        session: SessionId,
        content: Vec<Content>,
        idle: Idle,
    },
    SetMode {
        session: SessionId,
        option: SetOption,
    },
    SetModel {
        session: SessionId,
        option: SetOption,
    },
    SetOption {
        session: SessionId,
        option: SetOption,
    },
}

impl Call {
    /// Reads a request; the methods not named here are not served.
    pub(crate) fn read(method: &str, params: Value) -> Result<Self, Error> {
        match method {
            "initialize" => Client::read(params).map(Self::Initialize),
            "authenticate" => authenticate(params),
            "logout" => params::read(params).map(|_: LogoutRequest| Self::Logout),
            "session/new" => new(params),
            "session/load" => open(params, true),
            "session/resume" => open(params, false),
            "session/list" => list(params),
            "session/close" => {
                params::read(params).map(|request: CloseSessionRequest| Self::Close(session(&request.session_id)))
            }
            "session/delete" => {
                params::read(params).map(|request: DeleteSessionRequest| Self::Delete(session(&request.session_id)))
            }
            "session/fork" => fork(params),
            "session/prompt" => prompt(params),
            steering::METHOD => steer(params),
            "session/set_mode" => set_mode(params),
            "session/set_model" => set_model(params),
            "session/set_config_option" => set_config_option(params),
            _ => Err(fault::no_method()),
        }
    }
}

impl Call {
    /// Whether it opens a session or has work done, which needs a user who has not signed out.
    pub(crate) fn begins_something(&self) -> bool {
        match self {
            Self::New { .. } | Self::Open { .. } | Self::Fork { .. } | Self::Prompt { .. } | Self::Steer { .. } => true,
            Self::Initialize(_)
            | Self::Authenticate { .. }
            | Self::Logout
            | Self::List { .. }
            | Self::Close(_)
            | Self::Delete(_)
            | Self::SetMode { .. }
            | Self::SetModel { .. }
            | Self::SetOption { .. } => false,
        }
    }
}

fn authenticate(params: Value) -> Result<Call, Error> {
    let request: AuthenticateRequest = params::read(params)?;
    Ok(Call::Authenticate {
        method: request.method_id.0.to_string(),
    })
}

fn new(params: Value) -> Result<Call, Error> {
    let request: NewSessionRequest = params::read(with_servers(params))?;
    Ok(Call::New {
        folders: from_acp::folders(request.cwd, request.additional_directories, request.mcp_servers)?,
        instructions: instructions::read(request.system_prompt)?,
    })
}

/// Reads `session/load`, and `session/resume`, which has the same fields.
fn open(params: Value, replay: bool) -> Result<Call, Error> {
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

fn fork(params: Value) -> Result<Call, Error> {
    let request: ForkSessionRequest = params::read(with_servers(params))?;
    Ok(Call::Fork {
        session: session(&request.session_id),
        folders: from_acp::folders(request.cwd, request.additional_directories, request.mcp_servers)?,
        instructions: instructions::read(request.system_prompt)?,
    })
}

fn list(params: Value) -> Result<Call, Error> {
    let request: ListSessionsRequest = params::read(params)?;
    if request.cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
        return Err(fault::invalid_field("cwd", "expected an absolute path"));
    }
    Ok(Call::List {
        cwd: request.cwd,
        cursor: request.cursor,
    })
}

fn prompt(params: Value) -> Result<Call, Error> {
    let request: PromptRequest = params::read(params)?;
    Ok(Call::Prompt {
        session: session(&request.session_id),
        joins: steering::joins(request.meta.as_ref()),
        content: from_acp::prompt(request.prompt)?,
    })
}

/// Reads `_session/steering`, which has the fields of a prompt.
fn steer(params: Value) -> Result<Call, Error> {
    let request: PromptRequest = params::read(params)?;
    Ok(Call::Steer {
        session: session(&request.session_id),
        idle: steering::idle(request.meta.as_ref())?,
        content: from_acp::prompt(request.prompt)?,
    })
}

/// What clients called to choose a model before there were options.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetSessionModelRequest {
    session_id: String,
    model_id: String,
}

fn set_model(params: Value) -> Result<Call, Error> {
    let request: SetSessionModelRequest = params::read(params)?;
    Ok(Call::SetModel {
        session: SessionId::from(request.session_id.as_str()),
        option: SetOption::Model(request.model_id),
    })
}

fn set_mode(params: Value) -> Result<Call, Error> {
    let request: SetSessionModeRequest = params::read(params)?;
    Ok(Call::SetMode {
        session: session(&request.session_id),
        option: SetOption::Mode(request.mode_id.0.to_string()),
    })
}

fn set_config_option(params: Value) -> Result<Call, Error> {
    // The schema's type chooses by shape here and could not say what is wrong with the value.
    match params.get("value") {
        None => return Err(fault::invalid_field("value", "is missing")),
        Some(value) if !value.is_string() => {
            return Err(fault::invalid_field(
                "value",
                "expected one of the option's values, a string",
            ));
        }
        Some(_) => {}
    }
    let request: SetSessionConfigOptionRequest = params::read(params)?;
    let SessionConfigOptionValue::ValueId { value } = request.value else {
        return Err(fault::invalid_field("type", "no option of this session is a boolean"));
    };
    let option = match &*request.config_id.0 {
        MODE => SetOption::Mode(value.0.to_string()),
        MODEL => SetOption::Model(value.0.to_string()),
        THOUGHT if &*value.0 == THOUGHT_DEFAULT => SetOption::Thought(None),
        THOUGHT => SetOption::Thought(Some(value.0.to_string())),
        _ => {
            return Err(fault::invalid_field(
                "configId",
                "is none of the options of this session",
            ));
        }
    };
    Ok(Call::SetOption {
        session: session(&request.session_id),
        option,
    })
}

fn session(id: &agent_client_protocol_schema::v1::SessionId) -> SessionId {
    SessionId::from(&*id.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn folders() -> Folders {
        Folders {
            cwd: "/w".into(),
            extra_roots: vec!["/x".into()],
            servers: Vec::new(),
        }
    }

    #[track_caller]
    fn check(method: &str, params: Value, expect: Call) {
        assert_eq!(Call::read(method, params).unwrap(), expect);
    }

    #[track_caller]
    fn refuses(method: &str, params: Value, code: i32, field: Option<&str>) {
        let error = Call::read(method, params).unwrap_err();
        assert_eq!(i32::from(error.code), code);
        assert_eq!(error.data, field.map(|field| json!({ "field": field })));
    }

    #[test]
    fn every_method_that_is_served_is_read() {
        check(
            "authenticate",
            json!({ "methodId": "a" }),
            Call::Authenticate { method: "a".into() },
        );
        check(
            "session/new",
            json!({ "cwd": "/w", "additionalDirectories": ["/x"], "mcpServers": [] }),
            Call::New {
                folders: folders(),
                instructions: None,
            },
        );
        check(
            "session/fork",
            json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"] }),
            Call::Fork {
                session: "s".into(),
                folders: folders(),
                instructions: None,
            },
        );
        check("session/delete", json!({ "sessionId": "s" }), Call::Delete("s".into()));
        check("logout", Value::Null, Call::Logout);
        check("logout", json!({}), Call::Logout);
        for (method, replay) in [("session/load", true), ("session/resume", false)] {
            check(
                method,
                json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"], "mcpServers": [] }),
                Call::Open {
                    session: "s".into(),
                    folders: folders(),
                    instructions: None,
                    replay,
                },
            );
        }
        check(
            "session/list",
            Value::Null,
            Call::List {
                cwd: None,
                cursor: None,
            },
        );
        check(
            "session/list",
            json!({ "cwd": "/w", "cursor": "c" }),
            Call::List {
                cwd: Some("/w".into()),
                cursor: Some("c".into()),
            },
        );
        check("session/close", json!({ "sessionId": "s" }), Call::Close("s".into()));
        check(
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "hi" }] }),
            Call::Prompt {
                session: "s".into(),
                content: vec![Content::text("hi")],
                joins: false,
            },
        );
        check(
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [], "_meta": { "talaria/steer": true } }),
            Call::Prompt {
                session: "s".into(),
                content: Vec::new(),
                joins: true,
            },
        );
        for (meta, idle) in [
            (Value::Null, Idle::Prompts),
            (json!({ "steering": {} }), Idle::Prompts),
            (
                json!({ "steering": { "idleBehavior": "promptRequired" } }),
                Idle::GivesBack,
            ),
        ] {
            check(
                "_session/steering",
                json!({ "sessionId": "s", "prompt": [], "_meta": meta }),
                Call::Steer {
                    session: "s".into(),
                    content: Vec::new(),
                    idle,
                },
            );
        }
        check(
            "session/set_model",
            json!({ "sessionId": "s", "modelId": "a/b" }),
            Call::SetModel {
                session: "s".into(),
                option: SetOption::Model("a/b".into()),
            },
        );
        let mode = || SetOption::Mode("plan".into());
        check(
            "session/set_mode",
            json!({ "sessionId": "s", "modeId": "plan" }),
            Call::SetMode {
                session: "s".into(),
                option: mode(),
            },
        );
        check(
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "mode", "value": "plan" }),
            Call::SetOption {
                session: "s".into(),
                option: mode(),
            },
        );
        check(
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "value": "a/b" }),
            Call::SetOption {
                session: "s".into(),
                option: SetOption::Model("a/b".into()),
            },
        );
    }

    #[test]
    fn unknown_and_unadvertised_methods_are_not_served() {
        for method in [
            "session/set_title",
            "session/archive",
            "providers/list",
            "_custom",
            "",
            "Initialize",
        ] {
            refuses(method, json!({ "sessionId": "s" }), -32601, None);
        }
    }

    #[test]
    fn missing_or_null_mcp_servers_are_none() {
        for method in ["session/new", "session/load", "session/resume", "session/fork"] {
            let mut params = json!({ "sessionId": "s", "cwd": "/w", "unknown": 1, "_meta": { "a": 1 } });
            Call::read(method, params.clone()).unwrap();
            params["mcpServers"] = Value::Null;
            Call::read(method, params).unwrap();
        }
    }

    #[test]
    fn wrong_params_are_refused_by_the_fields_name() {
        refuses("authenticate", json!({}), -32602, Some("methodId"));
        refuses("session/new", json!({ "cwd": "rel" }), -32602, Some("cwd"));
        refuses("session/new", json!({ "cwd": 1 }), -32602, Some("cwd"));
        refuses("session/new", json!([]), -32602, Some("params"));
        let prompt = json!({ "cwd": "/w", "sessionId": "s", "systemPrompt": { "mode": "append", "content": [] } });
        for method in ["session/new", "session/load", "session/resume", "session/fork"] {
            refuses(method, prompt.clone(), -32602, Some("systemPrompt.content"));
        }
        refuses("session/delete", json!({}), -32602, Some("sessionId"));
        refuses("session/fork", json!({ "cwd": "/w" }), -32602, Some("sessionId"));
        refuses(
            "session/set_model",
            json!({ "sessionId": "s" }),
            -32602,
            Some("modelId"),
        );
        let steer = json!({ "sessionId": "s", "prompt": [], "_meta": { "steering": { "idleBehavior": "x" } } });
        refuses("_session/steering", steer, -32602, Some("_meta.steering.idleBehavior"));
        refuses(
            "session/new",
            json!({ "cwd": "/w", "mcpServers": [{ "name": 1 }] }),
            -32602,
            Some("mcpServers[0]"),
        );
        refuses("session/load", json!({ "cwd": "/w" }), -32602, Some("sessionId"));
        refuses("session/resume", json!({ "sessionId": "s" }), -32602, Some("cwd"));
        refuses("session/list", json!({ "cwd": "rel" }), -32602, Some("cwd"));
        refuses("session/list", json!({ "cursor": 1 }), -32602, Some("cursor"));
        refuses("session/close", json!({}), -32602, Some("sessionId"));
        refuses("session/prompt", json!({ "sessionId": "s" }), -32602, Some("prompt"));
        refuses("session/set_mode", json!({ "sessionId": "s" }), -32602, Some("modeId"));
        let option = |value: Value| json!({ "sessionId": "s", "configId": "mode", "value": value });
        refuses("session/set_config_option", option(json!(true)), -32602, Some("value"));
        refuses(
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "mode" }),
            -32602,
            Some("value"),
        );
        let unknown = json!({ "sessionId": "s", "configId": "x", "value": "y" });
        refuses("session/set_config_option", unknown, -32602, Some("configId"));
    }
}
