//! Makes room in the model's context, in place: old outputs of tools become notes; where that is not enough, a summary
//! by the model takes the place of what was said. Nothing is lost: a replay and a search still see all of it.

mod summary;

use std::sync::Arc;

use crate::cancel::Cancel;
use crate::event::{Compaction, ContextUse, ErrorClass, Event, Severity};
use crate::history::History;
use crate::id::TurnId;
use crate::provider::{Provider, ProviderError, Usage};
use crate::session::Session;
use crate::settings::Standing;

/// The context is full at this share of its window, in percent: the rest is for the reply.
const FULL: u64 = 80;
/// It is made to hold at most this share, in percent.
const GOAL: u64 = 50;
/// And the newest messages, up to this share, stay as they are.
const KEPT: u64 = 20;
/// What is summed up is at least one part in so many of the whole.
const LEAST: u64 = 10;

/// Whose context it is, and who sums up.
pub(crate) struct Compactor<'a> {
    pub(crate) session: &'a Session,
    pub(crate) turn: TurnId,
    pub(crate) cancel: &'a Cancel,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) history: &'a mut History,
}

/// Whether a request that failed so may succeed with less in it.
pub(crate) fn helps(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::ContextOverflow | ErrorClass::PayloadTooLarge)
}

/// Why room is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The context may be nearly full.
    Full,
    /// The service took no more.
    Refused(ErrorClass),
    /// The user wants it.
    Asked,
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(crate) enum Made {
    /// There is room; tokens of the summary.
    Room { before: u64, after: u64, usage: Usage },
    /// There is nothing that could go.
    Nothing,
}

impl Compactor<'_> {
    /// Makes room, if the reason holds. `focus` is what the summary should dwell on, in the user's words.
    pub(crate) fn make_room(mut self, reason: Reason, focus: &str) -> Result<Made, ProviderError> {
        match reason {
            Reason::Full if !self.is_full() => return Ok(Made::Nothing),
            Reason::Refused(ErrorClass::PayloadTooLarge) => {
                let before = self.history.newest_picture();
                return Ok(before.map_or(Made::Nothing, |before| {
                    self.put(before, Compaction::Pictures, Usage::default())
                }));
            }
            Reason::Full | Reason::Refused(_) | Reason::Asked => {}
        }
        let all = self.history.estimate();
        let used = self.used().max(1);
        // What nobody has measured is taken for what our own count says.
        let window = self.provider.model().context_window.unwrap_or(used);
        let share = |percent: u64| window * percent / 100 * all / used;
        let (keep, goal) = match reason {
            Reason::Full => (share(KEPT), share(GOAL)),
            Reason::Refused(_) => (share(KEPT).min(all / 2), share(GOAL).min(all / 2)),
            // Outputs alone are not what the user asks for.
            Reason::Asked => (all * KEPT / 100, 0),
        };
        let mut cuts = vec![self.history.cut(bytes(keep))];
        if matches!(reason, Reason::Refused(_)) {
            // If nothing else is left: the model can ask for less of it.
            cuts.push(self.history.cut_all(bytes(keep)));
        }
        for before in cuts.into_iter().flatten() {
            // A summary takes time and money: for next to nothing it is not worth it.
            if self.history.tokens_before(before) * LEAST < all {
                continue;
            }
            let freed = self.history.freed(before, &Compaction::Outputs) as u64 / 4;
            if all.saturating_sub(freed) <= goal {
                return Ok(self.put(before, Compaction::Outputs, Usage::default()));
            }
            let removed = self.history.before(before);
            let summary::Summary { text, usage } = summary::of(&self, removed, focus)?;
            let what = Compaction::Summary { text };
            if self.history.freed(before, &what) > 0 {
                return Ok(self.put(before, what, usage));
            }
        }
        Ok(Made::Nothing)
    }

    fn is_full(&mut self) -> bool {
        let window = self.provider.model().context_window;
        window.is_some_and(|window| self.used() * 100 >= window * FULL)
    }

    /// Tokens in use: what the service counted last and what came since.
    fn used(&mut self) -> u64 {
        match self.session.standing().context {
            Some(context) => context.used + self.history.uncounted(),
            None => self.history.estimate(),
        }
    }

    fn put(&mut self, row: u64, what: Compaction, usage: Usage) -> Made {
        let (all, before) = (self.history.estimate().max(1), self.used());
        let left = all.saturating_sub(self.history.freed(row, &what) as u64 / 4);
        let after = before * left / all;
        let title = match &what {
            Compaction::Summary { .. } => "the conversation was summarised to make room",
            Compaction::Outputs => "old outputs were left out to make room",
            Compaction::Pictures => "old pictures were left out to make room",
        };
        let context = ContextUse {
            used: after,
            window: self.provider.model().context_window,
            cost_nano_usd: self.session.spent(usage.cost_nano_usd),
        };
        let is_summary = matches!(what, Compaction::Summary { .. });
        self.session.change_standing(|standing| {
            standing.context = Some(context);
            if is_summary {
                Standing::forget_notes(standing);
            }
        });
        let event = Event::Compacted {
            before: row,
            what,
            context,
        };
        let envelope = self.session.line.emit(Some(self.turn), event);
        self.history.follow(&envelope);
        let notice = Event::Notice {
            severity: Severity::Info,
            title: title.to_owned(),
            detail: Some(format!(
                "About {before} tokens became {after}. All of it is still in the session."
            )),
        };
        self.session.line.emit(Some(self.turn), notice);
        Made::Room { before, after, usage }
    }
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}
