//! Who writes to a session: one process at a time.

use rusqlite::Connection;

use super::lease::{self, Process};
use super::queue::{Outcome, Work};
use super::{EndReason, Held, Store, StoreError, message};
use crate::clock::unix_ms;
use crate::id::SessionId;

impl Store {
    /// Makes this process the one that writes to a session. What a process that died left of its messages gets its
    /// rows in the same moment, with exactly the text that was stored.
    ///
    /// # Errors
    /// When another process that lives does.
    pub fn claim(&self, id: &SessionId) -> Result<(), Held> {
        match self.database().write(Work::Claim(id.clone())) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(held),
            Ok(Outcome::Refused(reason)) | Err(reason) => {
                tracing::warn!(session = %id, reason, "the claim of a session waits");
                self.look_for_other_writer(id)
            }
        }
    }

    /// For when nothing can be written, and so no claim either: what can be read must do.
    fn look_for_other_writer(&self, id: &SessionId) -> Result<(), Held> {
        match self.held_by_other(id) {
            Ok(Some(held)) => Err(held),
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::warn!(session = %id, %error, "nobody knows who writes to the session");
                Ok(())
            }
        }
    }

    /// Lets a session go: another process may claim it. One that was never prompted is forgotten.
    pub fn release(&self, id: &SessionId) {
        self.database().queue.forget(id);
        self.database().write_or_warn(Work::Release(id.clone(), None));
    }

    /// Lets sessions go that come to an end here. One that has ended already keeps the reason it has, and so does one in
    /// which another process works.
    pub fn end(&self, ids: &[SessionId], reason: EndReason) {
        for id in ids {
            self.database().queue.forget(id);
            self.database().given.forget(id);
            self.database().write_or_warn(Work::Release(id.clone(), Some(reason)));
        }
    }

    /// Makes rows of the messages that a process which died left unfinished, for who reads a session without writing
    /// to it. While a process that lives is its writer, this one or another, nothing is left over. What can't be
    /// written now is written later.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn recover(&self, id: &SessionId) -> Result<(), StoreError> {
        let what = format!("what was left of the messages of session {id}");
        let read = |connection: &Connection| message::has_pieces(connection, id);
        if self.database().read(what, read)? {
            self.database().write_or_warn(Work::Recover(id.clone()));
        }
        Ok(())
    }

    /// Who else writes to a session, if anybody does.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn held_by_other(&self, id: &SessionId) -> Result<Option<Held>, StoreError> {
        self.database()
            .read(format!("the writer of session {id}"), |connection| {
                lease::held_by_other(connection, id, &Process::current(), unix_ms())
            })
    }
}
