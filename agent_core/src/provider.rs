//! The port to a language model, and the words it speaks: requests, deltas, replies.
//!
//! A provider blocks, knows nothing of sessions, and keeps no history. No type of a library is in here.

mod room;

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cancel::Cancel;
use crate::content::Content;
use crate::event::{CallInput, Failure};

pub use room::Counted;
pub(crate) use room::{FRAME, fixed_size, tokens};

/// A language model that answers requests.
pub trait Provider: Send + Sync {
    /// What is known of the model.
    fn model(&self) -> &ModelInfo;

    /// Asks the model and blocks until its reply is complete. Each piece goes to `sink` as it comes; a `Break` from
    /// it, like a cancel, ends the call within 50 ms with [`ProviderError::Cancelled`].
    ///
    /// # Errors
    /// [`ProviderError::Failed`] when no complete reply came. What `sink` got until then stays visible.
    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError>;
}

/// A model's name: the provider's name in the configuration, and the service's name for the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The service's name for the model; may hold slashes.
    pub model: String,
}

impl ModelRef {
    /// The built-in model that needs no key and no network.
    pub fn offline() -> Self {
        Self {
            provider: "offline".into(),
            model: "offline".into(),
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// A model's name that has no provider in it.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("`{0}` is not a model's name: write provider/model, such as openai/gpt-5")]
pub struct NotAModel(pub String);

impl FromStr for ModelRef {
    type Err = NotAModel;

    fn from_str(text: &str) -> Result<Self, NotAModel> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(NotAModel(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ModelRef {
    type Error = NotAModel;

    fn try_from(text: String) -> Result<Self, NotAModel> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Its name.
    pub name: ModelRef,
    /// Where its replies come from; decides which stored items may go back to it.
    pub origin: Origin,
    /// Tokens its context holds.
    pub context_window: Option<u64>,
    /// Tokens a reply may have.
    pub max_output: Option<u64>,
    /// It takes pictures.
    pub images: bool,
    /// It calls tools.
    pub tools: bool,
    /// What it costs, where the user has said.
    pub price: Option<Price>,
}

/// What a model costs, in US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of a prompt.
    pub input: f64,
    /// Tokens of a reply, thoughts included.
    pub output: f64,
    /// Tokens of a prompt that came from a cache; as `input` where nobody said.
    #[serde(default)]
    pub cached_read: Option<f64>,
    /// Tokens of a prompt that went to a cache; as `input` where nobody said.
    #[serde(default)]
    pub cached_write: Option<f64>,
}

impl Price {
    /// What these tokens cost, in billionths of a US dollar; none where they are not known.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^52, and less than a billionth of a dollar is nothing"
    )]
    pub fn of(&self, usage: &Usage) -> Option<u64> {
        let (input, output) = (usage.input?, usage.output?);
        let read = usage.cached_read.unwrap_or(0).min(input);
        let written = usage.cached_write.unwrap_or(0).min(input - read);
        let parts = [
            (input - read - written, self.input),
            (read, self.cached_read.unwrap_or(self.input)),
            (written, self.cached_write.unwrap_or(self.input)),
            (output, self.output),
        ];
        // A dollar a million tokens is a thousand billionths a token.
        let nano: f64 = parts
            .iter()
            .map(|(tokens, dollars)| *tokens as f64 * dollars * 1000.0)
            .sum();
        Some(nano.round().max(0.0) as u64)
    }
}

/// Where a reply came from. A provider's own items go back to the same origin only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The dialect, such as `openai-chat`.
    pub api: String,
    /// The base URL; empty for a model inside this program.
    pub base_url: String,
    /// The service's name for the model.
    pub model: String,
}

impl Origin {
    /// The built-in model.
    pub fn offline() -> Self {
        Self {
            api: "offline".into(),
            base_url: String::new(),
            model: ModelRef::offline().model,
        }
    }
}

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The tools it may call, in a stable order.
    pub tools: &'a [ToolSpec],
    /// The conversation: begins with a user's message, every call has its result.
    pub messages: &'a [Message],
    /// How much the model should think; `None` leaves it to the service.
    pub thinking: Option<ThoughtLevel>,
    /// What its service counted of an earlier request of this conversation, if it has.
    pub counted: Option<Counted>,
}

/// How much a model should think before it answers. Each dialect has words of its own for it; a model that is known not
/// to think is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtLevel {
    /// As little as the service allows.
    Off,
    /// A little.
    Low,
    /// As most people want it.
    Medium,
    /// As much as it takes.
    High,
}

impl ThoughtLevel {
    /// All of them, from the least.
    pub const ALL: [Self; 4] = [Self::Off, Self::Low, Self::Medium, Self::High];

    /// Its name in the configuration and on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A word that is no thought level.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("`{0}` is not a thought level: choose off, low, medium or high")]
pub struct NotALevel(pub String);

impl FromStr for ThoughtLevel {
    type Err = NotALevel;

    fn from_str(text: &str) -> Result<Self, NotALevel> {
        let level = Self::ALL.into_iter().find(|level| level.id() == text);
        level.ok_or_else(|| NotALevel(text.to_owned()))
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name, stable.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// A JSON schema of its arguments, an object.
    pub schema: Value,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the user; never empty.
    User(Vec<Content>),
    /// From the model; text or calls are never both empty.
    Assistant {
        /// What it said.
        text: String,
        /// What it thought; of use only to dialects that take it back.
        thought: String,
        /// What it called.
        calls: Vec<Call>,
        /// The reply as its dialect stored it.
        native: Option<Native>,
    },
    /// The result of one call; follows the message that has the call.
    ToolResult {
        /// [`Call::id`] of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// What came of it.
        text: String,
        /// Pictures, for a model that sees.
        images: Vec<Content>,
        /// The call did not do what it should.
        failed: bool,
    },
}

/// A call as the model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The model's id for it; made up by the provider where the service gave none, and unique within the reply.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub input: CallInput,
}

/// A piece of a reply as it comes.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// What the model says.
    Text(String),
    /// What the model thinks.
    Thought(String),
}

/// The end of a reply. Its text and thoughts went to the sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The complete calls, in the model's order.
    pub calls: Vec<Call>,
    /// Why the model stopped.
    pub finish: Finish,
    /// Tokens.
    pub usage: Usage,
    /// The reply as its dialect stores it, if it must go back unchanged.
    pub native: Option<Native>,
    /// What the user should know of its end, such as a reason that nobody here understands; a sentence without its full
    /// stop.
    pub remark: Option<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It wants its calls run.
    ToolCalls,
    /// The reply reached its length limit.
    Length,
    /// A filter of the service cut it.
    ContentFilter,
    /// It refused.
    Refusal,
}

/// A reply as its provider's dialect stores it: opaque, kept byte for byte, never shown or searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// Where it came from.
    pub origin: Origin,
    /// The item, in whatever form its dialect chose.
    pub item: String,
}

/// Tokens. `None` means that the service did not say, which is not the same as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The whole prompt, cached tokens included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of the prompt: read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_read: Option<u64>,
    /// Of the prompt: written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_write: Option<u64>,
    /// The whole reply, thoughts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of the reply: thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// What it cost, in billionths of a US dollar, where the service says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

impl Usage {
    /// The sum of two; what neither said stays unsaid.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input: sum(self.input, other.input),
            cached_read: sum(self.cached_read, other.cached_read),
            cached_write: sum(self.cached_write, other.cached_write),
            output: sum(self.output, other.output),
            reasoning: sum(self.reasoning, other.reasoning),
            cost_nano_usd: sum(self.cost_nano_usd, other.cost_nano_usd),
        }
    }
}

/// Why a request has no reply.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ProviderError {
    /// The cancel came first.
    #[error("cancelled")]
    Cancelled,
    /// The service or the way to it failed.
    #[error("{}", .0.message)]
    Failed(Box<Failure>),
}
