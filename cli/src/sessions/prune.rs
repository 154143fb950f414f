//! `agent sessions prune`, and the room that is free after it or after a delete.

use std::io::{self, IsTerminal, Write};

use agent_core::search::masked;
use agent_core::store::{Candidate, Prune, Room};
use agent_core::visible;
use serde::Serialize;

use super::{NO_TITLE, moment, print_json, short, short_length};
use crate::exit::{Exit, Fail};
use crate::terminal;
use crate::wiring::Store;

/// How it is done.
pub(super) struct How {
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
}

/// A session that goes, as programs see it. The names are a contract.
#[derive(Serialize)]
struct CandidateJson<'a> {
    id: &'a str,
    title: Option<String>,
    updated: i64,
    messages: u64,
    bytes: u64,
}

impl<'a> From<&'a Candidate> for CandidateJson<'a> {
    fn from(candidate: &'a Candidate) -> Self {
        Self {
            id: candidate.id.as_str(),
            title: candidate.title.as_deref().map(|title| masked(title).into_owned()),
            updated: candidate.updated_ms,
            messages: candidate.messages,
            bytes: candidate.bytes,
        }
    }
}

/// Removes the sessions that may go, once that is clear.
pub(super) fn prune(store: &Store, prune: &Prune, how: &How) -> Result<(), Fail> {
    let candidates = store.candidates(prune)?;
    if !how.json {
        write_candidates(&mut terminal::stdout(), &candidates)?;
    }
    if candidates.is_empty() {
        writeln!(terminal::stderr(), "no session is to be deleted")?;
    } else if how.dry_run {
        writeln!(terminal::stderr(), "{} would be deleted", count(candidates.len()))?;
    } else {
        if !how.yes && !agreed(candidates.len())? {
            writeln!(terminal::stderr(), "nothing is deleted")?;
            return Ok(());
        }
        return remove(store, &candidates, how);
    }
    match how.json {
        true => print(&candidates),
        false => Ok(()),
    }
}

fn remove(store: &Store, candidates: &[Candidate], how: &How) -> Result<(), Fail> {
    let mut gone = Vec::new();
    let mut kept = Vec::new();
    for candidate in candidates {
        match store.prune(candidate) {
            Ok(()) => gone.push(candidate.clone()),
            Err(error) => {
                kept.push(format!("{} stays: {error}", candidate.id));
                // What keeps the database from being written keeps them all.
                if store.trouble().is_some() {
                    break;
                }
            }
        }
    }
    if how.json {
        print(&gone)?;
    }
    for line in &kept {
        writeln!(terminal::stderr(), "{line}")?;
    }
    writeln!(terminal::stderr(), "{} deleted", count(gone.len()))?;
    make_room(store)?;
    match candidates.len() - gone.len() {
        0 => Ok(()),
        stay => Err(Fail::new(
            Exit::Failed,
            format!("{} of those to be deleted stay: see above for why", count(stay)),
        )),
    }
}

fn print(candidates: &[Candidate]) -> Result<(), Fail> {
    print_json(&candidates.iter().map(CandidateJson::from).collect::<Vec<_>>())
}

/// Asks, where somebody can answer.
fn agreed(number: usize) -> Result<bool, Fail> {
    if !io::stdin().is_terminal() {
        return Err(Fail::usage(format!(
            "{} would be deleted for good, and nobody is there to be asked: add --yes to delete, or --dry-run to look",
            count(number)
        )));
    }
    write!(terminal::stderr(), "Delete {} for good? [y/N] ", count(number))?;
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn count(number: usize) -> String {
    match number {
        1 => "1 session".to_owned(),
        number => format!("{number} sessions"),
    }
}

/// Those that a list shows, a line each, and the others by their number.
fn write_candidates(out: &mut dyn Write, candidates: &[Candidate]) -> io::Result<()> {
    let (commands, candidates): (Vec<&Candidate>, Vec<&Candidate>) =
        candidates.iter().partition(|candidate| candidate.messages == 0);
    let length = short_length(candidates.iter().map(|candidate| candidate.id.as_str()));
    let zone = jiff::tz::TimeZone::system();
    for candidate in &candidates {
        let id = short(candidate.id.as_str(), length);
        let title = visible::line(&masked(candidate.title.as_deref().unwrap_or(NO_TITLE)));
        let updated = moment(candidate.updated_ms, &zone);
        writeln!(out, "{id:length$}  {updated:16}  {:>9}  {title}", size(candidate.bytes))?;
    }
    let bytes = size(commands.iter().map(|candidate| candidate.bytes).sum());
    let and = if candidates.is_empty() { "" } else { "and " };
    match commands.len() {
        0 => Ok(()),
        1 => writeln!(
            out,
            "{and}1 session that holds only slash commands, which no list shows ({bytes})"
        ),
        number => writeln!(
            out,
            "{and}{number} sessions that hold only slash commands, which no list shows ({bytes})"
        ),
    }
}

/// Bytes as people say them.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Makes the file smaller where that pays, and says so. That it can't be done is no failure of what was.
pub(super) fn make_room(store: &Store) -> Result<(), Fail> {
    let line = match store.make_room() {
        Ok(Room::Kept) => return Ok(()),
        Ok(Room::Given(bytes)) => format!("the database is {} smaller", size(bytes)),
        Ok(Room::Later(bytes)) => format!(
            "{} of the database are free; it gets smaller by a delete or prune while no agent runs",
            size(bytes)
        ),
        Err(error) => format!("the database keeps its size: {error}"),
    };
    writeln!(terminal::stderr(), "{line}")?;
    Ok(())
}
