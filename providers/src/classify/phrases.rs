//! What services write of each kind of failure, in small letters.

pub(super) const BILLING: &[&str] = &[
    "insufficient_quota",
    "insufficient credit",
    "insufficient balance",
    "credit balance",
    "billing_",
];
pub(super) const CONTEXT_OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "available context size",
    "exceed context limit",
    "exceeds the context",
    "context window",
    "prompt is too long",
    "input is too long",
    "input token count",
    "exceeds the maximum number of tokens",
];
/// Of a service that answers 400 to a wrong key.
pub(super) const BAD_KEY: &[&str] = &["api key not valid", "api key not found", "api key expired"];
pub(super) const OVERLOADED: &[&str] = &["overloaded", "at capacity", "over capacity"];
pub(super) const MODEL_NOT_FOUND: &[&str] = &[
    "model_not_found",
    "not a valid model",
    "unknown model",
    "not_found_error",
];
pub(super) const NOT_FOUND: &[&str] = &["not found", "does not exist", "doesn't exist"];
pub(super) const CONTENT_POLICY: &[&str] = &[
    "content_policy",
    "content_filter",
    "content management policy",
    "moderation",
];
pub(super) const REJECTED: &[&str] = &[
    "support",
    "invalid",
    "could not process",
    "unable to process",
    "too large",
    "exceed",
];
pub(super) const RATE_LIMIT: &[&str] = &["rate limit", "rate_limit", "too many requests", "resource_exhausted"];
pub(super) const AUTH: &[&str] = &[
    "api key",
    "api_key",
    "unauthorized",
    "authentication",
    "permission_error",
    "unauthenticated",
    "permission_denied",
];
