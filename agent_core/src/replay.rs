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
    running: Option<TurnId>,
    read: u64,
    ended: bool,
    /// The turn that the rows are in, until its end has been seen.
    turn: Option<TurnId>,
    open_calls: Vec<ToolCallId>,
}

impl<'a> Replay<'a> {
    /// Reads rows up to `upto`. The turn that is `running` is left as it is.
    pub(crate) fn new(
        store: &'a Store,
        session: &'a SessionId,
        upto: u64,
        running: Option<TurnId>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            session,
            hidden: store.hidden(session)?,
            upto,
            running,
            read: 0,
            ended: false,
            turn: None,
            open_calls: Vec::new(),
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
            self.close_turn(&mut page);
        }
        Ok(Some(page))
    }

    fn is_hidden(&self, seq: u64) -> bool {
        self.hidden.iter().any(|range| range.contains(&seq))
    }

    fn follow(&mut self, row: Envelope, page: &mut Vec<Envelope>) {
        if row.turn.is_some() && row.turn != self.turn && begins_turn(&row.event) {
            self.close_turn(page);
            self.turn = row.turn;
        }
        match &row.event {
            Event::ToolStarted { call } => self.open_calls.push(call.id.clone()),
            Event::ToolFinished { id, .. } => self.open_calls.retain(|open| open != id),
            Event::TurnFinished { .. } | Event::TurnFailed { .. } if row.turn == self.turn => {
                self.close_calls(page);
                self.turn = None;
            }
            Event::UserMessage { .. }
            | Event::AgentText { .. }
            | Event::AgentThought { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolProgress { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::Notice { .. }
            | Event::HistoryMoved { .. }
            | Event::SessionChanged { .. }
            | Event::TurnFinished { .. }
            | Event::TurnFailed { .. } => {}
        }
        page.push(row);
    }

    /// Ends a turn that has no end of its own, unless it is still running.
    fn close_turn(&mut self, page: &mut Vec<Envelope>) {
        let Some(turn) = self.turn.take() else { return };
        if self.running == Some(turn) {
            self.open_calls.clear();
            return;
        }
        self.turn = Some(turn);
        self.close_calls(page);
        let failure = Failure {
            class: ErrorClass::Internal,
            message: INTERRUPTED_TURN.into(),
            provider: None,
            status: None,
            retry_after_ms: None,
        };
        page.push(self.made_up(Event::TurnFailed { failure }));
        self.turn = None;
    }

    fn close_calls(&mut self, page: &mut Vec<Envelope>) {
        for id in std::mem::take(&mut self.open_calls) {
            let outcome = ToolOutcome {
                status: ToolStatus::Failed,
                output: ToolOutput::text(INTERRUPTED_CALL),
            };
            page.push(self.made_up(Event::ToolFinished { id, outcome }));
        }
    }

    fn made_up(&self, event: Event) -> Envelope {
        Envelope {
            session: self.session.clone(),
            turn: self.turn,
            seq: self.read,
            event,
        }
    }
}

/// What a call's result says when the process ended while it ran.
pub(crate) const INTERRUPTED_CALL: &str =
    "The agent ended while this call was open. Whether it took effect is unknown: look before you repeat it.";

const INTERRUPTED_TURN: &str = "the agent ended before this turn was finished; send the prompt again to go on";

fn begins_turn(event: &Event) -> bool {
    matches!(event, Event::UserMessage { .. })
}
