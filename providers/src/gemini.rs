//! Gemini, as Google's own interface speaks it.
//!
//! `request` and `kept` are what goes out, `chunk` and `fold` what comes in, `list` is the list of models.

mod chunk;
mod fold;
mod kept;
mod list;
mod request;

use agent_core::provider::{ModelInfo, Request};
use reqwest::header::HeaderName;

use crate::dialect::{Address, Codec, Draft};
use crate::models::ListedModel;
use crate::trouble::Trouble;
use fold::Fold;

/// The dialect.
pub(crate) struct Gemini;

impl Codec for Gemini {
    fn title(&self) -> &'static str {
        "Gemini"
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-goog-api-key"), key.to_owned())
    }

    fn address(&self, model: &str) -> Address {
        Address {
            query: Some("alt=sse"),
            ..Address::of(["models", &format!("{}:streamGenerateContent", bare(model))])
        }
    }

    fn body(&self, request: &Request<'_>, model: &ModelInfo, _host: &str) -> String {
        request::body(request, model)
    }

    fn draft(&self) -> Box<dyn Draft> {
        Box::<Fold>::default()
    }

    fn list_address(&self) -> Address {
        Address {
            query: Some("pageSize=1000"),
            ..Address::of(["models"])
        }
    }

    fn listed(&self, body: &str) -> Result<Vec<ListedModel>, Trouble> {
        list::listed(body)
    }
}

/// A model's name without the folder that the service lists it in.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}
