//! How a model is told to think: with a budget of tokens, or, if it is newer, with a word for the effort.

use agent_core::provider::ThoughtLevel;
use serde::Serialize;

use super::block::Block;
use super::turn::{Role, Turn};

/// The smallest budget that the service takes, and what an answer needs beside the thoughts.
pub(super) const LEAST: u64 = 1024;

/// The first version of a model that decides itself how much it thinks; those after it refuse a budget.
const ADAPTIVE_SINCE: (u32, u32) = (4, 6);

/// The field that turns thinking on.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u64 },
    // The thoughts of newer models are left out of the reply unless they are asked for.
    Adaptive { display: &'static str },
}

/// The effort of a model that decides itself.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Effort {
    effort: &'static str,
}

/// Tokens for thoughts.
pub(super) fn budget(level: ThoughtLevel) -> u64 {
    match level {
        ThoughtLevel::Off => 0,
        ThoughtLevel::Low => 2048,
        ThoughtLevel::Medium => 8192,
        ThoughtLevel::High => 16_384,
    }
}

/// The fields that ask `model` to think within `max_tokens`.
pub(super) fn fields(
    level: ThoughtLevel,
    model: &str,
    max_tokens: u64,
    turns: &[Turn<'_>],
) -> (Option<Thinking>, Option<Effort>) {
    let effort = match level {
        ThoughtLevel::Off => return (None, None),
        ThoughtLevel::Low => "low",
        ThoughtLevel::Medium => "medium",
        ThoughtLevel::High => "high",
    };
    if is_adaptive(model) {
        let thinking = Thinking::Adaptive { display: "summarized" };
        return (Some(thinking), Some(Effort { effort }));
    }
    let budget_tokens = budget(level).min(max_tokens.saturating_sub(LEAST));
    let fits = budget_tokens >= LEAST && may_begin(turns);
    (fits.then_some(Thinking::Enabled { budget_tokens }), None)
}

/// Whether the service lets a model think with a budget here. Within a turn, which goes on over the results of tools,
/// it must have thought from the first: a turn that another model began, or this one without thoughts, is refused.
fn may_begin(turns: &[Turn<'_>]) -> bool {
    let asked = turns
        .iter()
        .rposition(|turn| turn.role == Role::User && !turn.has_results());
    let since = &turns[asked.unwrap_or(0)..];
    let reply = since.iter().find(|turn| turn.role == Role::Assistant);
    reply.is_none_or(|reply| reply.content.first().is_some_and(Block::is_thought))
}

/// Whether a model decides itself how much it thinks. Its name says so: `claude-opus-4-6`, also with a vendor before it.
fn is_adaptive(model: &str) -> bool {
    let Some((_, name)) = model.split_once("claude-") else {
        return false;
    };
    let (family, version) = name.split_once('-').unwrap_or((name, ""));
    let mut numbers = version.split(['-', '.']).map_while(short_number);
    match numbers.next() {
        // In older names the number came before the family.
        _ if family.starts_with(|letter: char| letter.is_ascii_digit()) => false,
        Some(major) => (major, numbers.next().unwrap_or(0)) >= ADAPTIVE_SINCE,
        None => family == "mythos",
    }
}

/// A number of a version; a date is none.
fn short_number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.len() <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_how_a_model_is_told_to_think() {
        for (model, expect) in [
            ("claude-3-7-sonnet-20250219", false),
            ("claude-2.1", false),
            ("claude-sonnet-4-20250514", false),
            ("claude-sonnet-4-5-20250929", false),
            ("claude-haiku-4-5", false),
            ("claude-opus-4-6", true),
            ("anthropic/claude-opus-4.7", true),
            ("anthropic.claude-sonnet-4-6-v1", true),
            ("claude-sonnet-5", true),
            ("claude-opus-5-20260801", true),
            ("claude-opus-10-1", true),
            ("claude-mythos-preview", true),
            ("claude-instant", false),
            ("glm-4.6", false),
            ("m", false),
        ] {
            assert_eq!(is_adaptive(model), expect, "{model}");
        }
    }
}
