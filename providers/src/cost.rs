//! What a step cost, where its service says.

/// Dollars in billionths; none where that makes no sense.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, and less than a billionth is nothing"
)]
pub(crate) fn nano_usd(dollars: f64) -> Option<u64> {
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}
