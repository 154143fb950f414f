//! The pieces of a streamed reply as services send them: every field may be missing or null. What they add up to is
//! `fold`'s business.

use agent_core::provider::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::call::arguments_text;
use crate::classify::{Said, is_error};
use crate::cost::nano_usd;
use crate::json::number;
use crate::native::weight;

/// One event of the stream, or a whole reply of a service that doesn't stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Chunk {
    pub choices: Option<Vec<Choice>>,
    /// A [`Tokens`], unless a service counts in a way of its own.
    pub usage: Option<Value>,
    /// What went wrong, after the status had said that all is well: an object or a text.
    pub error: Option<Value>,
    /// `error` where a server's error is the whole event.
    pub object: Option<Value>,
    /// What such an event says.
    pub message: Option<Value>,
    /// The same in other words.
    pub detail: Option<Value>,
    /// Which error it is.
    pub code: Option<Value>,
    /// The same in other words.
    #[serde(rename = "type")]
    pub kind: Option<Value>,
}

/// One of the answers; there is only one, as nobody asks for more.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Choice {
    /// Which of the answers it is.
    #[serde(default, deserialize_with = "number")]
    pub index: Option<u64>,
    pub delta: Option<Piece>,
    /// The whole message of a service that doesn't stream.
    pub message: Option<Piece>,
    pub finish_reason: Option<String>,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Piece {
    pub content: Option<Value>,
    pub refusal: Option<String>,
    pub reasoning_content: Option<String>,
    pub reasoning: Option<String>,
    pub reasoning_details: Option<Vec<Value>>,
    pub tool_calls: Option<Vec<CallPiece>>,
}

/// A piece of a call.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CallPiece {
    pub id: Option<String>,
    #[serde(default, deserialize_with = "number")]
    pub index: Option<u64>,
    pub function: Option<FunctionPiece>,
    /// A provider's own item, such as Gemini's signature of a thought; goes back unchanged.
    pub extra_content: Option<Value>,
}

/// A piece of a call's function.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FunctionPiece {
    name: Option<String>,
    /// A text, or an object of services that know no better.
    arguments: Option<Value>,
}

/// Tokens as services count them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptTokens>,
    completion_tokens_details: Option<CompletionTokens>,
    prompt_cache_hit_tokens: Option<u64>,
    /// US dollars, of `OpenRouter`.
    cost: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct CompletionTokens {
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let prompt = tokens.prompt_tokens_details.unwrap_or_default();
        Self {
            input: tokens.prompt_tokens,
            cached_read: prompt.cached_tokens.or(tokens.prompt_cache_hit_tokens),
            cached_write: prompt.cache_write_tokens,
            output: tokens.completion_tokens,
            reasoning: tokens.completion_tokens_details.unwrap_or_default().reasoning_tokens,
            cost_nano_usd: tokens.cost.and_then(nano_usd),
        }
    }
}

impl Chunk {
    /// The error that it tells of; none where it tells of none.
    pub(crate) fn failure(&self) -> Option<Said> {
        if let Some(error) = self.error.as_ref().filter(|error| is_error(error)) {
            return Some(Said::in_json(error));
        }
        let says = |field: &Option<Value>| field.as_ref().is_some_and(Value::is_string);
        let is_named = self.object.as_ref().is_some_and(|object| object == "error");
        // An event of another kind may have words too.
        let is_bare = self.choices.is_none() && self.usage.is_none() && self.kind.is_none();
        let is_bare = is_bare && (says(&self.message) || says(&self.detail));
        (is_named || is_bare).then(|| {
            Said::in_json(
                &json!({"message": self.message, "detail": self.detail, "code": self.code, "type": self.kind}),
            )
        })
    }
}

impl Piece {
    /// Roughly the bytes of what must go back unchanged.
    pub(crate) fn kept_weight(&self) -> usize {
        let texts = [&self.reasoning_content, &self.reasoning];
        let texts = texts.into_iter().flatten().map(String::len);
        let details = self.reasoning_details.iter().flatten().map(weight);
        let calls = self.tool_calls.iter().flatten();
        let extras = calls.filter_map(|call| call.extra_content.as_ref()).map(weight);
        texts.chain(details).chain(extras).sum()
    }

    /// What the piece says: a text, or the text parts of a list.
    pub(crate) fn text(&self) -> String {
        match &self.content {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => String::new(),
        }
    }

    /// What the piece thinks. Gateways send the same thought in up to three fields; one of them is enough.
    pub(crate) fn thought(&self) -> String {
        let told = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        told(&self.reasoning_content)
            .or_else(|| told(&self.reasoning))
            .unwrap_or_else(|| {
                self.reasoning_details
                    .iter()
                    .flatten()
                    .filter_map(detail_text)
                    .collect()
            })
    }
}

/// The text of a reasoning item, where it isn't encrypted.
fn detail_text(detail: &Value) -> Option<&str> {
    detail["text"].as_str().or_else(|| detail["summary"].as_str())
}

impl CallPiece {
    /// The tool's name, empty where the piece has none.
    pub(crate) fn name(&self) -> &str {
        let name = self.function.as_ref().and_then(|function| function.name.as_deref());
        name.unwrap_or_default()
    }

    /// The piece of the arguments' text.
    pub(crate) fn arguments(&self) -> String {
        arguments_text(self.function.as_ref().and_then(|function| function.arguments.as_ref()))
    }
}

/// Whether a text is a whole JSON object. Nothing of it is kept, however large it is.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
