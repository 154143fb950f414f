//! All that is visible of a session, sent again in its place on the line: what happens meanwhile follows behind.

use super::Line;
use crate::event::Envelope;
use crate::id::TurnId;
use crate::outward::{Answer, CallError, CallId, Outward, pieces};
use crate::replay::Replay;
use crate::store::StoreError;

/// Where a session stands when a replay begins.
struct Standpoint {
    /// The newest row.
    upto: u64,
    /// What open messages have said so far.
    spoken: Vec<Envelope>,
    /// Turns that have no end yet.
    running: Vec<TurnId>,
}

impl Line {
    /// Sends all that is visible of the session so far, then the answer. What happens meanwhile follows behind.
    pub(crate) fn replay(&self, call: CallId, answer: Answer) {
        let _one_at_a_time = self.0.replaying.lock();
        let result = self.send_replay(call, self.hold()).map(|()| answer);
        let result = result.map_err(CallError::from);
        self.0.outlet.send(Outward::Answer { call, result });
        self.release();
    }

    /// Holds back what happens from now on, and says where it stands.
    fn hold(&self) -> Standpoint {
        let mut state = self.0.state.lock();
        state.held = Some(Vec::new());
        let spoken = state.speeches.iter().map(|open| {
            let text = open.message.text().to_owned();
            self.envelope(open.turn, open.seq, open.voice.event(open.id.clone(), text))
        });
        Standpoint {
            upto: state.last_seq,
            spoken: spoken.collect(),
            running: state.turns.clone(),
        }
    }

    fn send_replay(&self, call: CallId, standpoint: Standpoint) -> Result<(), StoreError> {
        let Standpoint { upto, spoken, running } = standpoint;
        let mut replay = Replay::new(&self.0.store, &self.0.session, upto, running)?;
        let mut spoken = spoken.into_iter().peekable();
        while let Some(page) = replay.next_page()? {
            for envelope in page {
                // A command beside the turn may have said something after it began to speak.
                while let Some(open) = spoken.next_if(|open| open.seq < envelope.seq) {
                    self.send_old(call, open);
                }
                // A message that was open at the start may have got its row since.
                let is_open = |open: &Envelope| open.seq == envelope.seq;
                self.send_old(call, spoken.next_if(is_open).unwrap_or(envelope));
            }
        }
        spoken.for_each(|envelope| self.send_old(call, envelope));
        Ok(())
    }

    fn send_old(&self, call: CallId, envelope: Envelope) {
        for envelope in pieces(envelope) {
            self.0.outlet.wait_for_replay();
            self.0.outlet.send(Outward::Replay { call, envelope });
        }
    }

    fn release(&self) {
        let mut state = self.0.state.lock();
        for parcel in state.held.take().into_iter().flatten() {
            self.0.outlet.release(parcel);
        }
    }
}
