//! Steering: what the user says to a running turn. Version 1 of the protocol has no word for it. Editors know the method
//! `_session/steering` of other agents' adapters, advertised by `_meta.steering` of the greeting; a prompt can also ask
//! for it by a key of our own in its `_meta`.

use agent_client_protocol_schema::v1::{Error, Meta};
use serde_json::{Value, json};

use super::fault;

/// The method.
pub(crate) const METHOD: &str = "_session/steering";

/// The key of the greeting's `_meta` that advertises it, and of the method's own `_meta`.
const STEERING: &str = "steering";

/// The key of a prompt's `_meta` that makes it join a running turn.
const JOINS: &str = "talaria/steer";

/// What is to be done where no turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// A turn begins, for which no request waits.
    Prompts,
    /// Nothing: the client prompts itself.
    GivesBack,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It joins the running turn.
    Injected,
    /// It has begun a turn of its own.
    Started,
    /// Nothing was done.
    PromptRequired,
}

/// What the greeting says of it.
pub(crate) fn advertised() -> Meta {
    let steering = json!({ "supported": true, "idlePromptRequired": true });
    Meta::from_iter([(STEERING.to_owned(), steering)])
}

/// Whether a prompt is to join a running turn.
pub(crate) fn joins(meta: Option<&Meta>) -> bool {
    meta.and_then(|meta| meta.get(JOINS)) == Some(&Value::Bool(true))
}

/// What the client wants where no turn runs.
pub(crate) fn idle(meta: Option<&Meta>) -> Result<Idle, Error> {
    let steering = meta.and_then(|meta| meta.get(STEERING));
    match steering.and_then(|steering| steering.get("idleBehavior")) {
        None => Ok(Idle::Prompts),
        Some(behavior) if behavior == "promptRequired" => Ok(Idle::GivesBack),
        Some(_) => Err(fault::invalid_field(
            "_meta.steering.idleBehavior",
            "expected `promptRequired`, or nothing",
        )),
    }
}

impl Outcome {
    /// The answer to the method.
    pub(crate) fn answer(self) -> Value {
        match self {
            Self::Injected => json!({ "outcome": "injected" }),
            Self::Started => json!({ "outcome": "startedNewTurn" }),
            Self::PromptRequired => json!({ "outcome": "promptRequired", "reason": "noRunningTurn" }),
        }
    }
}
