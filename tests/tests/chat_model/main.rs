//! Whole flows against a model behind Chat Completions: the built binary between a scripted client and a mock server.

#![allow(clippy::unwrap_used, reason = "tests")]

mod cancel;
mod circles;
mod compacting;
mod costs;
mod credentials;
mod ends;
mod mention;
mod naming;
mod reload;
mod retries;
mod room;
mod thinking;
mod tools;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::config_of;

/// A client in a session whose model gives these replies.
struct Stage {
    mock: Mock,
    home: Home,
    client: Client,
    session: String,
}

impl Stage {
    fn new(replies: Vec<Reply>) -> Self {
        Self::with_config(replies, "")
    }

    /// `more` follows the lines of the provider in the configuration.
    fn with_config(replies: Vec<Reply>, more: &str) -> Self {
        let mock = Mock::serve(replies);
        let home = Home::with_config(&config_of(&mock, more));
        let (client, session) = Client::with_session(&home);
        Self {
            mock,
            home,
            client,
            session,
        }
    }

    fn prompt(&mut self, text: &str) -> String {
        self.client.prompt(&self.session, text)
    }

    /// Sends a prompt of these blocks and waits for its stop reason.
    fn prompt_blocks(&mut self, blocks: Value) -> String {
        let params = json!({"sessionId": self.session, "prompt": blocks});
        let prompt = self.client.begin("session/prompt", params);
        self.client.stop_reason(prompt)
    }

    /// What the model was asked last.
    fn last_request(&self) -> Asked {
        self.mock.requests().pop().unwrap()
    }

    /// The agent dies, and another one loads the session.
    fn reload(self) -> Self {
        self.client.kill();
        let mut client = Client::initialized(&self.home, json!({}));
        talaria_tests::start::load(&mut client, &self.session, &self.home.workspace()).unwrap();
        Self { client, ..self }
    }
}

/// The text of the last message that has this role.
fn last_of<'a>(asked: &'a Asked, role: &str) -> &'a str {
    let of_role = asked.messages().iter().rfind(|message| message["role"] == role);
    of_role.unwrap()["content"].as_str().unwrap()
}

/// Every call has exactly one result, right behind the message that has it, and nothing else has one.
fn check_paired(asked: &Asked) {
    let mut open: Vec<&str> = Vec::new();
    for message in asked.messages() {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                let at = open.iter().position(|call| *call == id);
                open.remove(at.unwrap_or_else(|| panic!("a result of no call: {message}")));
            }
            _ => {
                assert!(open.is_empty(), "{open:?} have no result before {message}");
                let calls = message["tool_calls"].as_array();
                open = calls.map_or_else(Vec::new, |calls| {
                    calls.iter().filter_map(|call| call["id"].as_str()).collect()
                });
            }
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

/// Roles in order, a letter each.
fn roles(asked: &Asked) -> String {
    let roles = asked.messages().iter().filter_map(|message| message["role"].as_str());
    roles.filter_map(|role| role.chars().next()).collect()
}
