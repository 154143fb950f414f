//! What is heard of an agent, held against the protocol's schema and what its client has said that it can do.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::capabilities;
use crate::schema::{self, Sent};

/// A longer message is not checked: to say whether one is valid takes too long then.
const LONGEST: usize = 256 * 1024;

/// Both sides of a connection, as far as the agent's must fit the client's.
#[derive(Default)]
pub struct Hearing {
    /// What was said and has no end yet.
    unended: Vec<u8>,
    /// The methods of the client's requests, by their ids; a bad client uses one twice.
    asked: HashMap<String, Vec<String>>,
    /// What the client has said that it can do.
    declared: BTreeSet<&'static str>,
}

impl Hearing {
    /// Notes what the client sends.
    pub fn said(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unended.extend(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.unended);
                // What is no JSON asks for nothing.
                if let Ok(message) = serde_json::from_slice(&line) {
                    self.note(&message);
                }
            }
        }
    }

    fn note(&mut self, message: &Value) {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return;
        };
        self.asked.entry(id.to_string()).or_default().push(method.to_owned());
        if method == "initialize" {
            self.declared.extend(capabilities::declared(&message["params"]));
        }
    }

    /// Checks what the agent has sent.
    ///
    /// # Panics
    /// When the schema does not know it so, or the client has not said that it can have it.
    pub fn heard(&self, line: &str, message: &Value) {
        assert!(has_a_shape(message), "no message: {line}");
        if line.len() > LONGEST {
            return;
        }
        let faults = self.faults(message);
        assert!(faults.is_empty(), "not of the protocol: {faults:?}: {line}");
        for part in capabilities::parts(message) {
            let gate = capabilities::gate(&part);
            let is_open = gate.is_empty() || gate.iter().any(|path| self.declared.contains(path));
            assert!(is_open, "`{part}` is not for this client: {line}");
        }
    }

    fn faults(&self, message: &Value) -> Vec<String> {
        if let Some(method) = message["method"].as_str() {
            let sent = if message.get("id").is_some() {
                Sent::Request
            } else {
                Sent::Notification
            };
            return match schema::kind(method, sent) {
                Some(kind) => schema::faults(kind, &message["params"]),
                None => vec![format!("nobody knows the {sent:?} `{method}`")],
            };
        }
        if let Some(error) = message.get("error") {
            return schema::faults("Error", error);
        }
        let asked = self.asked.get(&message["id"].to_string()).map(Vec::as_slice);
        let mut faults = vec![format!("nobody has asked for {}", message["id"])];
        for method in asked.unwrap_or_default() {
            // What is not of the protocol is answered as its own documents say.
            let kind = schema::kind(method, Sent::Response);
            faults = kind.map_or_else(Vec::new, |kind| schema::faults(kind, &message["result"]));
            if faults.is_empty() {
                break;
            }
        }
        faults
    }
}

/// Whether it is a request, a notification, a result or an error, with nothing beside it.
fn has_a_shape(message: &Value) -> bool {
    let fields = message.as_object().into_iter().flat_map(|fields| fields.keys());
    let fields: BTreeSet<&str> = fields.map(String::as_str).collect();
    let shapes: [&[&str]; 4] = [
        &["id", "jsonrpc", "method", "params"],
        &["jsonrpc", "method", "params"],
        &["id", "jsonrpc", "result"],
        &["error", "id", "jsonrpc"],
    ];
    message["jsonrpc"] == "2.0" && shapes.iter().any(|shape| fields.iter().eq(shape.iter()))
}
