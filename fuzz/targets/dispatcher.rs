//! What a client says to the agent, in any order and shape. What must hold: each request gets exactly one answer and
//! nothing else gets one; a tool that needs an allow runs at most once for each; the agent asks under an id once; it ends
//! well when its input does; nothing panics.
//!
//! An input is lines. `+ID METHOD SESSION PLAY`, a letter each, is a request: `+1p0w` prompts the first session. `-0`
//! cancels a session, `$1` a request. `=0a` answers the agent's first request. `!` waits until all is answered but
//! prompts. Any other line is sent as it is, `@0` in it stands for the first session's id.

#![no_main]

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use talaria_fuzz::agent::Agent;

/// What an answer may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// More lines would only take longer.
const MOST: usize = 48;

fuzz_target!(|bytes: &[u8]| {
    let mut client = Client::new();
    for line in bytes.split(|byte| *byte == b'\n').take(MOST) {
        client.hear_what_came();
        client.step(line);
    }
    client.end();
});

struct Client {
    agent: Agent,
    /// How many answers each id is to get, and how many of them are those of prompts.
    expected: HashMap<String, (usize, usize)>,
    answered: HashMap<String, usize>,
    sessions: Vec<String>,
    /// The ids of the agent's requests.
    asked: Vec<Value>,
    allowed: usize,
}

impl Client {
    fn new() -> Self {
        Self {
            agent: Agent::start(),
            expected: HashMap::new(),
            answered: HashMap::new(),
            sessions: Vec::new(),
            asked: Vec::new(),
            allowed: 0,
        }
    }

    fn step(&mut self, line: &[u8]) {
        match line {
            [b'+', id, method, session, play @ ..] => self.request(*id, *method, *session, play.first().copied()),
            [b'-', session] => {
                let session = self.session(*session);
                self.say(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}));
            }
            [b'$', id] => {
                let params = json!({"requestId": id_of(*id)});
                self.say(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
            }
            [b'=', asked, answer] => self.answer(*asked, *answer),
            b"!" => self.wait(false),
            raw => {
                let mut raw = raw.to_vec();
                for (number, session) in self.sessions.iter().take(4).enumerate() {
                    let name = format!("@{number}");
                    while let Some(at) = raw.windows(2).position(|window| window == name.as_bytes()) {
                        raw.splice(at..at + 2, session.bytes());
                    }
                }
                self.send(raw);
            }
        }
    }

    fn request(&mut self, id: u8, method: u8, session: u8, play: Option<u8>) {
        let session = self.session(session);
        let folder = "/tmp";
        let open = json!({"sessionId": session, "cwd": folder, "mcpServers": []});
        let of_session = json!({"sessionId": session});
        let text = match play {
            Some(b'l') => "play:look",
            Some(b'n') => "play:note",
            Some(b'b') => "play:both",
            Some(b'o') => "play:odd",
            Some(b'w') => "play:wait",
            Some(b'h') => "/help",
            Some(b'c') => "/compact",
            Some(b'u') => "/undo",
            Some(b'C') => "/clear",
            Some(b'm') => "/mode dont_ask",
            _ => "hello",
        };
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let option = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
        let (method, params) = match method {
            b'i' => ("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})),
            b'n' => ("session/new", json!({"cwd": folder, "mcpServers": []})),
            b'l' => ("session/load", open),
            b'r' => ("session/resume", open),
            b'f' => ("session/fork", open),
            b'L' => ("session/list", json!({})),
            b'c' => ("session/close", of_session),
            b'd' => ("session/delete", of_session),
            b'p' => ("session/prompt", prompt),
            b's' => ("_session/steering", prompt),
            b'm' => ("session/set_mode", json!({"sessionId": session, "modeId": "plan"})),
            b'M' => (
                "session/set_model",
                json!({"sessionId": session, "modelId": "play/play"}),
            ),
            b'o' => ("session/set_config_option", option("mode", "dont_ask")),
            b'O' => ("session/set_config_option", option("model", "play/play")),
            b'a' => ("authenticate", json!({"methodId": "talaria-setup"})),
            b'x' => ("logout", json!({})),
            _ => ("no/such", json!([1])),
        };
        self.say(&json!({"jsonrpc": "2.0", "id": id_of(id), "method": method, "params": params}));
    }

    fn answer(&mut self, asked: u8, answer: u8) {
        if self.asked.is_empty() {
            return;
        }
        let id = &self.asked[usize::from(asked) % self.asked.len()];
        let outcome = match answer {
            b'a' => json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}}),
            b'A' => json!({"outcome": {"outcome": "selected", "optionId": "allow_always"}}),
            b'r' => json!({"outcome": {"outcome": "selected", "optionId": "reject_once"}}),
            b'c' => json!({"outcome": {"outcome": "cancelled"}}),
            _ => json!({"outcome": "selected"}),
        };
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": outcome}));
    }

    /// A session by its number; one that there is not where there is none yet.
    fn session(&self, number: u8) -> String {
        let count = self.sessions.len().max(1);
        let session = self.sessions.get(usize::from(number) % count);
        session.cloned().unwrap_or_else(|| "none".to_owned())
    }

    fn say(&mut self, message: &Value) {
        self.send(message.to_string().into_bytes());
    }

    /// Sends a line, and notes what answer it is to get.
    fn send(&mut self, mut line: Vec<u8>) {
        if let Some((id, is_prompt)) = owed(&line) {
            let (all, prompts) = self.expected.entry(id).or_default();
            *all += 1;
            *prompts += usize::from(is_prompt);
        }
        self.allowed += usize::from(allows(&line));
        line.push(b'\n');
        self.agent.send(line);
    }

    fn hear_what_came(&mut self) {
        while let Ok(line) = self.agent.lines.try_recv() {
            self.hear(&line);
        }
    }

    fn hear(&mut self, line: &[u8]) {
        let message: Map<String, Value> = serde_json::from_slice(line).expect("the agent says objects");
        assert_eq!(message.get("jsonrpc"), Some(&json!("2.0")));
        match (message.get("id"), message.contains_key("method")) {
            (Some(id), true) => {
                assert!(!self.asked.contains(id), "it asks under an id again: {id}");
                self.asked.push(id.clone());
            }
            (Some(id), false) => {
                let outcomes = ["result", "error"]
                    .into_iter()
                    .filter(|name| message.contains_key(*name));
                assert_eq!(outcomes.count(), 1, "an answer has one outcome");
                if let Some(session) = message
                    .get("result")
                    .and_then(|result| result.get("sessionId")?.as_str())
                {
                    self.sessions.push(session.to_owned());
                }
                *self.answered.entry(id.to_string()).or_default() += 1;
                self.check_not_more(&id.to_string());
            }
            (None, true) => {}
            (None, false) => panic!("it is nothing: {message:?}"),
        }
    }

    fn check_not_more(&self, id: &str) {
        let expected = self.expected.get(id).map_or(0, |(all, _)| *all);
        let answered = self.answered.get(id).copied().unwrap_or_default();
        assert!(
            answered <= expected,
            "{answered} answers to {expected} requests with the id {id}"
        );
    }

    /// Waits until all that was asked has its answer, or all but prompts.
    fn wait(&mut self, for_prompts: bool) {
        let deadline = Instant::now() + LIMIT;
        while let Some(id) = self.open(for_prompts) {
            match self.agent.lines.recv_deadline(deadline) {
                Ok(line) => self.hear(&line),
                Err(error) => panic!("no answer to {id}: {error}"),
            }
        }
    }

    fn open(&self, for_prompts: bool) -> Option<String> {
        let is_open = |(id, (all, prompts)): &(&String, &(usize, usize))| {
            let due = if for_prompts { *all } else { all - prompts };
            self.answered.get(*id).copied().unwrap_or_default() < due
        };
        self.expected.iter().find(is_open).map(|(id, _)| id.clone())
    }

    /// Cancels what goes on, and ends the agent.
    fn end(mut self) {
        self.wait(false);
        let sessions: HashSet<String> = self.sessions.iter().cloned().collect();
        for session in sessions {
            self.say(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}));
        }
        self.wait(true);
        let looked = self.agent.looked();
        assert!(looked <= self.allowed, "{looked} runs by {} allows", self.allowed);
        self.agent.end_input();
        while let Ok(line) = self.agent.lines.recv() {
            self.hear(&line);
        }
        self.agent.join();
    }
}

/// The id that a line's answer has, if it is owed one, and whether it is a prompt's.
fn owed(line: &[u8]) -> Option<(String, bool)> {
    let null = || Some(("null".to_owned(), false));
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Ok(text) = std::str::from_utf8(line) else {
        return null();
    };
    if text.trim().is_empty() {
        return None;
    }
    let Ok(Value::Object(message)) = serde_json::from_str(text) else {
        return null();
    };
    let id = match message.get("id") {
        None => None,
        Some(Value::Number(number)) if number.as_i64().is_none() => return null(),
        Some(id @ (Value::Null | Value::String(_) | Value::Number(_))) => Some(id.to_string()),
        Some(_) => return null(),
    };
    let refused = || Some((id.clone().unwrap_or_else(|| "null".to_owned()), false));
    let has = |name: &str| message.contains_key(name);
    match (message.get("jsonrpc").and_then(Value::as_str), message.get("method")) {
        (Some("2.0"), Some(Value::String(method))) => Some((id?, method == "session/prompt")),
        (Some("2.0"), None) if id.is_some() && (has("result") || has("error")) => None,
        _ => refused(),
    }
}

/// Whether a line is an answer that may allow something.
fn allows(line: &[u8]) -> bool {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    message["result"].to_string().contains("allow_once")
}

fn id_of(id: u8) -> Value {
    match id {
        b'0'..=b'9' => json!(id - b'0'),
        b'~' => Value::Null,
        id => json!(char::from(id).to_string()),
    }
}
