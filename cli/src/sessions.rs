//! `agent sessions`: looks into the store without a runtime.

use std::io::Write;

use agent_core::event::Envelope;
use agent_core::id::SessionId;
use agent_core::outward::SessionSummary;
use agent_core::store::SessionRecord;
use agent_core::visible;
use serde::Serialize;

use crate::args::SessionsCommand;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::run::people::{Audience, People};
use crate::terminal;
use crate::wiring::{self, ListError, Store};

/// Sessions or events that are read at once.
const PAGE: usize = 500;
/// The beginning of an id that is shown in the list: its time and 12 random bits.
const SHORT_ID: usize = 16;

/// Does what the command says.
pub(crate) fn sessions(command: SessionsCommand, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    let store = wiring::stored(paths?)?;
    let done = match command {
        SessionsCommand::List { json: true } => list_json(&store),
        SessionsCommand::List { json: false } => list_table(&store),
        SessionsCommand::Show { id, json: true } => show_json(&store, &id),
        SessionsCommand::Show { id, json: false } => show_transcript(&store, &id),
    };
    store.close();
    done.map(|()| Exit::Done)
}

/// The session whose id begins so.
pub(crate) fn find(store: &Store, prefix: &str) -> Result<SessionId, Fail> {
    let mut found = store.find(prefix)?;
    match (found.pop(), found.len()) {
        (Some(session), 0) => Ok(session),
        (None, _) => Err(Fail::new(
            Exit::NoSession,
            format!("there is no session `{prefix}`: `agent sessions list` shows them"),
        )),
        (Some(_), others) => Err(Fail::new(
            Exit::NoSession,
            format!("`{prefix}` begins the ids of {} sessions: write more of it", others + 1),
        )),
    }
}

/// A session as programs see it. The names are a contract.
#[derive(Serialize)]
struct SessionJson<'a> {
    id: &'a SessionId,
    title: Option<&'a str>,
    cwd: String,
    source: &'a str,
    model: String,
    created: i64,
    updated: i64,
    messages: u64,
}

impl<'a> From<&'a SessionSummary> for SessionJson<'a> {
    fn from(session: &'a SessionSummary) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref(),
            cwd: session.cwd.display().to_string(),
            source: &session.source,
            model: session.model.to_string(),
            created: session.created_ms,
            updated: session.updated_ms,
            messages: session.messages,
        }
    }
}

impl<'a> From<&'a SessionRecord> for SessionJson<'a> {
    fn from(session: &'a SessionRecord) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref(),
            cwd: session.cwd.display().to_string(),
            source: &session.source,
            model: session.model.to_string(),
            created: session.created_ms,
            updated: session.updated_ms,
            messages: session.messages,
        }
    }
}

/// One session with all that happened in it.
#[derive(Serialize)]
struct SessionDocument<'a> {
    session: SessionJson<'a>,
    events: &'a [Envelope],
}

fn list_json(store: &Store) -> Result<(), Fail> {
    let sessions = all(store)?;
    let array: Vec<SessionJson<'_>> = sessions.iter().map(SessionJson::from).collect();
    print_json(&array)
}

fn list_table(store: &Store) -> Result<(), Fail> {
    let sessions = all(store)?;
    if sessions.is_empty() {
        writeln!(terminal::stderr(), "no sessions yet: `agent run \"…\"` begins one")?;
        return Ok(());
    }
    write_table(&mut terminal::stdout(), &sessions)?;
    Ok(())
}

fn write_table(out: &mut dyn Write, sessions: &[SessionSummary]) -> std::io::Result<()> {
    writeln!(out, "{:SHORT_ID$}  {:16}  {:>8}  TITLE", "ID", "UPDATED", "MESSAGES")?;
    for session in sessions {
        let id: String = session.id.as_str().chars().take(SHORT_ID).collect();
        // Also in a pipe: a row is one line. Programs take `--json`.
        let title = visible::line(session.title.as_deref().unwrap_or("(no title)"));
        let cwd = visible::line(&session.cwd.to_string_lossy());
        let (updated, messages) = (moment(session.updated_ms), session.messages);
        writeln!(out, "{id:SHORT_ID$}  {updated:16}  {messages:>8}  {title}  ({cwd})")?;
    }
    Ok(())
}

/// A time as people in this time zone read it.
fn moment(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(timestamp) => timestamp
            .to_zoned_datetime(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M")
            .to_string(),
        Err(_) => "?".to_owned(),
    }
}

fn show_json(store: &Store, prefix: &str) -> Result<(), Fail> {
    let (session, events) = one(store, prefix)?;
    print_json(&SessionDocument {
        session: SessionJson::from(&session),
        events: &events,
    })
}

fn show_transcript(store: &Store, prefix: &str) -> Result<(), Fail> {
    let (session, events) = one(store, prefix)?;
    let title = session.title.as_deref().unwrap_or("(no title)");
    writeln!(
        terminal::stdout(),
        "{title}\n{}  {}\n",
        session.id,
        session.cwd.display()
    )?;
    let mut people = People::new(anstream::stdout(), anstream::stdout(), Audience::Transcript);
    for envelope in &events {
        people.print(&envelope.event)?;
    }
    Ok(())
}

/// All sessions, newest activity first.
fn all(store: &Store) -> Result<Vec<SessionSummary>, ListError> {
    let mut sessions = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.list(None, cursor.as_deref(), PAGE)?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(sessions),
        }
    }
}

fn one(store: &Store, prefix: &str) -> Result<(SessionRecord, Vec<Envelope>), Fail> {
    let id = find(store, prefix)?;
    let Some(session) = store.session(&id)? else {
        return Err(Fail::new(
            Exit::NoSession,
            format!("the session {id} was deleted just now"),
        ));
    };
    let mut events: Vec<Envelope> = Vec::new();
    loop {
        let after = events.last().map_or(0, |envelope| envelope.seq);
        let page = store.events(&id, after, PAGE)?;
        if page.is_empty() {
            return Ok((session, events));
        }
        events.extend(page);
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
        assert!(
            text.contains("0199c3aabbcc7ddd  ") && !text.contains('\u{1b}'),
            "{text}"
        );
    }
}
