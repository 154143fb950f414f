//! What came of a question, in one line: thought, text, calls (`new` for a made-up id), usage as prompt, cached,
//! written, output and reasoning, and the finish or the class of the error.

use std::fs;

use agent_core::event::CallInput;
use agent_core::provider::{Call, ProviderError, Usage};
use providers::Dialect;
use serde_json::Value;
use talaria_tests::mock::Reply as Answer;

use crate::ask::{Outcome, ask_once_in, file, path};

pub(crate) fn check(name: &str, answer: Answer, expect: &str) {
    check_in(Dialect::OpenaiChat, name, answer, expect);
}

pub(crate) fn check_in(dialect: Dialect, name: &str, answer: Answer, expect: &str) {
    assert_eq!(tell(&ask_once_in(dialect, answer)), expect, "{name}");
}

/// A stream comes out the same however it is cut into pieces.
pub(crate) fn check_stream(dialect: Dialect, name: &str, expect: &str) {
    let body = file(&format!("{name}.sse"));
    let offsets = fs::read_to_string(path(&format!("{name}.chunks"))).unwrap_or_default();
    let offsets = offsets.lines().map(|line| line.parse().unwrap()).collect();
    check_in(dialect, name, Answer::sse(body.clone()).in_pieces(offsets), expect);
    check_in(dialect, name, Answer::sse(body.clone()), expect);
    check_in(dialect, name, Answer::sse(body).byte_by_byte(), expect);
}

/// Each stream of the folder that begins with this word is in a table.
pub(crate) fn check_complete(prefix: &str, table: &[(&str, &str)]) {
    let mut found: Vec<String> = fs::read_dir(path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".sse").map(str::to_owned))
        .filter(|name| name.starts_with(prefix))
        .collect();
    found.sort();
    assert_eq!(found, table.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// An outcome in one line, as in the tables above.
pub(crate) fn tell(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    for (what, text) in [("thought", &outcome.thought), ("text", &outcome.text)] {
        if !text.is_empty() {
            parts.push(format!("{what} {text:?}"));
        }
    }
    match &outcome.end {
        Ok(reply) => {
            parts.extend(reply.calls.iter().map(tell_call));
            parts.push(tell_usage(reply.usage));
            parts.push(format!("{:?}", reply.finish));
        }
        Err(ProviderError::Failed(failure)) => parts.push(format!("error {:?}", failure.class)),
        Err(ProviderError::Cancelled) => parts.push("cancelled".into()),
    }
    parts.join(" · ")
}

pub(crate) fn without_usage(told: &str) -> String {
    let parts: Vec<&str> = told.split(" · ").filter(|part| !part.starts_with("usage")).collect();
    parts.join(" · ")
}

fn tell_call(call: &Call) -> String {
    let id = if call.id.starts_with("call_") { "new" } else { &call.id };
    match &call.input {
        CallInput::Json(value) => format!("call {id} {} {value}", call.name),
        CallInput::Malformed(text) => format!("call {id} {} malformed {text}", call.name),
    }
}

fn tell_usage(usage: Usage) -> String {
    let Usage {
        input,
        cached_read,
        cached_write,
        output,
        reasoning,
        cost_nano_usd: _,
    } = usage;
    let counts = [input, cached_read, cached_write, output, reasoning];
    let counts = counts.map(|count| count.map_or("-".into(), |count| count.to_string()));
    format!("usage {}", counts.join("/"))
}

/// A stream cut anywhere is never a clean end unless it had its own, which an event is that `is_end`, and what was
/// said until then is said once.
pub(crate) fn check_cuts(dialect: Dialect, streams: &[(&str, &str)], is_end: impl Fn(&Value) -> bool) {
    for (name, whole) in streams {
        let body = file(&format!("{name}.sse"));
        let all = ask_once_in(dialect, Answer::sse(body.clone()));
        for end in cuts(&body) {
            let outcome = ask_once_in(dialect, Answer::sse(&body[..end]));
            let told = tell(&outcome);
            if whole_events(&body[..end]).iter().any(&is_end) {
                assert_eq!(without_usage(&told), without_usage(whole), "{name} cut at {end}");
            } else {
                assert!(told.ends_with("error Network"), "{name} cut at {end}: {told}");
            }
            let is_beginning = all.text.starts_with(&outcome.text) && all.thought.starts_with(&outcome.thought);
            assert!(is_beginning, "{name} cut at {end}: {told}");
        }
    }
}

/// Every byte of the ends of events, and some of what lies between.
fn cuts(body: &[u8]) -> impl Iterator<Item = usize> {
    const NEAR: usize = 4;
    let is_near_end = |cut: usize| {
        let around = &body[cut.saturating_sub(NEAR)..(cut + NEAR).min(body.len())];
        around.windows(2).any(|pair| pair == b"\n\n" || pair == b"\n\r")
    };
    (1..body.len()).filter(move |cut| cut % 7 == 0 || is_near_end(*cut))
}

/// The data of a stream so far, of the last event too if it lacks no more than its blank line.
fn whole_events(body: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    let data = |event: &str| -> String {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let events = text.split("\n\n").map(data);
    events.filter_map(|data| serde_json::from_str(&data).ok()).collect()
}
