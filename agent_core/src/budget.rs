//! What a turn costs, and what it may cost.

use crate::event::{Event, Severity};
use crate::provider::{ModelInfo, Usage};
use crate::turn::Turn;

/// What is noted of a turn's costs beside their sum.
pub(crate) struct Spending {
    /// What its last step cost; nothing before the first.
    pub(crate) last: Option<u64>,
    /// The user knows that the budget can't be kept.
    told_no_price: bool,
}

impl Default for Spending {
    fn default() -> Self {
        Self {
            last: Some(0),
            told_no_price: false,
        }
    }
}

/// Whether another step like the last one would make the turn cost more than it may. The user is told.
pub(crate) fn is_spent(turn: &mut Turn<'_>) -> bool {
    let most = turn.settings().config.budget.max_cost_usd;
    if most == 0.0 {
        return false;
    }
    let (Some(spent), Some(last)) = (turn.usage.cost_nano_usd, turn.spending.last) else {
        return false;
    };
    let would_pass = dollars(spent.saturating_add(last)) > most;
    if would_pass {
        let spent = dollars(spent);
        turn.emit(Event::Notice {
            severity: Severity::Warning,
            title: format!("stopped at the budget of ${most} a turn"),
            detail: Some(format!("This turn has cost ${spent:.4}. Prompt again to go on.")),
        });
    }
    would_pass
}

/// Tokens with what they cost, if the service did not say and the user did.
pub(crate) fn priced(usage: Usage, model: &ModelInfo) -> Usage {
    let cost = || model.price.and_then(|price| price.of(&usage));
    Usage {
        cost_nano_usd: usage.cost_nano_usd.or_else(cost),
        ..usage
    }
}

/// Notes what a step cost. Where that is not known, the user is told, once a turn, that a budget can't be kept.
pub(crate) fn note(turn: &mut Turn<'_>, cost_nano_usd: Option<u64>) {
    turn.spending.last = cost_nano_usd;
    let has_budget = turn.settings().config.budget.max_cost_usd > 0.0;
    if cost_nano_usd.is_none() && has_budget && !std::mem::replace(&mut turn.spending.told_no_price, true) {
        tell_no_price(turn);
    }
}

fn tell_no_price(turn: &mut Turn<'_>) {
    let model = turn.provider().model().name.clone();
    turn.emit(Event::Notice {
        severity: Severity::Warning,
        title: format!("the budget is not kept: what {model} costs is not known"),
        detail: Some("Its service does not say; give it a price in [providers.NAME] models.".into()),
    });
}

/// Billionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "an amount for people")]
pub(crate) fn dollars(nano: u64) -> f64 {
    nano as f64 / 1e9
}
