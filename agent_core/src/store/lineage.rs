//! What is done with whole sessions: they are copied, named, put aside, brought in and let go.

use super::import::Importing;
use super::lease::Process;
use super::queue::{Outcome, Work};
use super::reader;
use super::{
    Candidate, ChangeError, Dated, Fork, Import, Prune, Room, SessionRecord, Store, StoreError, holders, prune, room,
    titles,
};
use crate::clock::unix_ms;
use crate::id::SessionId;
use crate::title::{self, BadTitle};

/// Why a session has no new title.
#[derive(Debug, thiserror::Error)]
pub enum Renamed {
    /// The text is none.
    #[error(transparent)]
    Bad(#[from] BadTitle),
    /// Another session has it.
    #[error("another session is called `{title}`; `{free}` is free")]
    Taken {
        /// The title.
        title: String,
        /// The nearest one that no session has.
        free: String,
    },
    /// The session can't be changed.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

/// Why a session can't be brought in.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It has no form in which it can be stored.
    #[error("an event of the session has no JSON form")]
    NoForm(#[from] serde_json::Error),
    /// It can't be written; a sentence says why.
    #[error("{0}")]
    NotNow(String),
}

impl From<StoreError> for Renamed {
    fn from(error: StoreError) -> Self {
        Self::Change(error.into())
    }
}

impl Store {
    /// Copies a session's past into a new one, whose record comes back. It may be open, here or elsewhere: a turn that
    /// runs is left out.
    ///
    /// # Errors
    /// When there is no such session, or it can't be copied now.
    pub fn fork(&self, fork: Fork) -> Result<SessionRecord, ChangeError> {
        let (from, id) = (fork.from.clone(), fork.id.clone());
        self.change(&from, Work::Fork(fork))?;
        self.session(&id)?.ok_or(ChangeError::Unknown(from))
    }

    /// Removes a session and what only it has needed; one that is not there stays away.
    ///
    /// # Errors
    /// When another process works in it, or it can't be removed now.
    pub fn delete(&self, id: &SessionId) -> Result<(), ChangeError> {
        self.database().queue.forget(id);
        self.database().given.forget(id);
        self.change(id, Work::Delete(id.clone()))
    }

    fn change(&self, id: &SessionId, work: Work) -> Result<(), ChangeError> {
        let outcome = self.database().change(work);
        self.changed(id, outcome)
    }

    fn changed(&self, id: &SessionId, outcome: Result<Outcome, String>) -> Result<(), ChangeError> {
        match outcome {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(ChangeError::Held(held)),
            Ok(Outcome::Refused(reason)) => Err(match self.session(id) {
                Ok(None) => ChangeError::Unknown(id.clone()),
                Err(error @ StoreError::Unread { .. }) => error.into(),
                Ok(Some(_)) | Err(_) => ChangeError::NotNow(reason),
            }),
            Err(reason) => Err(ChangeError::NotNow(reason)),
        }
    }

    /// Gives a session the title that we have made for it, or the next one that no other session has.
    pub(crate) fn give_title(&self, id: &SessionId, wanted: &str) -> String {
        let is_stored = |title: &str| self.is_title_taken(title, id);
        self.database()
            .given
            .give(id, wanted, is_stored)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "nobody knows whether another session has the same title");
                wanted.to_owned()
            })
    }

    /// Gives a session the title that its user wants, if no other session has it.
    ///
    /// # Errors
    /// When another one has it.
    pub(crate) fn claim_title(&self, id: &SessionId, wanted: String) -> Result<String, Renamed> {
        let before = self.database().given.of(id);
        let free = self.give_title(id, &wanted);
        if free == wanted {
            return Ok(wanted);
        }
        self.database().given.put_back(id, before);
        Err(Renamed::Taken { title: wanted, free })
    }

    fn is_title_taken(&self, title: &str, own: &SessionId) -> Result<bool, StoreError> {
        self.database().read("the titles".to_owned(), |connection| {
            titles::is_taken(connection, title, own)
        })
    }

    /// Gives a session a title, as its user types it.
    ///
    /// # Errors
    /// When that is no title or that of another session, when another process works in the session, or it can't be
    /// written now.
    pub fn rename(&self, id: &SessionId, text: &str) -> Result<String, Renamed> {
        let wanted = title::from_text(text)?;
        let before = self.database().given.of(id);
        let title = self.claim_title(id, wanted)?;
        let work = Work::Rename(id.clone(), title.clone());
        let changed = self.change(id, work);
        if changed.is_err() {
            self.database().given.put_back(id, before);
        }
        Ok(changed.map(|()| title)?)
    }

    /// Puts a session aside, or takes it back: lists and searches leave it out, and it can be opened as before.
    ///
    /// # Errors
    /// When there is no such session, or that can't be written now.
    pub fn archive(&self, id: &SessionId, is_archived: bool) -> Result<(), ChangeError> {
        self.change(id, Work::Archive(id.clone(), is_archived))
    }

    /// Notes that a session which has ended is open again.
    pub(crate) fn reopen(&self, record: &SessionRecord) {
        if record.ended.is_some() {
            self.database().write_or_warn(Work::Reopen(record.id.clone()));
        }
    }

    /// A session's rows after one, each with its time, as [`events`](Self::events). What waits to be stored is not there.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn rows(&self, id: &SessionId, after_seq: u64, limit: usize) -> Result<Vec<Dated>, StoreError> {
        self.database().read(format!("the rows of session {id}"), |connection| {
            reader::rows(connection, id, after_seq, limit)
        })
    }

    /// Stores a session that comes from elsewhere, whole or not at all.
    ///
    /// # Errors
    /// When there is a session of its id, or it can't be written.
    pub fn import(&self, import: Import) -> Result<(), ImportError> {
        let import = Importing::new(import)?;
        match self.database().change(Work::Import(Box::new(import))) {
            Ok(Outcome::Written) => Ok(()),
            Ok(Outcome::Held(held)) => Err(ImportError::NotNow(held.to_string())),
            Ok(Outcome::Refused(reason)) | Err(reason) => Err(ImportError::NotNow(reason)),
        }
    }

    /// The sessions that may go, the oldest first: never one in which somebody works.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn candidates(&self, prune: &Prune) -> Result<Vec<Candidate>, StoreError> {
        self.database().read("the old sessions".to_owned(), |connection| {
            prune::candidates(connection, prune, &Process::current(), unix_ms())
        })
    }

    /// Removes a session that may go, if it is as it was.
    ///
    /// # Errors
    /// When it has been used since, or it can't be removed now.
    pub fn prune(&self, candidate: &Candidate) -> Result<(), ChangeError> {
        let outcome = self.database().change(Work::Prune(candidate.clone()));
        self.changed(&candidate.id, outcome)
    }

    /// Makes the file smaller if that pays and nobody else has it open. It may take long.
    ///
    /// # Errors
    /// When the database can't be read, or not be written anew.
    pub fn make_room(&self) -> Result<Room, ChangeError> {
        let free = self.database().read("its free room".to_owned(), room::to_give)?;
        let (Some(free), Some(path)) = (free, self.database().path()) else {
            return Ok(Room::Kept);
        };
        if holders::has_others(path) {
            return Ok(Room::Later(free));
        }
        match self.database().change(Work::Vacuum) {
            Ok(Outcome::Written) => Ok(Room::Given(free)),
            Ok(Outcome::Held(held)) => Err(ChangeError::Held(held)),
            Ok(Outcome::Refused(reason)) | Err(reason) => Err(ChangeError::NotNow(reason)),
        }
    }
}
