//! The events of a streamed reply as the service sends them. What they add up to is `fold`'s business.

use agent_core::provider::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json::number;

/// One event of the stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Whole,
    },
    ContentBlockStart {
        #[serde(default, deserialize_with = "number")]
        index: Option<u64>,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        #[serde(default, deserialize_with = "number")]
        index: Option<u64>,
        delta: Piece,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<Value>,
    },
    MessageStop,
    /// What went wrong, after the status had said that all is well.
    Error {
        error: Value,
    },
    /// `ping`, the end of a block, and whatever is invented next.
    #[serde(other)]
    Other,
}

/// A message: its frame at the start of a stream, or all of it from a service that doesn't stream.
#[derive(Debug, Deserialize)]
pub(super) struct Whole {
    pub content: Option<Vec<Map<String, Value>>>,
    pub stop_reason: Option<String>,
    /// [`Tokens`], unless a service counts in a way of its own.
    pub usage: Option<Value>,
}

/// Why the message ends.
#[derive(Debug, Deserialize)]
pub(super) struct Ending {
    pub stop_reason: Option<String>,
}

/// A piece of a block.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    /// Citations, and whatever is invented next.
    #[serde(other)]
    Other,
}

/// Tokens as the service counts them: what it read from its cache or wrote there is not part of the input.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Tokens {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Tokens {
    /// Takes over what a later count says; each is of the whole reply so far, not of a piece.
    pub(super) fn update(&mut self, later: Self) {
        *self = Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            cache_creation_input_tokens: later.cache_creation_input_tokens.or(self.cache_creation_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
        };
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = [tokens.cache_read_input_tokens, tokens.cache_creation_input_tokens];
        let whole = |input| cached.into_iter().flatten().fold(input, u64::saturating_add);
        Self {
            input: tokens.input_tokens.map(whole),
            cached_read: tokens.cache_read_input_tokens,
            cached_write: tokens.cache_creation_input_tokens,
            output: tokens.output_tokens,
            ..Self::default()
        }
    }
}
