//! A session's visible past, read from the store in pages and made whole: what a crash left open gets its end here,
//! in what is sent and never in what is stored.

use std::ops::RangeInclusive;

use crate::event::{Envelope, ErrorClass, Event, Failure, ToolOutcome, ToolOutput, ToolStatus};
use crate::id::{SessionId, ToolCallId, TurnId};
use crate::store::{Store, StoreError};

/// Rows read at a time.
const PAGE: usize = 256;

/// A reading of a session's past.
pub(crate) struct Replay<'a> {
    store: &'a Store,
    session: &'a SessionId,
    hidden: Vec<RangeInclusive<u64>>,
    upto: u64,
    running: Vec<TurnId>,
    read: u64,
    ended: bool,
    /// Turns whose end has not been seen yet: one, and commands that were given beside it.
    turns: Vec<TurnId>,
    calls: Vec<(Option<TurnId>, ToolCallId)>,
}

impl<'a> Replay<'a> {
    /// Reads rows up to `upto`. Turns that are `running` are left as they are.
    pub(crate) fn new(
        store: &'a Store,
        session: &'a SessionId,
        upto: u64,
        running: Vec<TurnId>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            session,
            hidden: store.hidden(session)?,
            upto,
            running,
            read: 0,
            ended: false,
            turns: Vec::new(),
            calls: Vec::new(),
        })
    }

    /// The next rows in order; none after the last.
    pub(crate) fn next_page(&mut self) -> Result<Option<Vec<Envelope>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let rows = self.store.events(self.session, self.read, PAGE)?;
        let full = rows.len() == PAGE;
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            self.read = row.seq;
            if row.seq <= self.upto && !self.is_hidden(row.seq) {
                self.follow(row, &mut page);
            }
        }
        if !full || self.read >= self.upto {
            self.ended = true;
            self.close_turns(&mut page);
        }
        Ok(Some(page))
    }

    fn is_hidden(&self, seq: u64) -> bool {
        self.hidden.iter().any(|range| range.contains(&seq))
    }

    fn follow(&mut self, row: Envelope, page: &mut Vec<Envelope>) {
        match &row.event {
            Event::UserMessage { command, .. } => {
                // A command may have been given beside a turn that went on after it.
                if !command {
                    self.close_turns(page);
                }
                self.turns.extend(row.turn);
            }
            Event::ToolStarted { call } => self.calls.push((row.turn, call.id.clone())),
            Event::ToolFinished { id, .. } => self.calls.retain(|(_, open)| open != id),
            Event::TurnFinished { .. } | Event::TurnFailed { .. } => {
                self.close_calls(row.turn, page);
                self.turns.retain(|open| Some(*open) != row.turn);
            }
            Event::UserSteered { .. }
            | Event::AgentText { .. }
            | Event::AgentThought { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolProgress { .. }
            | Event::FilesKept { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::Notice { .. }
            | Event::Compacted { .. }
            | Event::HistoryMoved { .. }
            | Event::SessionChanged { .. } => {}
        }
        page.push(row);
    }

    /// Ends the turns that have no end of their own, unless they are still running.
    fn close_turns(&mut self, page: &mut Vec<Envelope>) {
        for turn in std::mem::take(&mut self.turns) {
            if self.running.contains(&turn) {
                self.turns.push(turn);
                continue;
            }
            self.close_calls(Some(turn), page);
            let failure = Failure::new(ErrorClass::Internal, INTERRUPTED_TURN);
            page.push(self.made_up(Some(turn), Event::TurnFailed { failure }));
        }
    }

    fn close_calls(&mut self, turn: Option<TurnId>, page: &mut Vec<Envelope>) {
        let (ended, open) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition(|(of, _)| *of == turn);
        self.calls = open;
        for (_, id) in ended {
            let outcome = ToolOutcome {
                status: ToolStatus::Failed,
                output: ToolOutput::text(INTERRUPTED_CALL),
            };
            page.push(self.made_up(turn, Event::ToolFinished { id, outcome }));
        }
    }

    fn made_up(&self, turn: Option<TurnId>, event: Event) -> Envelope {
        Envelope {
            session: self.session.clone(),
            turn,
            seq: self.read,
            event,
        }
    }
}

/// What a call's result says when the process ended while it ran.
pub(crate) const INTERRUPTED_CALL: &str =
    "The agent ended while this call was open. Whether it took effect is unknown: look before you repeat it.";

const INTERRUPTED_TURN: &str = "the agent ended before this turn was finished; send the prompt again to go on";
