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
        tell_no_price(turn);
        return false;
    };
    let would_pass = dollars(spent + last) > most;
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

/// Says once a turn that a budget can't be kept.
fn tell_no_price(turn: &mut Turn<'_>) {
    if std::mem::replace(&mut turn.spending.told_no_price, true) {
        return;
    }
    let model = turn.provider().model().name.clone();
    turn.emit(Event::Notice {
        severity: Severity::Warning,
        title: format!("the budget is not kept: what {model} costs is not known"),
        detail: Some("Its service does not say; give it a price in [providers.NAME] models.".into()),
    });
}

#[expect(clippy::cast_precision_loss, reason = "an amount for people")]
fn dollars(nano: u64) -> f64 {
    nano as f64 / 1e9
}
