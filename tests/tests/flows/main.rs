//! The main flows, on the built binary and over its real pipes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod cancels;
mod loads;
mod pipes;
mod sessions;
mod work;

use serde_json::Value;
use talaria_tests::client::Client;

/// Each call that was announced has exactly one end, and it comes before the last message.
fn check_calls(client: &Client, from: usize) {
    let updates = client.updates(from);
    let announced = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call");
    for call in announced.filter_map(|update| update["toolCallId"].as_str()) {
        let ends = status_of(&updates, call)
            .into_iter()
            .filter(|status| ["completed", "failed"].contains(status));
        assert_eq!(ends.count(), 1, "{call}: {updates:#?}");
    }
}

fn status_of<'a>(updates: &[&'a Value], call: &str) -> Vec<&'a str> {
    let of_call = updates.iter().filter(|update| update["toolCallId"] == call);
    of_call.filter_map(|update| update["status"].as_str()).collect()
}

fn contents(update: &Value) -> Vec<&Value> {
    update["content"]
        .as_array()
        .map(|items| items.iter().collect())
        .unwrap_or_default()
}
