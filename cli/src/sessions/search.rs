//! `agent sessions search`: what the stored sessions have of something.

use std::io::Write;

use agent_core::cancel::Cancel;
use agent_core::id::SessionId;
use agent_core::search::{RANKED, masked};
use agent_core::visible;
use serde::Serialize;

use super::{NO_TITLE, print_json, short, short_length};
use crate::exit::Fail;
use crate::terminal;
use crate::wiring::{Found, Hit, Query, Search, Store};

/// What is looked for, and how it is shown.
pub(super) struct Wish {
    pub(super) query: String,
    pub(super) limit: usize,
    pub(super) offset: usize,
    pub(super) all_hits: bool,
    pub(super) archived: bool,
    pub(super) json: bool,
}

/// A hit as programs see it. The names are a contract.
#[derive(Serialize)]
struct HitJson<'a> {
    session: &'a SessionId,
    title: Option<std::borrow::Cow<'a, str>>,
    cwd: String,
    seq: u64,
    role: &'static str,
    at: i64,
    snippet: String,
    hits: u64,
}

impl<'a> From<&'a Hit> for HitJson<'a> {
    fn from(hit: &'a Hit) -> Self {
        Self {
            session: &hit.session,
            title: hit.title.as_deref().map(masked),
            cwd: hit.cwd.display().to_string(),
            seq: hit.seq,
            role: hit.role.id(),
            at: hit.at_ms,
            snippet: hit.snippet.marked("**", "**"),
            hits: hit.hits,
        }
    }
}

/// Looks, and prints what is found.
pub(super) fn search(store: &Store, wish: Wish) -> Result<(), Fail> {
    let query = Query::read(&wish.query);
    if query.is_empty() {
        writeln!(
            terminal::stderr(),
            "the query has no word that could be found: name at least one that must match"
        )?;
    }
    let search = Search {
        query,
        except: None,
        archived: wish.archived,
        all_hits: wish.all_hits,
        offset: wish.offset,
        limit: wish.limit,
    };
    let found = store.search(&search, &Cancel::new())?;
    if wish.json {
        print_json(&found.hits.iter().map(HitJson::from).collect::<Vec<_>>())?;
    } else {
        write_hits(&mut terminal::stdout(), &found.hits)?;
    }
    write_notes(&mut terminal::stderr(), &search, &found)?;
    Ok(())
}

fn write_hits(out: &mut dyn Write, hits: &[Hit]) -> std::io::Result<()> {
    let length = short_length(
        hits.iter()
            .map(|hit| hit.session.as_str())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter(),
    );
    for hit in hits {
        let id = short(hit.session.as_str(), length);
        let title = visible::line(hit.title.as_deref().unwrap_or(NO_TITLE));
        let cwd = visible::line(&hit.cwd.to_string_lossy());
        writeln!(out, "{id:length$}  {}  {}  ({cwd})", hit.when, masked(&title))?;
        let matches = match hit.hits {
            ..=1 => String::new(),
            hits => format!("  [{hits} matches]"),
        };
        let snippet = hit.snippet.marked("**", "**");
        writeln!(out, "    {}: {snippet}{matches}", hit.role.id())?;
    }
    Ok(())
}

fn write_notes(out: &mut dyn Write, search: &Search, found: &Found) -> std::io::Result<()> {
    if found.hits.is_empty() && !search.query.is_empty() {
        writeln!(out, "nothing is found")?;
    }
    for slip in search.query.slips() {
        writeln!(out, "{slip}")?;
    }
    if found.more {
        writeln!(out, "there are more: --offset {}", search.offset + found.hits.len())?;
    }
    if found.cut {
        writeln!(
            out,
            "only the newest {RANKED} matches were ranked: a further word finds older ones"
        )?;
    }
    Ok(())
}
