//! The pieces of a streamed reply as Gemini sends them: every field may be missing or null. What they add up to is
//! `fold`'s business.

use agent_core::provider::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One event of the stream, or a whole reply.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk {
    pub candidates: Option<Vec<Candidate>>,
    pub prompt_feedback: Option<Feedback>,
    /// A [`Tokens`], unless a gateway counts in a way of its own.
    pub usage_metadata: Option<Value>,
    pub error: Option<Value>,
}

/// One of the answers; there is only one, as nobody asks for more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    pub content: Option<Content>,
    pub finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Content {
    pub parts: Option<Vec<Part>>,
}

/// A piece of a text or a thought, or a whole call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    pub text: Option<String>,
    pub thought: Option<bool>,
    pub function_call: Option<FunctionCall>,
    /// What the model needs to go on thinking where it stopped.
    pub thought_signature: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall {
    /// Only newer models give one.
    pub id: Option<String>,
    pub name: Option<String>,
    pub args: Option<Box<RawValue>>,
}

/// What the service thinks of the prompt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    pub block_reason: Option<String>,
}

/// Tokens so far.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let said = Self {
            output: tokens.candidates_token_count,
            ..Self::default()
        };
        let thought = Self {
            output: tokens.thoughts_token_count,
            ..Self::default()
        };
        Self {
            input: tokens.prompt_token_count,
            cached_read: tokens.cached_content_token_count,
            reasoning: tokens.thoughts_token_count,
            ..said.plus(thought)
        }
    }
}
