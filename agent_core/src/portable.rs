//! A stored session as one JSON document, and back.
//!
//! What looks like a key is masked unless the user wants it exact. What files held before they were changed stays in the
//! store. A document is read as what anybody may have written: all of it is checked before anything is stored.

mod masking;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::Mode;
use crate::clock::unix_ms;
use crate::event::{ContextUse, Envelope, Event};
use crate::id::SessionId;
use crate::json_path;
use crate::prompt::{Facts, Instructions};
use crate::provider::{ModelRef, Origin, ThoughtLevel, Usage};
use crate::spending;
use crate::store::{Dated, Import, Parent, SessionRecord};
use crate::title;
use masking::put_in;

/// The only form there is so far.
const FORMAT: u64 = 1;

/// The most rows that a document may have.
const ROWS: usize = 1_000_000;

/// The longest id and the longest name.
const LONGEST_ID: usize = 64;

/// Whether what looks like a key is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// It is replaced.
    Masked,
    /// It stays.
    Exact,
}

/// What a session needs beside what a list shows of it, to go on elsewhere.
#[derive(Serialize, Deserialize)]
struct Rest {
    #[serde(with = "json_path")]
    cwd: PathBuf,
    extra_roots: Vec<PathBuf>,
    origin: Origin,
    mode: Mode,
    thought: Option<ThoughtLevel>,
    system: String,
    instructions: Option<Instructions>,
    begun: Option<Facts>,
    told: Option<Facts>,
    usage: Usage,
    context: Option<ContextUse>,
}

/// What a list shows of a session. The names are a contract.
#[derive(Deserialize)]
struct Card {
    format: u64,
    id: String,
    title: Option<String>,
    source: String,
    model: String,
    created: i64,
    updated: i64,
    parent: Option<String>,
    parent_seq: Option<u64>,
    rest: Rest,
}

/// Why a document is none that can be stored. Each message says what is wrong in it.
#[derive(Debug, thiserror::Error)]
pub enum BadDocument {
    /// It is no JSON of ours.
    #[error("it is no session that was exported as JSON ({0})")]
    NotOurs(String),
    /// It is what one can't be made of again.
    #[error(
        "these are JSON lines, the rows without their session: only JSON can be imported, as `agent sessions export` writes \
         it without --format"
    )]
    Lines,
    /// It is of a later version.
    #[error("it has form {0}, and this program knows form {FORMAT}: update this program")]
    Newer(u64),
    /// Something in it can't be.
    #[error("{0}")]
    Wrong(String),
}

/// Makes the document of a session: `{session, events}`.
pub fn document(record: &SessionRecord, rows: &[Dated], keys: Keys) -> Value {
    let events: Vec<Value> = rows.iter().filter_map(|row| envelope(row, keys)).collect();
    let mut session = session(record, keys);
    session["used"] = json!(spending::shares(rows.iter().map(|row| &row.envelope.event)));
    json!({"session": session, "events": events})
}

/// An event with its place and its time, as one line of an export; none where it stays in the store.
pub fn envelope(row: &Dated, keys: Keys) -> Option<Value> {
    if is_kept_here(&row.envelope.event) {
        return None;
    }
    let mut value = serde_json::to_value(&row.envelope).ok()?;
    put_in(&mut value, keys);
    value["at"] = row.at_ms.into();
    Some(value)
}

/// What files held before they were changed: its bytes are in no document, and no document says what a file is put back
/// to.
fn is_kept_here(event: &Event) -> bool {
    matches!(event, Event::FilesKept { .. })
}

fn session(record: &SessionRecord, keys: Keys) -> Value {
    let mut value = json!({
        "id": record.id,
        "title": record.title,
        "cwd": record.cwd.to_string_lossy(),
        "source": record.source,
        "model": record.model.to_string(),
        "created": record.created_ms,
        "updated": record.updated_ms,
        "messages": record.messages,
    });
    if let Some(parent) = &record.parent {
        value["parent"] = parent.session.as_str().into();
        value["parent_seq"] = parent.seq.into();
    }
    if let Some(archived_ms) = record.archived_ms {
        value["archived"] = archived_ms.into();
    }
    if let Some(ended) = record.ended {
        value["ended"] = ended.at_ms.into();
        value["end_reason"] = ended.reason.id().into();
    }
    value["format"] = FORMAT.into();
    let rest = Rest {
        cwd: record.cwd.clone(),
        extra_roots: record.extra_roots.clone(),
        origin: record.origin.clone(),
        mode: record.mode,
        thought: record.thought,
        system: record.system.clone(),
        instructions: record.instructions.clone(),
        begun: record.begun.clone(),
        told: record.told.clone(),
        usage: record.usage,
        context: record.context,
    };
    // Folders that are no UTF-8 have no place in a list of texts; the session is told of it when it goes on.
    value["rest"] = serde_json::to_value(&rest).unwrap_or_else(|_| Value::Null);
    put_in(&mut value, keys);
    value
}

/// A session out of a document.
#[derive(Clone, Debug)]
pub struct Portable {
    /// What is stored. The session works in its own folder alone.
    pub import: Import,
    /// The further folders that it had: who has written the document gives nobody the files there.
    pub left_out: Vec<PathBuf>,
}

/// Reads a document, for `Store::import`. A session comes back in no mode that asks less than the usual one, and with no
/// folder but that in which it works: where that is, is for the user to see.
///
/// # Errors
/// When it is none of ours, or anything in it can't be.
pub fn read(bytes: &[u8]) -> Result<Portable, BadDocument> {
    #[derive(Deserialize)]
    struct Document {
        session: Value,
        events: Vec<Value>,
    }
    let not_ours = |error: serde_json::Error| match is_row(bytes) {
        true => BadDocument::Lines,
        false => BadDocument::NotOurs(error.to_string()),
    };
    let document: Document = serde_json::from_slice(bytes).map_err(not_ours)?;
    match document.session["format"].as_u64() {
        Some(FORMAT) => {}
        Some(format) => return Err(BadDocument::Newer(format)),
        None => return Err(BadDocument::NotOurs("`session.format` is missing".into())),
    }
    if document.events.len() > ROWS {
        return Err(wrong(format!("it has more than {ROWS} events")));
    }
    let card: Card = serde_json::from_value(document.session)
        .map_err(|error| wrong(format!("`session` can't be read ({error})")))?;
    debug_assert_eq!(card.format, FORMAT);
    let mut record = record(card)?;
    let left_out = std::mem::take(&mut record.extra_roots);
    let mut rows: Vec<Dated> = Vec::with_capacity(document.events.len());
    for (index, value) in document.events.into_iter().enumerate() {
        let after = rows.last().map_or(0, |row| row.envelope.seq);
        let read = row(value, &record.id, after);
        rows.extend(read.map_err(|why| wrong(format!("event {} of it: {why}", index + 1)))?);
    }
    Ok(Portable {
        import: Import { record, rows },
        left_out,
    })
}

/// Whether this begins with a line of JSON lines.
fn is_row(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let row: Value = serde_json::from_slice(line).unwrap_or_default();
    row["event"].is_object() && row["seq"].is_u64()
}

fn wrong(what: String) -> BadDocument {
    BadDocument::Wrong(what)
}

fn record(card: Card) -> Result<SessionRecord, BadDocument> {
    let now_ms = unix_ms();
    let time = |ms: i64| ms.clamp(0, now_ms);
    let id = id(&card.id).ok_or_else(|| wrong(format!("`session.id` is no id: `{}`", short(&card.id))))?;
    let parent = card.parent.as_deref().and_then(self::id);
    let model: ModelRef = card
        .model
        .parse()
        .map_err(|_| wrong(format!("`session.model` is no model: `{}`", short(&card.model))))?;
    let Rest {
        cwd,
        extra_roots,
        origin,
        mode,
        thought,
        system,
        instructions,
        begun,
        told,
        usage,
        context,
    } = card.rest;
    if !cwd.is_absolute() {
        return Err(wrong("`session.rest.cwd` is no absolute path".into()));
    }
    if cwd.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(wrong("`session.rest.cwd` has a NUL in it, as no path has".into()));
    }
    let is_name = |text: &str| text.len() <= LONGEST_ID && text.chars().all(|letter| letter.is_ascii_graphic());
    Ok(SessionRecord {
        id,
        source: Some(card.source)
            .filter(|source| is_name(source))
            .unwrap_or_else(|| "import".into()),
        cwd,
        extra_roots,
        title: card.title.and_then(|title| title::from_text(&title).ok()),
        model,
        origin,
        mode: match mode {
            Mode::Plan => Mode::Plan,
            Mode::Default | Mode::AcceptEdits | Mode::DontAsk => Mode::Default,
        },
        thought,
        system,
        instructions,
        parent: parent.map(|session| Parent {
            session,
            seq: card.parent_seq.unwrap_or(0),
        }),
        begun,
        told,
        created_ms: time(card.created),
        updated_ms: time(card.updated),
        messages: 0,
        usage,
        context,
        last_seq: 0,
        last_turn: 0,
        archived_ms: None,
        ended: None,
    })
}

/// A row of the document; none for what has no place elsewhere.
fn row(value: Value, session: &SessionId, after: u64) -> Result<Option<Dated>, String> {
    const MOST: u64 = i64::MAX as u64 / 2;
    if names_stored_bytes(&value) {
        return Err("a picture has no bytes".into());
    }
    let at_ms = value["at"].as_i64().unwrap_or(0).clamp(0, unix_ms());
    let envelope: Envelope = serde_json::from_value(value).map_err(|error| format!("it can't be read ({error})"))?;
    if envelope.session != *session {
        return Err(format!(
            "it is of another session: `{}`",
            short(envelope.session.as_str())
        ));
    }
    if is_kept_here(&envelope.event) {
        return Ok(None);
    }
    let seq = envelope.seq;
    if seq <= after || seq > MOST || envelope.turn.is_some_and(|turn| turn.0 > MOST) {
        return Err(format!("its number {seq} is not above the one before, {after}"));
    }
    if envelope.event.is_live_only() {
        return Err("it is none that is stored".into());
    }
    if let Event::HistoryMoved { keep_upto: before, .. } | Event::Compacted { before, .. } = envelope.event
        && before >= seq
    {
        return Err(format!("it names the row {before}, which is not before it"));
    }
    Ok(Some(Dated { at_ms, envelope }))
}

fn names_stored_bytes(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let is_picture = fields.get("type").is_some_and(|kind| kind == "image");
            let is_hash = |data: &Value| data.as_str().is_some_and(|data| data.starts_with("sha256:"));
            is_picture && fields.get("data").is_some_and(is_hash) || fields.values().any(names_stored_bytes)
        }
        Value::Array(items) => items.iter().any(names_stored_bytes),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn id(text: &str) -> Option<SessionId> {
    // One that begins with `-` reads as an option.
    let is_id = !text.is_empty()
        && !text.starts_with('-')
        && text.len() <= LONGEST_ID
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_id.then(|| SessionId::from(text))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Whether a stored session has all the rows of a document already, exact or masked.
pub fn has_all(stored: &[Dated], document: &[Dated]) -> bool {
    let form = |rows: &[Dated], keys| -> Vec<Value> {
        let bare = |row: &Dated| {
            let mut value = envelope(row, keys)?;
            value.as_object_mut()?.shift_remove("session");
            Some(value)
        };
        rows.iter().filter_map(bare).collect()
    };
    let wanted = form(document, Keys::Exact);
    [Keys::Exact, Keys::Masked]
        .into_iter()
        .any(|keys| form(stored, keys).starts_with(&wanted))
}

/// The same session under another id.
pub fn as_new(import: Import, id: &SessionId) -> Import {
    let Import { record, rows } = import;
    let move_row = |mut row: Dated| {
        row.envelope.session = id.clone();
        row
    };
    Import {
        record: SessionRecord {
            id: id.clone(),
            ..record
        },
        rows: rows.into_iter().map(move_row).collect(),
    }
}

#[cfg(test)]
mod tests;
