//! The ways that services speak. What differs between them is where a request goes, how it is written, and what its
//! reply is made of; everything else is common to all.

use std::ops::ControlFlow;

use agent_core::provider::{Delta, ModelInfo, Origin, Reply, Request};
use reqwest::header::HeaderName;

use crate::anthropic::Messages;
use crate::chat::Chat;
use crate::gemini::Gemini;
use crate::models::ListedModel;
use crate::responses::Responses;
use crate::trouble::{Stop, Trouble};

/// A way to speak with models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Chat Completions, and the many servers that speak it.
    #[default]
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

impl Dialect {
    /// Its name in the configuration, and in what is stored of a reply.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// What writes and reads it.
    pub(crate) fn codec(self) -> &'static dyn Codec {
        match self {
            Self::OpenaiChat => &Chat,
            Self::OpenaiResponses => &Responses,
            Self::Anthropic => &Messages,
            Self::Gemini => &Gemini,
        }
    }
}

/// What writes requests of a dialect and reads its replies.
pub(crate) trait Codec: Send + Sync {
    /// Its name for people.
    fn title(&self) -> &'static str;

    /// The header that carries a key, and its value.
    fn key_header(&self, key: &str) -> (HeaderName, String);

    /// Headers of each request beside that one.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Where a model is asked.
    fn address(&self, model: &str) -> Address;

    /// A request to `model` at `host` as JSON. The same conversation gives the same bytes, and a longer one begins with
    /// them, so that the service's cache of prompts can work.
    fn body(&self, request: &Request<'_>, model: &ModelInfo, host: &str) -> String;

    /// A reply of which nothing has come yet.
    fn draft(&self) -> Box<dyn Draft>;

    /// Where the service lists its models.
    fn list_address(&self) -> Address {
        Address::of(["models"])
    }

    /// The models in such a list, in its order.
    fn listed(&self, body: &str) -> Result<Vec<ListedModel>, Trouble>;
}

/// Below a service's base URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address {
    /// Segments of the path, as they are before they are escaped.
    pub path: Vec<String>,
    /// What follows the question mark.
    pub query: Option<&'static str>,
}

impl Address {
    /// An address without a query.
    pub(crate) fn of<const N: usize>(path: [&str; N]) -> Self {
        Self {
            path: path.map(str::to_owned).into(),
            query: None,
        }
    }
}

/// Where the pieces of text go as they come.
pub(crate) type Sink<'a> = dyn FnMut(Delta) -> ControlFlow<()> + 'a;

/// A reply so far.
pub(crate) trait Draft: Send {
    /// Adds the data of one event. A `Break` says that nothing follows.
    fn add(&mut self, data: &str, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, Stop>;

    /// Adds the whole reply of a service that doesn't stream, or takes the error that stands in its place.
    fn add_whole(&mut self, body: &str, sink: &mut Sink<'_>) -> Result<(), Stop>;

    /// Whether the service has said why it stopped. Only counts, or the dialect's own end, may still come.
    fn has_reason(&self) -> bool;

    /// Ends the reply. Without the dialect's own end it is [`Trouble::EndedEarly`].
    fn end(self: Box<Self>, origin: &Origin) -> Result<Reply, Trouble>;
}

/// Passes a piece on; an empty one is none.
pub(crate) fn send(delta: Delta, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (Delta::Text(text) | Delta::Thought(text)) = &delta;
    if !text.is_empty() && sink(delta).is_break() {
        return Err(Stop::Cancelled);
    }
    Ok(())
}
