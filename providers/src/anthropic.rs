//! Anthropic Messages.
//!
//! `request` is what goes out, `event`, `block` and `fold` what comes in, and `kept` what comes in and goes out again.

mod block;
mod event;
mod fold;
mod kept;
mod request;

use agent_core::provider::{ModelInfo, Request};
use reqwest::header::HeaderName;

use crate::dialect::{Address, Codec, Draft};
use crate::models::{ListedModel, data_list};
use crate::trouble::Trouble;
use fold::Fold;

/// The dialect.
pub(crate) struct Messages;

impl Codec for Messages {
    fn title(&self) -> &'static str {
        "Anthropic Messages"
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-api-key"), key.to_owned())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn address(&self, _model: &str) -> Address {
        Address::of(["messages"])
    }

    fn body(&self, request: &Request<'_>, model: &ModelInfo, _host: &str) -> String {
        request::body(request, model)
    }

    fn draft(&self) -> Box<dyn Draft> {
        Box::<Fold>::default()
    }

    fn list_address(&self) -> Address {
        // Without a limit the list is a page of twenty.
        Address {
            query: Some("limit=1000"),
            ..Address::of(["models"])
        }
    }

    fn listed(&self, body: &str) -> Result<Vec<ListedModel>, Trouble> {
        data_list(body)
    }
}
