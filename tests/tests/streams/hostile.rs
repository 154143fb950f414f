//! Services that mean harm, or are broken enough to do it.

mod ends;
mod keys;
mod odd;
mod sizes;

use agent_core::event::{ErrorClass, Failure};
use serde_json::Value;

const JSON: &str = "HTTP/1.1 200 OK\ncontent-type: application/json";

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn fails_as(failure: &Failure, class: ErrorClass, words: &str) {
    assert_eq!(failure.class, class, "{}", failure.message);
    assert!(failure.message.contains(words), "{}", failure.message);
    assert!(failure.message.len() < 1000, "{} bytes", failure.message.len());
}
