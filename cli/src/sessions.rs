//! `agent sessions`: looks into the store, and changes it, without a runtime.

mod change;
mod export;
mod import;
mod prune;
mod search;

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;

use agent_core::id::SessionId;
use agent_core::outward::SessionSummary;
use agent_core::portable::{self, Keys};
use agent_core::search::masked;
use agent_core::store::{Archived, Dated, Prune, SHOWN, SessionRecord};
use agent_core::visible;
use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

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
    let store = open(&command, paths?)?;
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

/// What a session is called, for people.
pub(crate) fn title(session: &SessionSummary) -> Cow<'_, str> {
    masked(session.title.as_deref().unwrap_or(NO_TITLE))
}

/// How much of the ids' ends tells them apart.
fn short_length<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let ids: Vec<&str> = ids.collect();
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let are_distinct = |length: &usize| {
        let ends: HashSet<&str> = ids.iter().map(|id| short(id, *length)).collect();
        ends.len() == ids.len()
    };
    (SHOWN..longest).find(are_distinct).unwrap_or(longest.max(SHOWN))
}

/// The end of an id. Our own are hexadecimal; one that is not stays whole.
fn short(id: &str, length: usize) -> &str {
    id.get(id.len().saturating_sub(length)..).unwrap_or(id)
}

/// How long ago something was, as people say it.
fn age(ms: i64) -> String {
    match ms / 60_000 {
        ..1 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        minutes @ 60..2880 => format!("{} h ago", minutes / 60),
        minutes => format!("{} days ago", minutes / 1440),
    }
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

fn list_json(store: &Store, archived: Archived) -> Result<(), Fail> {
    let sessions = all(store, archived)?;
    let array: Vec<SessionJson<'_>> = sessions.iter().map(SessionJson::from).collect();
    print_json(&array)
}

fn list_table(store: &Store, archived: Archived) -> Result<(), Fail> {
    let sessions = all(store, archived)?;
    if sessions.is_empty() {
        writeln!(terminal::stderr(), "no sessions yet: `agent run \"…\"` begins one")?;
        return Ok(());
    }
    write_table(&mut terminal::stdout(), &sessions)?;
    Ok(())
}

fn write_table(out: &mut dyn Write, sessions: &[SessionSummary]) -> std::io::Result<()> {
    let length = short_length(sessions.iter().map(|session| session.id.as_str()));
    let zone = TimeZone::system();
    // Without a zone of one's own times are in UTC, which is not taken for the time on the wall.
    let is_utc = zone.is_unknown() || zone.to_offset_info(Timestamp::now()).abbreviation() == "UTC";
    let updated = if is_utc { "UPDATED (UTC)" } else { "UPDATED" };
    writeln!(out, "{:length$}  {updated:16}  {:>8}  TITLE", "ID", "MESSAGES")?;
    for session in sessions {
        let id = short(session.id.as_str(), length);
        // Also in a pipe: a row is one line. Programs take `--json`.
        let title = visible::line(&masked(session.title.as_deref().unwrap_or(NO_TITLE)));
        let mark = if session.is_archived { "  [archived]" } else { "" };
        let cwd = visible::line(&session.cwd.to_string_lossy());
        let (updated, messages) = (moment(session.updated_ms, &zone), session.messages);
        writeln!(out, "{id:length$}  {updated:16}  {messages:>8}  {title}  ({cwd}){mark}")?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn session() -> SessionSummary {
        SessionSummary {
            id: "0199c3aabbcc7dddeeff".into(),
            cwd: "/w".into(),
            extra_roots: Vec::new(),
            title: Some("Fix\nit\u{1b}[2J".into()),
            source: "run".into(),
            model: "openai/gpt-5".parse().unwrap(),
            created_ms: 1,
            updated_ms: 2,
            messages: 3,
            is_archived: false,
        }
    }

    #[test]
    fn the_json_of_a_session_has_the_promised_names() {
        let json = serde_json::to_string(&SessionJson::from(&session())).unwrap();
        let expect = r#"{"id":"0199c3aabbcc7dddeeff","title":"Fix\nit\u001b[2J","cwd":"/w","source":"run","model":"openai/gpt-5","created":1,"updated":2,"messages":3}"#;
        assert_eq!(json, expect);
    }

    #[test]
    fn a_row_is_one_line_whatever_the_title_holds() {
        let mut out = Vec::new();
        write_table(&mut out, &[session()]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("\n7dddeeff  ") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn ids_are_shown_by_as_much_of_their_ends_as_tells_them_apart() {
        let check = |ids: &[&str], expect: usize| {
            assert_eq!(short_length(ids.iter().copied()), expect, "{ids:?}");
        };
        check(&[], 8);
        check(&["0199c3aabbcc7dddeeff"], 8);
        check(&["0199c3aabbcc7dddeeff", "0199c3aabbcc8dddeeff"], 8);
        check(&["0199c3aabbcc7dddeeff", "0199c3aabbcd7dddeeff"], 9);
        check(&["abc", "7dddeeff", "1abc"], 8);
    }

    #[test]
    fn an_age_is_told_as_people_say_it() {
        let minute = 60_000;
        let check = |ms: i64, expect: &str| assert_eq!(age(ms), expect, "{ms}");
        check(-5, "just now");
        check(minute - 1, "just now");
        check(minute * 59, "59 min ago");
        check(minute * 60, "1 h ago");
        check(minute * 60 * 47, "47 h ago");
        check(minute * 60 * 48, "2 days ago");
    }
}
