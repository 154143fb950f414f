//! What each work of the queue does to the database.

use rusqlite::Connection;

use crate::clock::unix_ms;
use crate::store::index::{self, Indexing};
use crate::store::lease::{self, Process};
use crate::store::queue::{Fault, Work};
use crate::store::{append, changes, ending, fork, grant, import, message, prune, session};

/// Does the work, in the writer's transaction.
pub(super) fn apply(connection: &Connection, work: &Work, process: &Process, indexing: Indexing) -> Result<(), Fault> {
    let now_ms = unix_ms();
    match work {
        Work::Append(append) => {
            if lease::take(connection, &append.session, process, now_ms)? {
                ending::take_back(connection, &append.session)?;
            }
            append::write(connection, append, indexing)?;
        }
        Work::Claim(session) => {
            // What this process itself is speaking is not left over.
            if lease::take(connection, session, process, now_ms)? {
                ending::take_back(connection, session)?;
                message::recover(connection, session, indexing)?;
            }
        }
        Work::Release(session, reason) => {
            lease::release(connection, session, process)?;
            if let Some(reason) = reason
                && !lease::is_held(connection, session, process, now_ms)?
            {
                ending::write(connection, session, *reason, now_ms)?;
            }
        }
        Work::Reopen(session) => ending::take_back(connection, session)?,
        Work::Recover(session) => {
            if !lease::is_held(connection, session, process, now_ms)? {
                message::recover(connection, session, indexing)?;
            }
        }
        Work::Grant(grant) => grant::write(connection, grant, now_ms)?,
        Work::Fork(fork) => fork::write(connection, fork, process, now_ms, indexing)?,
        Work::Delete(session) => match lease::held_by_other(connection, session, process, now_ms)? {
            Some(held) => return Err(Fault::Held(held)),
            None => session::delete(connection, session, indexing)?,
        },
        Work::Prune(candidate) => {
            if let Some(held) = lease::held_by_other(connection, &candidate.id, process, now_ms)? {
                return Err(Fault::Held(held));
            }
            prune::check(connection, candidate)?;
            session::delete(connection, &candidate.id, indexing)?;
        }
        Work::Rename(session, title) => {
            if let Some(held) = lease::held_by_other(connection, session, process, now_ms)? {
                return Err(Fault::Held(held));
            }
            changes::rename(connection, session, title, indexing)?;
        }
        Work::Archive(session, is_archived) => changes::archive(connection, session, is_archived.then_some(now_ms))?,
        Work::Import(import) => import::write(connection, import, indexing)?,
        // It has no transaction.
        Work::Vacuum => {}
        Work::Reindex => index::rebuild(connection).map_err(cannot_index)?,
    }
    Ok(())
}

/// An index that was made anew and is at fault again is not tried once more.
pub(super) fn cannot_index(error: rusqlite::Error) -> Fault {
    if index::is_own_fault(&error) {
        return Fault::Refused(format!("the index of the history can't be made anew ({error})"));
    }
    Fault::Sql(error)
}
