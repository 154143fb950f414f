//! `/search`: what the other sessions have of something, as Markdown.

use super::Told;
use crate::cancel::Cancel;
use crate::fence::code;
use crate::id::SessionId;
use crate::search::{Found, Hit, Query, Search, Slip, masked};
use crate::store::{SearchError, Store};
use crate::visible;

/// Sessions that are shown.
const SHOWN: usize = 10;

const HOW: &str = "Say what to look for: words that must all be in one message, `\"a phrase\"`, `-word`, `prefix*`. \
                   `role:user` (or `agent`, `tool`), `in:PATH`, `since:2026-01-31`, `until:7d` and `session:ID` narrow it.";

/// The answer to `/search`; none if it was cancelled.
pub(super) fn answer(store: &Store, own: &SessionId, argument: &str, cancel: &Cancel) -> Option<Told> {
    let query = Query::read(argument);
    if query.is_empty() {
        return Some(Err(HOW.to_owned()));
    }
    let search = Search {
        query,
        except: Some(own.clone()),
        archived: false,
        all_hits: false,
        offset: 0,
        limit: SHOWN,
    };
    match store.search(&search, cancel) {
        Ok(found) => Some(Ok(told(&found) + &slips(&search.query))),
        Err(SearchError::Cancelled) => None,
        Err(error @ (SearchError::NoIndex { .. } | SearchError::BrokenIndex { .. } | SearchError::Store(_))) => {
            Some(Err(format!(
                "Can't search: {}.",
                visible::line(error.to_string().trim_end_matches('.'))
            )))
        }
    }
}

fn told(found: &Found) -> String {
    let Some(first) = found.hits.first() else {
        return "Nothing is found in your other sessions.".to_owned();
    };
    let mut text: String = found.hits.iter().map(hit).collect();
    text.push_str(&format!(
        "\nOpen one from your editor's list of sessions, or in a terminal by `agent sessions show {}`, or go on with it \
         by `agent run \"…\" --session {}`.",
        first.session, first.session
    ));
    if found.more {
        text.push_str(" There are more: a further word narrows it, `agent sessions search` shows all.");
    }
    if found.cut {
        text.push_str(" Only the newest 20,000 matches were ranked.");
    }
    text
}

/// What may have been meant otherwise, a paragraph each.
fn slips(query: &Query) -> String {
    let told = |slip: &Slip| format!("\n\n{} {}.", code(slip.word()), slip.remark());
    query.slips().iter().map(told).collect()
}

fn hit(hit: &Hit) -> String {
    let title = visible::line(hit.title.as_deref().unwrap_or("(no title)"));
    let more = match hit.hits {
        ..=1 => String::new(),
        hits => format!(", {hits} matches"),
    };
    let snippet = hit.snippet.pieces().map(|(piece, is_match)| {
        let piece = plain(piece);
        if is_match { format!("**{piece}**") } else { piece }
    });
    format!(
        "- **{}** ({}, {}, by {}{more})  \n  {}  \n  {}\n",
        plain(&masked(&title)),
        code(&visible::line(&hit.cwd.to_string_lossy())),
        hit.when,
        hit.role.id(),
        snippet.collect::<String>(),
        code(hit.session.as_str()),
    )
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&' | '$'
        ) {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}
