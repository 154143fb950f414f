//! What a step took and cost, where its service says.

use agent_core::provider::Usage;

/// Dollars in billionths; none where that makes no sense.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, and less than a billionth is nothing"
)]
pub(crate) fn nano_usd(dollars: f64) -> Option<u64> {
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}

/// More tokens than any reply or prompt has.
const BEYOND_BELIEF: u64 = 1_000_000_000_000;

/// The counts that can be true; others are as if the service had not said.
pub(crate) fn plausible(usage: Usage) -> Usage {
    let count = |count: Option<u64>| count.filter(|count| *count < BEYOND_BELIEF);
    Usage {
        input: count(usage.input),
        cached_read: count(usage.cached_read),
        cached_write: count(usage.cached_write),
        output: count(usage.output),
        reasoning: count(usage.reasoning),
        cost_nano_usd: usage.cost_nano_usd,
    }
}
