//! The agent's side over an in-memory pipe, with a real runtime, a scripted model and no tools.

#![allow(clippy::unwrap_used, reason = "tests")]

mod agent;
mod client;
mod ending;
mod lines;
mod pace;
mod pipe;
mod sessions;
mod turns;

use std::time::Duration;

use serde_json::{Value, json};

/// What any wait in a test may take.
const LIMIT: Duration = Duration::from_secs(20);

fn texts(lines: &[Value]) -> String {
    let text = |line: &Value| line["params"]["update"]["content"]["text"].as_str().map(str::to_owned);
    lines.iter().filter_map(text).collect()
}

fn say(text: &str) -> Value {
    json!([{ "steps": [{ "text": text }] }])
}

fn hang() -> Value {
    json!([{ "steps": [{ "wait_cancel": true }] }])
}
