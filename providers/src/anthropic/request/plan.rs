//! How long a reply may be, and how much of it thoughts. The service wants to be told the length, and refuses what its
//! context can't hold.

use agent_core::provider::{ModelInfo, Request, ThoughtLevel};
use serde::Serialize;

use super::thinking::{self, Effort, Thinking};
use super::turn::Turn;

/// Tokens of an answer, where nobody has said what the model can.
const ANSWER: u64 = 8192;

/// The fields that say it.
#[derive(Serialize)]
pub(super) struct Plan {
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Effort>,
}

/// Plans the reply to a request. Thoughts count into its length, so they make it longer where nobody has set that.
pub(super) fn plan(request: &Request<'_>, model: &ModelInfo, turns: &[Turn<'_>]) -> Plan {
    let level = request.thinking.unwrap_or(ThoughtLevel::Off);
    let most = model.max_output.unwrap_or(ANSWER + thinking::budget(level));
    let room = request.room(model).unwrap_or(most);
    // None at all is refused.
    let max_tokens = most.min(room).max(1);
    let (thinking, output_config) = thinking::fields(level, &model.origin.model, max_tokens, turns);
    Plan {
        max_tokens,
        thinking,
        output_config,
    }
}
