//! Language models behind real services: [`agent_core::provider::Provider`] over HTTP.
//!
//! Async inside, blocking outside: no type of the HTTP library and no future is in a public signature. A provider
//! tries once; what is tried again, and when, is the core's decision.
//!
//! Reading order: [`Service`] (where a model is), [`RemoteModel`] (asks it), `dialect` (what differs between services)
//! and one module for each dialect: `chat`, `responses`, `anthropic` and `gemini`. Then inward: `client`, `kind`, `sse`,
//! `json`, `mask` and `forms` (bytes), `content`, `pictures` and `room` (what requests have in common), `call`, `cost`,
//! `ending`, `layout` and `native` (what replies have), `trouble`, `classify` and `retry_after` (what went wrong).

mod anthropic;
mod call;
mod chat;
mod classify;
mod client;
mod content;
mod cost;
mod dialect;
mod effort;
mod ending;
mod forms;
mod gemini;
mod json;
mod kind;
mod layout;
mod mask;
mod models;
mod names;
mod native;
mod pictures;
mod remote;
mod responses;
mod retry_after;
mod service;
mod sse;
#[cfg(test)]
mod testing;
mod trouble;
mod waiting;

pub use dialect::Dialect;
pub use models::{LIST_PATIENCE, ListedModel, list_models};
pub use remote::RemoteModel;
pub use service::{Service, ServiceError, header_fault, holds_secret, host};
