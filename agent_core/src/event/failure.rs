//! Why a turn failed, in a form that a surface can act on.

use serde::{Deserialize, Serialize};

/// What went wrong with a turn, for a person and for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What sort of thing went wrong.
    pub class: ErrorClass,
    /// One sentence: what was tried, why it failed, what to do next.
    pub message: String,
    /// The provider's name in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// When a further try makes sense, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure without a service behind it.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            provider: None,
            status: None,
            retry_after_ms: None,
        }
    }
}

/// What sort of thing went wrong; decides what may be tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The account has no credit.
    Billing,
    /// Too many requests.
    RateLimit,
    /// The service is overloaded.
    Overloaded,
    /// The service failed.
    Server,
    /// Nothing came for too long.
    Timeout,
    /// The service could not be reached.
    Network,
    /// The service's certificate was not accepted.
    Tls,
    /// The request does not fit the model's context.
    ContextOverflow,
    /// The request is larger than the service takes.
    PayloadTooLarge,
    /// The service does not take this picture.
    ImageRejected,
    /// The service does not have this model.
    ModelNotFound,
    /// The service's policy forbids the request.
    ContentPolicy,
    /// The service did not understand the request.
    BadRequest,
    /// The service broke its own format.
    Protocol,
    /// The configuration is wrong.
    Config,
    /// Another process works in the session.
    Held,
    /// A fault of ours.
    Internal,
}
