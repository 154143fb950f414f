//! Whether a service of each dialect would take a conversation: what their documents and their error answers say.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::collections::HashSet;

use providers::Dialect;
use serde_json::Value;

/// What is wrong with a request; nothing if a service would take it.
pub(crate) type Verdict = Result<(), String>;

/// Judges the body of a request.
pub(crate) fn judge(dialect: Dialect, body: &Value) -> Verdict {
    let verdict = match dialect {
        Dialect::OpenaiChat => chat::judge(body),
        Dialect::OpenaiResponses => responses::judge(body),
        Dialect::Anthropic => anthropic::judge(body),
        Dialect::Gemini => gemini::judge(body),
    };
    verdict.map_err(|fault| {
        let mut body = body.clone();
        body["tools"] = Value::Null;
        format!("{}: {fault}\n{body:#}", dialect.name())
    })
}

fn ensure(is_so: bool, fault: impl FnOnce() -> String) -> Verdict {
    if is_so { Ok(()) } else { Err(fault()) }
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    let list = value.as_array().filter(|list| !list.is_empty());
    list.map(Vec::as_slice)
        .ok_or_else(|| format!("{what} is no list or empty: {value}"))
}

fn text<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("{what} is no text or says nothing: {value}"))
}

/// A tool's name as all services take it.
fn tool_name(value: &Value) -> Verdict {
    let name = text(value, "a tool's name")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    ensure(name.len() <= 64 && name.chars().all(is_plain), || {
        format!("no service takes {name:?} as a tool's name")
    })
}

/// Arguments as text.
fn arguments(value: &Value) -> Verdict {
    let text = text(value, "arguments")?;
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    ensure(parsed.is_some_and(|parsed| parsed.is_object()), || {
        format!("arguments are no object: {text}")
    })
}

/// Adds a call's id, which must be a new one.
fn new_id<'a>(value: &'a Value, longest: usize, ids: &mut HashSet<&'a str>) -> Verdict {
    let id = text(value, "a call's id")?;
    ensure(id.len() <= longest, || format!("the id {id} is too long"))?;
    ensure(ids.insert(id), || format!("two calls have the id {id}"))
}
