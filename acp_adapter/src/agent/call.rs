//! A request as the call into the core that it asks for.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, CloseSessionRequest, DeleteSessionRequest, Error, ListSessionsRequest, LogoutRequest,
    PromptRequest, SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_core::content::{Content, is_blank};
use agent_core::id::SessionId;
use agent_core::prompt::Instructions;
use agent_core::runtime::{Folders, SetOption};
use serde::Deserialize;
use serde_json::Value;

use super::handshake::Client;
use super::steering::Idle;
use super::to_acp::view::{MODE, MODEL, THOUGHT, THOUGHT_DEFAULT};
use super::{fault, from_acp, params, steering};

mod opening;

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
            "session/new" => opening::new(params),
            "session/load" => opening::open(params, true),
            "session/resume" => opening::open(params, false),
            "session/list" => list(params),
            "session/close" => {
                params::read(params).map(|request: CloseSessionRequest| Self::Close(session(&request.session_id)))
            }
            "session/delete" => {
                params::read(params).map(|request: DeleteSessionRequest| Self::Delete(session(&request.session_id)))
            }
            "session/fork" => opening::fork(params),
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
    let idle = steering::idle(request.meta.as_ref())?;
    let content = from_acp::prompt(request.prompt)?;
    if is_blank(&content) {
        return Err(fault::invalid_field(
            "prompt",
            "is empty, and there is nothing to say to the running turn",
        ));
    }
    Ok(Call::Steer {
        session: session(&request.session_id),
        idle,
        content,
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
mod tests;
