//! `agent sessions`: looks into the store, and changes it, without a runtime.

mod change;
mod export;
mod import;
mod list;
mod prune;
mod search;

use std::borrow::Cow;
use std::io::Write;

use agent_core::id::SessionId;
use agent_core::outward::SessionSummary;
use agent_core::portable::{self, Keys};
use agent_core::search::masked;
use agent_core::store::{Archived, Dated, Prune, SessionRecord};
use agent_core::visible;
use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

pub(crate) use self::list::title;
use self::list::{age, list_json, list_table, short, short_length};
use crate::args::SessionsCommand;
use crate::exit::{Exit, Fail};
use crate::outfile::Outfile;
use crate::paths::{NoHome, Paths};
use crate::terminal;
use crate::transcript::{Transcript, html, text};
use crate::wiring::{self, ListError, Store};

/// Sessions or events that are read at once.
const PAGE: usize = 500;

/// What stands for a title that there is not.
pub(crate) const NO_TITLE: &str = "(no title)";

/// Does what the command says.
pub(crate) fn sessions(command: SessionsCommand, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let paths = paths?;
    let own = paths.forbidden();
    let store = open(&command, paths)?;
    if let Some(absent) = store.absent() {
        writeln!(terminal::stderr(), "warning: {absent}")?;
    }
    let done = match command {
        SessionsCommand::List { archived, json: true } => list_json(&store, archived_too(archived)),
        SessionsCommand::List { archived, json: false } => list_table(&store, archived_too(archived)),
        SessionsCommand::Show { id, json: true, .. } => show_json(&store, &id),
        SessionsCommand::Show {
            id,
            html: true,
            output,
            force,
            ..
        } => show_page(
            &store,
            &id,
            Outfile {
                path: output.as_deref(),
                force,
                own: &own,
            },
        ),
        SessionsCommand::Show { id, .. } => show_transcript(&store, &id),
        SessionsCommand::Export {
            id,
            format,
            output,
            force,
            exact,
        } => export::export(
            &store,
            &export::Wish {
                id: &id,
                format,
                to: Outfile {
                    path: output.as_deref(),
                    force,
                    own: &own,
                },
                exact,
            },
        ),
        SessionsCommand::Import {
            file,
            cwd,
            as_new,
            json,
        } => import::import(
            &store,
            &import::Wish {
                file: &file,
                cwd: cwd.as_deref(),
                as_new,
                json,
            },
        ),
        SessionsCommand::Search {
            query,
            limit,
            offset,
            all_hits,
            archived,
            json,
        } => search::search(
            &store,
            search::Wish {
                query: query.join(" "),
                limit,
                offset,
                all_hits,
                archived,
                json,
            },
        ),
        SessionsCommand::Fork { id, at, json } => change::fork(&store, &id, at, json),
        SessionsCommand::Rename { id, title } => change::rename(&store, &id, &title.join(" ")),
        SessionsCommand::Archive { ids } => change::archive(&store, &ids, true),
        SessionsCommand::Unarchive { ids } => change::archive(&store, &ids, false),
        SessionsCommand::Delete { ids } => change::delete(&store, &ids),
        SessionsCommand::Prune {
            older_than,
            larger_than,
            dry_run,
            yes,
            json,
        } => prune::prune(
            &store,
            &Prune {
                older_than,
                larger_than,
            },
            &prune::How { dry_run, yes, json },
        ),
    };
    store.close();
    done.map(|()| Exit::Done)
}

/// The store, as the command needs it.
fn open(command: &SessionsCommand, paths: &Paths) -> anyhow::Result<Store> {
    match command.change() {
        Some(what) => wiring::stored(paths).with_context(|| format!("can't {what}, and nothing was changed")),
        None => wiring::stored_to_read(paths),
    }
}

/// The session whose id begins or ends so, or is shown with this beginning.
pub(crate) fn find(store: &Store, part: &str) -> Result<SessionId, Fail> {
    let found = store.find(part)?;
    match found.as_slice() {
        [] => Err(Fail::new(
            Exit::NoSession,
            format!("there is no session `{part}`: `agent sessions list` shows them"),
        )),
        [session] => Ok(session.clone()),
        several => Err(Fail::new(Exit::NoSession, ambiguous(store, part, several)?)),
    }
}

/// Says which sessions a part of an id could mean, a line each.
fn ambiguous(store: &Store, part: &str, ids: &[SessionId]) -> Result<String, ListError> {
    let now = Timestamp::now().as_millisecond();
    let length = short_length(ids.iter().map(SessionId::as_str));
    let mut message = format!("`{part}` could be any of these sessions; write the id of one:");
    for id in ids {
        // A session that was deleted just now is none any more.
        if let Some(session) = store.session(id)? {
            let title = visible::line(&masked(session.title.as_deref().unwrap_or(NO_TITLE)));
            let (id, age) = (short(id.as_str(), length), age(now - session.updated_ms));
            message.push_str(&format!("\n  {id}  {age:>12}  {title}"));
        }
    }
    Ok(message)
}

/// A session as programs see it. The names are a contract.
#[derive(Serialize)]
struct SessionJson<'a> {
    id: &'a SessionId,
    title: Option<Cow<'a, str>>,
    cwd: String,
    source: &'a str,
    model: String,
    created: i64,
    updated: i64,
    messages: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    archived: bool,
}

impl<'a> From<&'a SessionSummary> for SessionJson<'a> {
    fn from(session: &'a SessionSummary) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref().map(masked),
            cwd: session.cwd.display().to_string(),
            source: &session.source,
            model: session.model.to_string(),
            created: session.created_ms,
            updated: session.updated_ms,
            messages: session.messages,
            archived: session.is_archived,
        }
    }
}

impl<'a> From<&'a SessionRecord> for SessionJson<'a> {
    fn from(session: &'a SessionRecord) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref().map(masked),
            cwd: session.cwd.display().to_string(),
            source: &session.source,
            model: session.model.to_string(),
            created: session.created_ms,
            updated: session.updated_ms,
            messages: session.messages,
            archived: session.archived_ms.is_some(),
        }
    }
}

fn archived_too(archived: bool) -> Archived {
    match archived {
        true => Archived::Shown,
        false => Archived::LeftOut,
    }
}

/// A time as people in a time zone read it.
fn moment(ms: i64, zone: &TimeZone) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(timestamp) => timestamp
            .to_zoned_datetime(zone.clone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string(),
        Err(_) => "?".to_owned(),
    }
}

fn show_json(store: &Store, part: &str) -> Result<(), Fail> {
    let (session, rows) = one(store, part)?;
    print_json(&portable::document(&session, &rows, Keys::Masked))
}

fn show_page(store: &Store, part: &str, to: Outfile<'_>) -> Result<(), Fail> {
    let (session, rows) = one(store, part)?;
    let page = html::page(&transcript(store, &session, &rows)?);
    to.write(page.as_bytes())?;
    if let Some(path) = to.file() {
        writeln!(
            terminal::stderr(),
            "written to {}: open it in a browser",
            path.display()
        )?;
    }
    Ok(())
}

fn show_transcript(store: &Store, part: &str) -> Result<(), Fail> {
    let (session, rows) = one(store, part)?;
    let mut out = anstream::stdout();
    text::write(&mut out, &transcript(store, &session, &rows)?, terminal::width())?;
    out.flush()?;
    Ok(())
}

/// A session for people, in which another process may be at work.
fn transcript(store: &Store, session: &SessionRecord, rows: &[Dated]) -> Result<Transcript, Fail> {
    let is_at_work = store.held_by_other(&session.id)?.is_some();
    Ok(Transcript::of(session, rows, is_at_work))
}

/// All sessions, newest activity first.
fn all(store: &Store, archived: Archived) -> Result<Vec<SessionSummary>, ListError> {
    let mut sessions = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.list_with(None, cursor.as_deref(), PAGE, archived)?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(sessions),
        }
    }
}

fn one(store: &Store, part: &str) -> Result<(SessionRecord, Vec<Dated>), Fail> {
    let id = find(store, part)?;
    match store.session(&id)? {
        Some(session) => Ok((session, store.rows(&id, 0, usize::MAX)?)),
        None => Err(Fail::new(
            Exit::NoSession,
            format!("the session {id} was deleted just now"),
        )),
    }
}

fn print_json(document: &impl Serialize) -> Result<(), Fail> {
    let mut text = serde_json::to_vec(document)?;
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(())
}
