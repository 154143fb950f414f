//! What a record that was found without its table can only be.

use rusqlite::types::Value;

use super::body;
use super::layout::KEYED;
use super::leaf::Record;
use super::table::LAST_ID;

/// A row of one of our tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// An event of a session, which is named by its number, or in older schemas by its id.
    Event { id: i64, session: Value, seq: i64 },
    /// A session. Of two rows of it, the one with more events is the newer one.
    Session { id: String, last_seq: i64 },
    /// Bytes under their hash.
    Bytes,
    /// A standing permission.
    Grant,
}

/// What a record is; none if it is nothing that we look for.
pub(super) fn of(record: &Record) -> Option<Found> {
    match record.rowid {
        Some(id) => event(id, &record.values)
            .or_else(|| session(&record.values))
            .or_else(|| grant(&record.values)),
        None => match record.values.as_slice() {
            [Value::Text(sha256), Value::Blob(bytes)] if body::is_hash_of(sha256, bytes) => Some(Found::Bytes),
            _ => None,
        },
    }
}

/// Whether a row of events is one of a schema.
pub(super) fn is_of(steps: usize, session: &Value) -> bool {
    (steps >= KEYED) == matches!(session, Value::Integer(_))
}

fn event(id: i64, values: &[Value]) -> Option<Found> {
    let (values, original) = match values {
        [values @ .., original] if values.len() == 7 => (values, original),
        values => (values, &Value::Null),
    };
    let [
        Value::Null,
        session,
        Value::Integer(seq),
        turn,
        Value::Integer(_),
        Value::Text(kind),
        body,
    ] = values
    else {
        return None;
    };
    let Value::Text(body) = body else { return None };
    let is_named = match session {
        Value::Integer(key) => *key > 0,
        Value::Text(id) => !id.is_empty(),
        Value::Null | Value::Real(_) | Value::Blob(_) => false,
    };
    let is_place = (1..LAST_ID).contains(&id) && *seq > 0;
    let is_ours =
        is_place && is_named && is_number(turn) && is_number(original) && body::is_of_kind(kind, body.as_bytes());
    is_ours.then(|| Found::Event {
        id,
        session: session.clone(),
        seq: *seq,
    })
}

/// An integer, or nothing.
fn is_number(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::Null)
}

/// The first 23 values are those of the first schema; later ones have added others behind them.
fn session(values: &[Value]) -> Option<Found> {
    const FIRST: usize = 23;
    let (Some(first), Some(Value::Text(id))) = (values.get(..FIRST), values.first()) else {
        return None;
    };
    let is_text = |at: &usize| matches!(first[*at], Value::Text(_));
    let is_path = |at: &usize| matches!(first[*at], Value::Text(_) | Value::Blob(_));
    let is_json = |at: &usize| {
        let Value::Text(text) = &first[*at] else { return false };
        serde_json::from_str::<serde_json::Value>(text).is_ok_and(|json| json.is_array() || json.is_object())
    };
    let is_count = |at: &usize| matches!(first[*at], Value::Integer(_));
    let is_ours = [1, 6, 8, 9].iter().all(is_text)
        && [2, 3].iter().all(is_path)
        && [4, 7].iter().all(is_json)
        && matches!(first[5], Value::Text(_) | Value::Null)
        && [10, 11, 12, 20, 21, 22].iter().all(is_count)
        && first[13..20].iter().all(is_number)
        && !id.is_empty();
    let Value::Integer(last_seq) = first[20] else {
        return None;
    };
    is_ours.then(|| Found::Session {
        id: id.clone(),
        last_seq,
    })
}

fn grant(values: &[Value]) -> Option<Found> {
    let (values, tool) = match values {
        [values @ .., tool] if values.len() == 5 => (values, tool),
        values => (values, &Value::Null),
    };
    let [Value::Null, root, program, Value::Text(args), Value::Integer(_)] = values else {
        return None;
    };
    let is_path = |value: &Value| matches!(value, Value::Text(_) | Value::Blob(_));
    let is_ours = is_path(root)
        && is_path(program)
        && serde_json::from_str::<Vec<serde_json::Value>>(args).is_ok()
        && matches!(tool, Value::Text(_) | Value::Null);
    is_ours.then_some(Found::Grant)
}
