//! What came of a question, in one line: thought, text, calls (`new` for a made-up id), usage as prompt, cached,
//! written, output and reasoning, and the finish or the class of the error.

use agent_core::event::CallInput;
use agent_core::provider::{Call, ProviderError, Usage};
use talaria_tests::mock::Reply as Answer;

use crate::ask::{Outcome, ask_once};

pub(crate) fn check(name: &str, answer: Answer, expect: &str) {
    assert_eq!(tell(&ask_once(answer)), expect, "{name}");
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
