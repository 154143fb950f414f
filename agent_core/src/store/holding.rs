//! The leases that this process holds, and their rhythm. Without any, nothing has to be done at any time.

use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use super::lease::{self, Process};
use crate::clock::unix_ms;
use crate::id::SessionId;

/// Between two beats: a lease may miss one and still hold for those who can't see its process.
const BEAT: Duration = Duration::from_secs(10);

/// Between two tries, while nothing can be written.
const AGAIN: Duration = Duration::from_secs(1);

/// The leases of this process.
pub(super) struct Holding {
    pub(super) process: Process,
    sessions: Vec<SessionId>,
    /// When they beat next; none without sessions.
    next: Option<Instant>,
}

impl Holding {
    pub(super) fn new(process: Process) -> Self {
        Self {
            process,
            sessions: Vec::new(),
            next: None,
        }
    }

    /// When the leases beat next, if there are any.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Notes a lease that was taken.
    pub(super) fn add(&mut self, session: &SessionId, now: Instant) {
        if !self.sessions.contains(session) {
            self.sessions.push(session.clone());
        }
        self.next.get_or_insert(now + BEAT);
    }

    /// Notes a lease that was released.
    pub(super) fn remove(&mut self, session: &SessionId) {
        self.sessions.retain(|held| held != session);
        self.next = self.next.filter(|_| !self.sessions.is_empty());
    }

    /// Forgets all leases: nothing is written any more.
    pub(super) fn clear(&mut self) {
        self.sessions.clear();
        self.next = None;
    }

    /// Says that this process still works in its sessions. A lease that is another's by now is forgotten.
    pub(super) fn beat(&mut self, connection: &mut Connection, now: Instant) -> rusqlite::Result<()> {
        self.next = Some(now + AGAIN);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut held = Vec::new();
        for session in &self.sessions {
            if lease::beat(&transaction, session, &self.process, unix_ms())? {
                held.push(session.clone());
            }
        }
        transaction.commit()?;
        self.next = (!held.is_empty()).then(|| now + BEAT);
        self.sessions = held;
        Ok(())
    }

    /// Lets all sessions go.
    pub(super) fn release(&mut self, connection: &mut Connection) -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for session in &self.sessions {
            lease::release(&transaction, session, &self.process)?;
        }
        transaction.commit()?;
        self.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::store::schema;

    #[test]
    fn leases_beat_in_one_rhythm_and_nothing_wakes_without_one() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let [a, b] = ["a", "b"].map(SessionId::from);
        let mut connection = schema::open_memory().unwrap();
        let mut holding = Holding::new(Process::current());
        assert_eq!(holding.next(), None);
        for (session, seconds) in [(&a, 0), (&b, 3), (&a, 4)] {
            assert!(lease::take(&connection, session, &holding.process, 0).is_ok());
            holding.add(session, at(seconds));
        }
        assert_eq!(holding.next(), Some(at(10)));
        connection.execute_batch("PRAGMA query_only = ON").unwrap();
        assert!(holding.beat(&mut connection, at(10)).is_err());
        assert_eq!(holding.next(), Some(at(11)), "it is tried again soon");
        connection.execute_batch("PRAGMA query_only = OFF").unwrap();
        holding.beat(&mut connection, at(11)).unwrap();
        assert_eq!(holding.next(), Some(at(21)));
        holding.remove(&b);
        assert_eq!(holding.next(), Some(at(21)));
        lease::release(&connection, &a, &holding.process).unwrap();
        holding.beat(&mut connection, at(21)).unwrap();
        assert_eq!(holding.next(), None, "none of them is held any more");
    }
}
