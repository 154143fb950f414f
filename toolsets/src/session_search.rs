//! The tool `session_search`: looks into the user's other sessions. It finds, reads around a hit, reads the ends of a
//! session, or lists the recent ones.
//!
//! What looks like a key is masked: a model has no use for one of another session.

use std::fmt::Write;

use agent_core::cancel::Cancel;
use agent_core::event::{Display, ToolKind, ToolOutput};
use agent_core::id::SessionId;
use agent_core::plan::Plan;
use agent_core::provider::ToolSpec;
use agent_core::search::{FROM_HISTORY, Found, Hit, Part, Passage, Query, Search, masked};
use agent_core::store::{ListError, Store, StoreError};
use agent_core::tool::{Planned, Tool, ToolError};
use agent_core::visible;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{input, title};

/// Hits or sessions on a page.
const PAGE: usize = 10;
/// Passages before a hit and behind it, or at each end of a session.
const AROUND: usize = 5;
const ENDS: usize = 3;
/// Bytes of a passage, and of all.
const PASSAGE: usize = 1_500;
const OUTPUT: usize = 12_000;
/// As much of an id's end as tells sessions apart, since its beginning is a time.
const SHORT_ID: usize = 10;

/// Looks into the other sessions.
pub(crate) struct SessionSearch {
    store: Store,
    /// The session that asks, which knows its own past.
    own: SessionId,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    session: Option<String>,
    #[serde(default, deserialize_with = "input::number")]
    around: Option<u64>,
    #[serde(default, deserialize_with = "input::number")]
    offset: Option<u64>,
}

/// What a call wants.
enum Wanted {
    Hits { query: String, offset: u64 },
    Part { session: String, part: Part },
    Recent,
}

impl SessionSearch {
    pub(crate) fn new(store: Store, own: SessionId) -> Self {
        let text = json!({"type": "string"});
        let number = json!({"type": "integer"});
        let spec = ToolSpec {
            name: "session_search".to_owned(),
            description:
                "Search past sessions. query: words, \"phrase\", -word, prefix*, role:user, in:PATH, since:7d. \
                          session: its ends, or with around a row's surroundings. Nothing: recent sessions."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"query": text, "session": text, "around": number, "offset": number}
            }),
        };
        Self { store, own, spec }
    }
}

impl Tool for SessionSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn title(&self, input: &Value) -> String {
        let text = |field: &str| input.get(field).and_then(Value::as_str);
        title::line(&match (text("query"), text("session")) {
            (Some(query), _) if !query.trim().is_empty() => format!("Search the history for {query}"),
            (_, Some(session)) => format!("Read the session {session}"),
            (_, None) => "List the recent sessions".to_owned(),
        })
    }

    fn only_reads(&self, _input: &Value) -> bool {
        true
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let wanted = Wanted::from(input::parse::<Arguments>(&self.spec.name, input)?);
        let (store, own) = (self.store.clone(), self.own.clone());
        Ok(Planned {
            plan: Plan::Inward,
            locations: Vec::new(),
            action: Box::new(move |run| {
                let text = match wanted {
                    Wanted::Hits { query, offset } => find(&store, own, &query, offset, run.cancel)?,
                    Wanted::Part { session, part } => read(&store, &own, &session, part)?,
                    Wanted::Recent => recent(&store, &own)?,
                };
                Ok(ToolOutput {
                    display: Display::Verbatim,
                    raw: Some(json!({FROM_HISTORY: true})),
                    ..ToolOutput::text(text)
                })
            }),
        })
    }
}

impl From<Arguments> for Wanted {
    /// A query that is given wins, since a model that fills in every field means it.
    fn from(arguments: Arguments) -> Self {
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        match (said(arguments.query), said(arguments.session)) {
            (Some(query), None) => Self::Hits {
                query,
                offset: arguments.offset.unwrap_or(0),
            },
            (Some(query), Some(session)) if arguments.around.is_none() => Self::Hits {
                query: format!("{query} session:{session}"),
                offset: arguments.offset.unwrap_or(0),
            },
            (_, Some(session)) => Self::Part {
                session,
                part: arguments.around.map_or(Part::Ends, Part::Around),
            },
            (None, None) => Self::Recent,
        }
    }
}

fn find(store: &Store, own: SessionId, query: &str, offset: u64, cancel: &Cancel) -> Result<String, ToolError> {
    let query = Query::read(query);
    if query.is_empty() {
        return Err(ToolError::new(
            "session_search: the query has no word that could be found; name at least one that must match",
        ));
    }
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let search = Search {
        query,
        except: Some(own),
        archived: false,
        all_hits: false,
        offset,
        limit: PAGE,
    };
    let found = store
        .search(&search, cancel)
        .map_err(|error| ToolError::new(format!("session_search: {error}")))?;
    // Before what may be cut.
    let slips: String = search.query.slips().iter().map(|slip| format!("{slip}\n")).collect();
    Ok(bounded(&(slips + &hits(&found, offset))))
}

fn hits(found: &Found, offset: usize) -> String {
    let mut text: String = found.hits.iter().map(hit).collect();
    if found.hits.is_empty() {
        text.push_str("Nothing is found in other sessions. Try fewer words, or prefix*.\n");
    }
    if found.more {
        writeln!(text, "More with offset {}.", offset + found.hits.len()).expect("a string takes all");
    }
    if found.cut {
        text.push_str("Only the newest 20000 matches were ranked; a further word finds older ones.\n");
    }
    text
}

fn hit(hit: &Hit) -> String {
    let title = visible::line(hit.title.as_deref().unwrap_or("(no title)"));
    let more = match hit.hits {
        ..=1 => String::new(),
        hits => format!(", {hits} matches"),
    };
    format!(
        "session {} around {}, {} {}{more}: {} ({})\n  {}\n",
        short(&hit.session),
        hit.seq,
        hit.when,
        hit.role.id(),
        masked(&title),
        visible::line(&hit.cwd.to_string_lossy()),
        hit.snippet.marked("**", "**"),
    )
}

fn read(store: &Store, own: &SessionId, name: &str, part: Part) -> Result<String, ToolError> {
    let session = match store.find(name).map_err(unreadable)?.as_slice() {
        [] => {
            return Err(ToolError::new(format!(
                "session_search: there is no session {name:?}; take an id that a search or the list shows"
            )));
        }
        [session] => session.clone(),
        [_, _, ..] => {
            return Err(ToolError::new(format!(
                "session_search: {name:?} could be several sessions; write more of the id"
            )));
        }
    };
    if session == *own {
        return Err(ToolError::new(
            "session_search: that is this session, which you know already",
        ));
    }
    let most = match part {
        Part::Around(_) => AROUND,
        Part::Ends => ENDS,
    };
    let passages = store.excerpt(&session, part, most).map_err(unreadable)?;
    if passages.is_empty() {
        return Ok("Nothing was said there.\n".to_owned());
    }
    Ok(bounded(&passages.iter().map(passage).collect::<String>()))
}

fn passage(passage: &Passage) -> String {
    let text = masked(&passage.text);
    let text = text.trim();
    let cut = &text[..text.floor_char_boundary(PASSAGE)];
    let rest = match text.len() - cut.len() {
        0 => String::new(),
        bytes => format!("… ({bytes} more bytes)"),
    };
    format!("[{} {} {}] {cut}{rest}\n", passage.seq, passage.role.id(), passage.when)
}

fn recent(store: &Store, own: &SessionId) -> Result<String, ToolError> {
    let page = store.list(None, None, PAGE + 1).map_err(|error| match error {
        ListError::Store(error) => unreadable(error),
        ListError::BadCursor => ToolError::new("session_search: there is no such page"),
    })?;
    let others = page.sessions.iter().filter(|session| session.id != *own);
    let mut text = String::new();
    for session in others.take(PAGE) {
        let title = visible::line(session.title.as_deref().unwrap_or("(no title)"));
        writeln!(
            text,
            "session {}, {}, {} messages: {} ({})",
            short(&session.id),
            moment(session.updated_ms),
            session.messages,
            masked(&title),
            visible::line(&session.cwd.to_string_lossy()),
        )
        .expect("a string takes all");
    }
    if text.is_empty() {
        text.push_str("There are no other sessions.\n");
    }
    Ok(bounded(&text))
}

fn unreadable(error: StoreError) -> ToolError {
    ToolError::new(format!("session_search: {error}"))
}

fn short(id: &SessionId) -> &str {
    let id = id.as_str();
    id.get(id.len().saturating_sub(SHORT_ID)..).unwrap_or(id)
}

fn moment(ms: i64) -> String {
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    moment
        .to_zoned_datetime(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// The text, cut with a note if it is long.
fn bounded(text: &str) -> String {
    if text.len() <= OUTPUT {
        return text.to_owned();
    }
    format!("{}\n… cut; ask for less\n", &text[..text.floor_char_boundary(OUTPUT)])
}

#[cfg(test)]
mod tests;
