//! Makes room in the model's context, in place: old outputs of tools become notes; where that is not enough, a summary
//! by the model takes the place of what was said. Nothing is lost: a replay and a search still see all of it.

mod summary;

use std::sync::Arc;

use crate::budget;
use crate::cancel::Cancel;
use crate::event::{Compaction, ContextUse, ErrorClass, Event, Severity};
use crate::history::History;
use crate::id::TurnId;
use crate::provider::{self, Message, Provider, ProviderError, ToolSpec, Usage};
use crate::session::Session;
use crate::settings::Standing;

/// How often in a row room is made for one request that the service refuses.
pub(crate) const REFUSALS: u32 = 4;
/// The context is made to hold at most this share, in percent.
const GOAL: u128 = 50;
/// And the newest messages, up to this share, stay as they are.
const KEPT: u128 = 20;
/// What is summed up is at least one part in so many of the whole.
const LEAST: usize = 10;

/// Whose context it is, and who sums up.
pub(crate) struct Compactor<'a> {
    pub(crate) session: &'a Session,
    pub(crate) turn: TurnId,
    pub(crate) cancel: &'a Cancel,
    pub(crate) provider: Arc<dyn Provider>,
    /// What the model may call: a part of each request.
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) history: &'a mut History,
    /// Of the turn; what a summary takes is added.
    pub(crate) usage: &'a mut Usage,
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
    /// There is room: tokens before and after.
    Room { before: u64, after: u64 },
    /// There is nothing that could go.
    Nothing,
    /// The model gives no summary, and nothing was changed.
    NoSummary,
}

/// What of the messages may stay, in bytes.
struct Aim {
    /// The newest ones, as they are.
    keep: usize,
    /// All of them, if no summary is made.
    goal: usize,
}

impl Compactor<'_> {
    /// Makes room, if the reason holds. `focus` is what the summary should dwell on, in the user's words.
    pub(crate) fn make_room(mut self, reason: Reason, focus: &str) -> Result<Made, ProviderError> {
        if reason == Reason::Full && !self.is_full() {
            return Ok(Made::Nothing);
        }
        if reason == Reason::Refused(ErrorClass::PayloadTooLarge) {
            match self.history.picture_rows().as_slice() {
                [_, .., newest] => return Ok(self.put(*newest, Compaction::Pictures)),
                // The end of the turn takes it out.
                [_] => return Ok(Made::Nothing),
                [] => {}
            }
        }
        let all = self.history.bytes();
        let Aim { keep, goal } = self.aim(reason, all);
        let mut cuts = vec![self.history.cut(keep)];
        if matches!(reason, Reason::Refused(_)) {
            // If nothing else is left: the model can ask for less of it.
            cuts.push(self.history.cut_all(keep));
        }
        for before in cuts.into_iter().flatten() {
            // A summary takes time and money: for next to nothing it is not worth it.
            let old: usize = self.history.before(before).iter().map(Message::size).sum();
            if old * LEAST < all {
                continue;
            }
            if self.history.bytes_after(before, &Compaction::Outputs) <= goal {
                return Ok(self.put(before, Compaction::Outputs));
            }
            // Not even an empty one would help where what stays is what is long.
            let empty = Compaction::Summary { text: String::new() };
            if self.history.bytes_after(before, &empty) >= all {
                continue;
            }
            let Some(text) = summary::of(&mut self, before, reason, focus)? else {
                return Ok(Made::NoSummary);
            };
            let what = Compaction::Summary { text };
            if self.history.bytes_after(before, &what) < all {
                return Ok(self.put(before, what));
            }
        }
        Ok(Made::Nothing)
    }

    fn aim(&self, reason: Reason, all: usize) -> Aim {
        let (fixed, used) = (self.fixed_size(), self.used().max(1));
        // What nobody has measured is taken for what our own count says.
        let window = self.provider.model().context_window.unwrap_or(used);
        // A window is as large as somebody says.
        let window = u128::from(window) * (fixed + all) as u128 / u128::from(used);
        let share = |percent: u128| usize::try_from(window * percent / 100).unwrap_or(usize::MAX);
        let full = Aim {
            keep: share(KEPT),
            goal: share(GOAL).saturating_sub(fixed),
        };
        match reason {
            Reason::Full => full,
            // However much it took before, it wants less: half of it, and half of that where it says so again.
            Reason::Refused(ErrorClass::PayloadTooLarge) => Aim {
                keep: all * 2 / 5,
                goal: all / 2,
            },
            Reason::Refused(_) => Aim {
                keep: full.keep.min(all * 2 / 5),
                goal: full.goal.min(all / 2),
            },
            // Outputs alone are not what the user asks for.
            Reason::Asked => Aim { keep: all / 5, goal: 0 },
        }
    }

    /// Whether room is to be made. None can be in a context that system prompt and tools fill by themselves.
    fn is_full(&self) -> bool {
        let model = self.provider.model();
        let fixed = self.fixed_size();
        model.is_full(self.used()) && !model.is_full(provider::tokens(fixed, self.history.counted(fixed)))
    }

    /// Tokens of the next request.
    fn used(&self) -> u64 {
        self.history.tokens(self.fixed_size())
    }

    fn fixed_size(&self) -> usize {
        provider::fixed_size(&self.session.standing().system.unwrap_or_default(), self.tools)
    }

    /// Adds what a summary took to the costs of turn and session.
    fn pay(&mut self, usage: Usage) {
        let usage = budget::priced(usage, self.provider.model());
        *self.usage = self.usage.plus(usage);
        self.session.spend(Some(self.turn), usage);
    }

    fn tell(&self, notice: Event) {
        self.session.line.emit(Some(self.turn), notice);
    }

    fn put(&mut self, row: u64, what: Compaction) -> Made {
        let before = self.used();
        let title = match &what {
            Compaction::Summary { .. } => "the conversation was summarised to make room",
            Compaction::Outputs => "old outputs were left out to make room",
            Compaction::Pictures => "old pictures were left out to make room",
        };
        let bytes = self.history.bytes_after(row, &what);
        let fixed = self.fixed_size();
        let after = provider::tokens(fixed + bytes, self.history.counted(fixed));
        let context = ContextUse {
            used: after,
            window: self.provider.model().context_window,
            cost_nano_usd: self.session.spent(None),
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
        self.tell(Event::Notice {
            severity: Severity::Info,
            title: title.to_owned(),
            detail: Some(format!(
                "About {before} tokens became {after}. All of it is still in the session."
            )),
        });
        Made::Room { before, after }
    }
}
