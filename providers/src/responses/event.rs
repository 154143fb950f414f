//! The events of a streamed reply as services send them: every field may be missing or null. What they add up to is
//! `fold`'s business.

use agent_core::provider::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::classify::is_error;
use crate::cost::nano_usd;
use crate::json::number;

/// What every event has.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub r#type: Option<String>,
    pub error: Option<Value>,
    /// `error` where a server's error is the whole event.
    pub object: Option<Value>,
    /// What an event without a type says.
    pub message: Option<Value>,
    /// The same in other words.
    pub detail: Option<Value>,
}

impl Head {
    /// Whether the event tells of an error.
    pub(super) fn is_error(&self) -> bool {
        let says = |field: &Option<Value>| field.as_ref().is_some_and(Value::is_string);
        self.r#type.as_deref() == Some("error")
            || self.error.as_ref().is_some_and(is_error)
            || self.object.as_ref().is_some_and(|object| object == "error")
            || self.r#type.is_none() && (says(&self.message) || says(&self.detail))
    }
}

/// A piece of an item.
#[derive(Debug, Deserialize)]
pub(super) struct Piece {
    #[serde(default, deserialize_with = "number")]
    pub output_index: Option<u64>,
    pub item_id: Option<String>,
    /// Which paragraph of a summary.
    #[serde(default, deserialize_with = "number")]
    pub summary_index: Option<u64>,
    pub delta: Option<String>,
    /// The whole text, at its end.
    pub text: Option<String>,
    /// The whole arguments, at their end.
    pub arguments: Option<Value>,
}

/// The beginning or the end of an item.
#[derive(Debug, Deserialize)]
pub(super) struct ItemEvent {
    #[serde(default, deserialize_with = "number")]
    pub output_index: Option<u64>,
    pub item: Box<RawValue>,
}

/// The end of a reply.
#[derive(Debug, Deserialize)]
pub(super) struct EndEvent {
    pub response: Response,
}

/// A whole reply.
#[derive(Debug, Deserialize)]
pub(super) struct Response {
    pub status: Option<String>,
    pub incomplete_details: Option<Incomplete>,
    pub error: Option<Value>,
    /// Its items; often left empty at the end of a stream.
    pub output: Option<Vec<Box<RawValue>>>,
    /// A [`Tokens`], unless a service counts in a way of its own.
    pub usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incomplete {
    pub reason: Option<String>,
}

/// One item of a reply.
#[derive(Debug, Deserialize)]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub kind: Kind,
    pub id: Option<String>,
    /// Whether a message is the answer or only on the way to it; newer models want to hear it again.
    pub phase: Option<String>,
    pub call_id: Option<String>,
    pub name: Option<String>,
    pub arguments: Option<Value>,
    pub content: Option<Vec<Part>>,
    pub summary: Option<Vec<Part>>,
    pub encrypted_content: Option<String>,
}

/// The items that matter.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Message,
    Reasoning,
    FunctionCall,
}

/// A part of an item's text.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

/// Tokens as services count them.
#[derive(Debug, Deserialize)]
pub(super) struct Tokens {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputTokens>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputTokens>,
    /// US dollars, of `OpenRouter`.
    cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
struct InputTokens {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputTokens {
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input_tokens,
            cached_read: tokens.input_tokens_details.unwrap_or_default().cached_tokens,
            cached_write: None,
            output: tokens.output_tokens,
            reasoning: tokens.output_tokens_details.unwrap_or_default().reasoning_tokens,
            cost_nano_usd: tokens.cost.and_then(nano_usd),
        }
    }
}

impl Item {
    /// Reads an item; none for one of a kind that nobody asked for.
    pub(super) fn of(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// What a message says, refusals included.
    pub(super) fn text(&self) -> String {
        let said = |part: &Part| part.text.clone().or(part.refusal.clone());
        self.content.iter().flatten().filter_map(said).collect()
    }

    /// Whether a message refuses.
    pub(super) fn refuses(&self) -> bool {
        let refuses = |part: &Part| part.refusal.as_ref().is_some_and(|refusal| !refusal.is_empty());
        self.content.iter().flatten().any(refuses)
    }

    /// What was thought: the summary, or the thoughts themselves where a service shows them.
    pub(super) fn thought(&self) -> String {
        let texts = |parts: &Option<Vec<Part>>| {
            let texts = parts.iter().flatten().filter_map(|part| part.text.as_deref());
            texts.collect::<Vec<_>>().join(PARAGRAPH)
        };
        let summary = texts(&self.summary);
        if summary.is_empty() {
            texts(&self.content)
        } else {
            summary
        }
    }

    /// Whether it is worth sending back: an item that is only an id is known nowhere, as nothing is stored.
    pub(super) fn has_substance(&self) -> bool {
        let is_encrypted = self.encrypted_content.as_ref().is_some_and(|text| !text.is_empty());
        is_encrypted || self.content.as_ref().is_some_and(|parts| !parts.is_empty())
    }
}

/// What stands between two paragraphs of a summary.
pub(super) const PARAGRAPH: &str = "\n\n";
