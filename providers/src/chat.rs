//! OpenAI Chat Completions, and the many servers that speak it.
//!
//! `request` and `kept` are what goes out, `chunk`, `calls` and `fold` what comes in.

mod calls;
mod chunk;
mod fold;
mod kept;
mod request;

use agent_core::provider::{ModelInfo, Request};
use reqwest::header::{AUTHORIZATION, HeaderName};

use crate::dialect::{Address, Codec, Draft};
use crate::models::{ListedModel, data_list};
use crate::trouble::Trouble;
use fold::Fold;

/// The dialect.
pub(crate) struct Chat;

impl Codec for Chat {
    fn title(&self) -> &'static str {
        "Chat Completions"
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {key}"))
    }

    fn address(&self, _model: &str) -> Address {
        Address::of(["chat", "completions"])
    }

    fn body(&self, request: &Request<'_>, model: &ModelInfo, host: &str) -> String {
        request::body(request, model, host)
    }

    fn draft(&self) -> Box<dyn Draft> {
        Box::<Fold>::default()
    }

    fn listed(&self, body: &str) -> Result<Vec<ListedModel>, Trouble> {
        data_list(body)
    }
}
