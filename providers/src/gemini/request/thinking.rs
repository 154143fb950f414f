//! How much a model should think, in the words of its generation.

use agent_core::provider::ThoughtLevel;
use serde::Serialize;

/// What the service is told.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thinking {
    include_thoughts: bool,
    /// In tokens, of models before the third generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

/// Says a level to a model.
pub(super) fn thinking(level: ThoughtLevel, model: &str) -> Thinking {
    let budget = (!has_levels(model)).then(|| budget(level, model));
    Thinking {
        // Thoughts of a model that does not think are refused.
        include_thoughts: budget != Some(0),
        thinking_budget: budget,
        thinking_level: budget.is_none().then(|| word(level)),
    }
}

/// Whether a model takes levels. A name that does not tell its generation gets a budget, which all understand.
pub(super) fn has_levels(model: &str) -> bool {
    let rest = model.strip_prefix("gemini-").unwrap_or_default();
    let generation = rest.split(['.', '-']).next().unwrap_or_default();
    generation.parse::<u32>().is_ok_and(|generation| generation >= 3)
}

fn word(level: ThoughtLevel) -> &'static str {
    match level {
        // There is a lower word, which only some models know.
        ThoughtLevel::Off | ThoughtLevel::Low => "low",
        ThoughtLevel::Medium => "medium",
        ThoughtLevel::High => "high",
    }
}

fn budget(level: ThoughtLevel, model: &str) -> u32 {
    match level {
        ThoughtLevel::Off if model.contains("-pro") => 128,
        ThoughtLevel::Off => 0,
        ThoughtLevel::Low => 1024,
        ThoughtLevel::Medium => 8192,
        ThoughtLevel::High => 24_576,
    }
}
