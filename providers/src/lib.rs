//! Language models behind real services: [`agent_core::provider::Provider`] over HTTP.
//!
//! Async inside, blocking outside: no type of the HTTP library and no future is in a public signature. A provider
//! tries once; what is tried again, and when, is the core's decision.
//!
//! Reading order: [`Service`] (where a model is), [`OpenAiChat`] (the dialect), then inward: `request` and `kept`
//! (what goes out), `client` and `sse` (bytes), `chunk`, `fold`, `calls` and `mask` (what comes in), `trouble`, `classify` and
//! `retry_after` (what went wrong).

mod calls;
mod chunk;
mod classify;
mod client;
mod fold;
mod kept;
mod mask;
mod models;
mod openai_chat;
mod request;
mod retry_after;
mod service;
mod sse;
mod trouble;
mod waiting;

pub use models::list_models;
pub use openai_chat::OpenAiChat;
pub use service::{Service, ServiceError};
