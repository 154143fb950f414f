//! `agent sessions fork` and `delete`: what changes the stored sessions.

use std::io::Write;

use agent_core::id::SessionId;
use agent_core::store::Fork;
use agent_core::visible;

use super::{NO_TITLE, SessionJson, find, print_json};
use crate::exit::{Exit, Fail};
use crate::terminal;
use crate::wiring::{ChangeError, Store};

/// Begins a session with the past of another one, up to a row or all of it, and says which.
pub(super) fn fork(store: &Store, part: &str, upto: Option<u64>, json: bool) -> Result<(), Fail> {
    let from = find(store, part)?;
    let forked = store.fork(Fork {
        from,
        upto,
        id: SessionId::new(),
        source: "run".to_owned(),
        folders: None,
        set: None,
    });
    let session = forked.map_err(refused)?;
    if json {
        return print_json(&SessionJson::from(&session));
    }
    let title = visible::line(session.title.as_deref().unwrap_or(NO_TITLE));
    writeln!(terminal::stdout(), "{}", session.id)?;
    writeln!(
        terminal::stderr(),
        "{title}: go on with `agent run \"…\" --session {}`",
        session.id
    )?;
    Ok(())
}

/// Removes sessions; none of them where one of the ids means no session.
pub(super) fn delete(store: &Store, parts: &[String]) -> Result<(), Fail> {
    let found: Result<Vec<SessionId>, Fail> = parts.iter().map(|part| find(store, part)).collect();
    let mut sessions = found?;
    sessions.sort();
    sessions.dedup();
    for session in &sessions {
        store.delete(session).map_err(refused)?;
        writeln!(terminal::stderr(), "deleted {session}")?;
    }
    Ok(())
}

fn refused(error: ChangeError) -> Fail {
    match error {
        ChangeError::Unknown(_) => Fail::new(Exit::NoSession, error),
        ChangeError::Held(_) | ChangeError::NotNow(_) | ChangeError::Store(_) => error.into(),
    }
}
