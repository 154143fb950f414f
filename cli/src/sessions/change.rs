//! `agent sessions fork`, `rename`, `archive` and `delete`: what changes the stored sessions.

use std::io::Write;

use agent_core::event::Event;
use agent_core::id::SessionId;
use agent_core::search::masked;
use agent_core::store::{Dated, Fork, Renamed};
use agent_core::visible;

use super::{NO_TITLE, SessionJson, find, print_json, prune};
use crate::exit::{Exit, Fail};
use crate::terminal;
use crate::wiring::{ChangeError, Store};

/// Begins a session with the past of another one, up to a row or all of it, and says which.
pub(super) fn fork(store: &Store, part: &str, upto: Option<u64>, json: bool) -> Result<(), Fail> {
    let from = find(store, part)?;
    if let Some(upto) = upto {
        has_past(store, &from, upto)?;
    }
    let what = format!("fork the session {from}");
    let forked = store.fork(Fork {
        from,
        upto,
        id: SessionId::new(),
        source: "run".to_owned(),
        folders: None,
        set: None,
    });
    let session = forked.map_err(|error| refused(&what, error))?;
    if json {
        return print_json(&SessionJson::from(&session));
    }
    let title = visible::line(&masked(session.title.as_deref().unwrap_or(NO_TITLE)));
    writeln!(terminal::stdout(), "{}", session.id)?;
    writeln!(
        terminal::stderr(),
        "{title}: go on with `agent run \"…\" --session {}`",
        session.id
    )?;
    Ok(())
}

/// Nobody wants a fork of nothing, so a row before the first turn's end is a slip.
fn has_past(store: &Store, from: &SessionId, upto: u64) -> Result<(), Fail> {
    match first_end(&store.rows(from, 0, usize::MAX)?) {
        Some(first) if first <= upto => Ok(()),
        Some(first) => Err(Fail::usage(format!(
            "no turn of the session {from} has ended by row {upto}: the first one ends at row {first}, so --at takes \
             {first} or more"
        ))),
        None => Err(Fail::usage(format!(
            "no turn of the session {from} has ended yet: --at has nothing to take"
        ))),
    }
}

/// The row that ends the first turn: its end, or the next prompt where it broke off.
fn first_end(rows: &[Dated]) -> Option<u64> {
    let mut first_turn = None;
    let ends = |row: &&Dated| {
        let (event, turn) = (&row.envelope.event, row.envelope.turn);
        let is_prompt = matches!(event, Event::UserMessage { command: false, .. });
        let follows = is_prompt && first_turn.is_some_and(|first| Some(first) != turn);
        first_turn = first_turn.or(turn);
        event.ends_turn() || follows
    };
    rows.iter().find(ends).map(|row| row.envelope.seq)
}

/// Gives a session another title.
pub(super) fn rename(store: &Store, part: &str, title: &str) -> Result<(), Fail> {
    let session = find(store, part)?;
    match store.rename(&session, title) {
        Ok(title) => {
            writeln!(
                terminal::stderr(),
                "{session} is called {}",
                visible::line(&masked(&title))
            )?;
            Ok(())
        }
        Err(Renamed::Change(error)) => Err(refused(&format!("rename the session {session}"), error)),
        Err(error @ (Renamed::Bad(_) | Renamed::Taken { .. })) => {
            Err(Fail::usage(format!("can't call the session {session} so: {error}")))
        }
    }
}

/// Puts sessions aside, or takes them back; none of them where one of the ids means no session.
pub(super) fn archive(store: &Store, parts: &[String], is_archived: bool) -> Result<(), Fail> {
    let doing = if is_archived { "archive" } else { "unarchive" };
    for session in found(store, parts)? {
        store
            .archive(&session, is_archived)
            .map_err(|error| refused(&format!("{doing} the session {session}"), error))?;
        let done = if is_archived { "archived" } else { "back in the list" };
        writeln!(terminal::stderr(), "{done}: {session}")?;
    }
    Ok(())
}

/// What a part of an id must have, for what can't be taken back.
const SHORTEST: usize = 4;

/// Removes sessions; none of them where one of the ids means no session.
pub(super) fn delete(store: &Store, parts: &[String]) -> Result<(), Fail> {
    if let Some(part) = parts.iter().find(|part| part.len() < SHORTEST) {
        return Err(Fail::usage(format!(
            "`{part}` is too short to delete a session by: write {SHORTEST} characters of its id or more"
        )));
    }
    for session in found(store, parts)? {
        let title = store.session(&session)?.and_then(|record| record.title);
        store
            .delete(&session)
            .map_err(|error| refused(&format!("delete the session {session}"), error))?;
        let title = visible::line(&masked(title.as_deref().unwrap_or(NO_TITLE)));
        writeln!(terminal::stderr(), "deleted {session}  {title}")?;
    }
    prune::make_room(store)
}

fn found(store: &Store, parts: &[String]) -> Result<Vec<SessionId>, Fail> {
    let found: Result<Vec<SessionId>, Fail> = parts.iter().map(|part| find(store, part)).collect();
    let mut sessions = found?;
    sessions.sort();
    sessions.dedup();
    Ok(sessions)
}

/// Why a session is as it was; `what` was to be done.
fn refused(what: &str, error: ChangeError) -> Fail {
    let exit = match &error {
        ChangeError::Unknown(_) => Exit::NoSession,
        ChangeError::Held(_) | ChangeError::NotNow(_) | ChangeError::Store(_) => Exit::Failed,
    };
    Fail {
        exit,
        error: anyhow::Error::new(error).context(format!("can't {what}")),
    }
}
