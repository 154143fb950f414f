//! Sessions in a table, and as JSON.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;

use agent_core::outward::SessionSummary;
use agent_core::search::masked;
use agent_core::store::{Archived, SHOWN};
use agent_core::visible;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{NO_TITLE, SessionJson, all, moment, print_json};
use crate::exit::Fail;
use crate::terminal;
use crate::wiring::Store;

/// What a session is called, for people.
pub(crate) fn title(session: &SessionSummary) -> Cow<'_, str> {
    masked(session.title.as_deref().unwrap_or(NO_TITLE))
}

/// How much of the ids' ends tells them apart.
pub(super) fn short_length<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let ids: Vec<&str> = ids.collect();
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let are_distinct = |length: &usize| {
        let ends: HashSet<&str> = ids.iter().map(|id| short(id, *length)).collect();
        ends.len() == ids.len()
    };
    (SHOWN..longest).find(are_distinct).unwrap_or(longest.max(SHOWN))
}

/// The end of an id. Our own are hexadecimal; one that is not stays whole.
pub(super) fn short(id: &str, length: usize) -> &str {
    id.get(id.len().saturating_sub(length)..).unwrap_or(id)
}

/// How long ago something was, as people say it.
pub(super) fn age(ms: i64) -> String {
    match ms / 60_000 {
        ..1 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        minutes @ 60..2880 => format!("{} h ago", minutes / 60),
        minutes => format!("{} days ago", minutes / 1440),
    }
}

pub(super) fn list_json(store: &Store, archived: Archived) -> Result<(), Fail> {
    let sessions = all(store, archived)?;
    let array: Vec<SessionJson<'_>> = sessions.iter().map(SessionJson::from).collect();
    print_json(&array)
}

pub(super) fn list_table(store: &Store, archived: Archived) -> Result<(), Fail> {
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
