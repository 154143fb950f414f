//! How it is said what happened.

use agent_core::approval::{DecidedBy, Decision};
use agent_core::event::{HistoryMove, Severity};
use agent_core::provider::Usage;
use agent_core::spending::Share;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Tone;
use crate::run::people::dollars;

/// What became of the conversation.
pub(super) fn moved(why: HistoryMove) -> &'static str {
    match why {
        HistoryMove::Clear => "the conversation begins anew",
        HistoryMove::Refusal => "the refused prompt is out of the conversation",
        HistoryMove::Undo => "what came before this is taken back",
        HistoryMove::Redo => "what was taken back is there again",
    }
}

/// How a notice sounds here.
pub(super) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Info => Tone::Quiet,
        Severity::Warning => Tone::Warning,
        Severity::Error => Tone::Error,
    }
}

/// A question and its answer in a line.
pub(super) fn decided(reason: &str, decision: Decision, by: DecidedBy) -> String {
    let decision = match decision {
        Decision::Allowed => "allowed",
        Decision::AllowedAlways => "always allowed",
        Decision::Rejected => "rejected",
        Decision::Unanswered => "not answered, and so not run",
        Decision::Cancelled => "cancelled",
    };
    let by = match by {
        DecidedBy::User => " by the user",
        DecidedBy::Timeout => ": the time was up",
        DecidedBy::Cancel => " with the turn",
        DecidedBy::Default => "",
    };
    match reason {
        "" => format!("asked: {decision}{by}"),
        reason => format!("asked ({reason}): {decision}{by}"),
    }
}

/// A duration as people say it.
pub(super) fn duration(ms: i64) -> String {
    match ms {
        ..100 => "0.1 s".to_owned(),
        100..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// A time as people here read it.
pub(super) fn moment(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(timestamp) => timestamp
            .to_zoned_datetime(TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        Err(_) => "?".to_owned(),
    }
}

/// What was used of a model.
pub(super) fn spent(share: &Share) -> String {
    let model = share.model.as_ref().map_or_else(
        || "titles, summaries and steps of older versions".to_owned(),
        ToString::to_string,
    );
    let Usage {
        input,
        output,
        cost_nano_usd,
        ..
    } = share.usage;
    let count = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let cost = cost_nano_usd.map_or_else(String::new, |nano| format!(", {}", dollars(nano)));
    format!("{model}: {} in, {} out{cost}", count(input), count(output))
}
