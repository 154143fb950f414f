//! OpenAI Responses. Nothing is stored at the service: each request holds the whole conversation.
//!
//! `request` and `kept` are what goes out, `event`, `items` and `fold` what comes in.

mod event;
mod fold;
mod items;
mod kept;
mod request;

use agent_core::provider::{ModelInfo, Request};
use reqwest::header::{AUTHORIZATION, HeaderName};

use crate::dialect::{Address, Codec, Draft};
use crate::models::{ListedModel, data_list};
use crate::trouble::Trouble;
use fold::Fold;

/// The dialect.
pub(crate) struct Responses;

impl Codec for Responses {
    fn title(&self) -> &'static str {
        "OpenAI Responses"
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {key}"))
    }

    fn address(&self, _model: &str) -> Address {
        Address::of(["responses"])
    }

    fn body(&self, request: &Request<'_>, model: &ModelInfo, _host: &str) -> String {
        request::body(request, model)
    }

    fn draft(&self) -> Box<dyn Draft> {
        Box::<Fold>::default()
    }

    fn listed(&self, body: &str) -> Result<Vec<ListedModel>, Trouble> {
        data_list(body)
    }
}
