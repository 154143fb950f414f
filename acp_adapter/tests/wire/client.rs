//! A client, and the agent that it talks to.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use acp_adapter::agent::{Lines, ServeError, Settings, serve};
use agent_core::cancel::Cancel;
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::store::Store;
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};

use crate::LIMIT;
use crate::agent::{NoTools, Scripted};
use crate::pipe::{Input, Output};

/// A client, and the agent that it talks to.
pub(crate) struct Client {
    input: Option<Sender<Vec<u8>>>,
    pub(crate) output: Option<Receiver<Vec<u8>>>,
    unread: Vec<u8>,
    pub(crate) stop: Cancel,
    pub(crate) has_key: Arc<AtomicBool>,
    pub(crate) agent: JoinHandle<Result<(), ServeError>>,
    last_id: i64,
}

impl Client {
    /// An agent whose model plays these replies.
    pub(crate) fn start(replies: &Value) -> Self {
        let (output, lines) = unbounded();
        Self::start_with(replies, output, lines, Duration::ZERO)
    }

    pub(crate) fn start_with(
        replies: &Value,
        output: Sender<Vec<u8>>,
        lines: Receiver<Vec<u8>>,
        longest_silence: Duration,
    ) -> Self {
        let has_key = Arc::new(AtomicBool::new(true));
        let setup = Arc::new(Scripted {
            script: json!({ "after": "repeat", "replies": replies }).to_string(),
            has_key: has_key.clone(),
        });
        let (runtime, inlet) = Runtime::start(Parts {
            store: Store::memory(),
            setup: setup.clone(),
            workspaces: Arc::new(NoTools),
            source: "acp",
            preferences: Preferences::default(),
            forbidden: Vec::new(),
            rest_after: REST_AFTER,
        });
        let settings = Settings {
            name: "talaria".into(),
            version: "0.1.0".into(),
            provider: Some("script".into()),
            setup_args: vec!["--setup".into()],
            command: vec!["/bin/agent".into(), "acp".into()],
            longest_silence,
            setup,
        };
        let (input, chunks) = unbounded();
        let stdin = Input {
            chunks,
            rest: Vec::new(),
        };
        let stop = Cancel::new();
        let stopped = stop.clone();
        let said = Lines::read(stdin).unwrap();
        let agent = std::thread::spawn(move || serve(runtime, inlet, settings, said, Output(output), &stopped));
        Self {
            input: Some(input),
            output: Some(lines),
            unread: Vec::new(),
            stop,
            has_key,
            agent,
            last_id: 100,
        }
    }

    /// An agent that has been greeted.
    pub(crate) fn greeted(replies: &Value) -> Self {
        let mut client = Self::start(replies);
        client.result("initialize", json!({ "protocolVersion": 1 }));
        client
    }

    /// An agent with a session, and the session's id.
    pub(crate) fn in_session(replies: &Value) -> (Self, String) {
        let mut client = Self::greeted(replies);
        let session = client.new_session();
        (client, session)
    }

    pub(crate) fn new_session(&mut self) -> String {
        let result = self.result("session/new", json!({ "cwd": std::env::temp_dir() }));
        assert_eq!(self.update_kind(), "available_commands_update");
        result["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn bytes(&self, bytes: impl Into<Vec<u8>>) {
        self.input.as_ref().unwrap().send(bytes.into()).unwrap();
    }

    pub(crate) fn send(&self, message: &Value) {
        self.bytes(format!("{message}\n"));
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let content = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", json!({ "sessionId": session, "prompt": content }))
    }

    /// The next line; none at the end of the output.
    pub(crate) fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            match self.output.as_ref().unwrap().recv_timeout(LIMIT) {
                Ok(bytes) => self.unread.extend(bytes),
                Err(crossbeam_channel::RecvTimeoutError::Disconnected) => return None,
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => panic!("no line came"),
            }
        }
    }

    /// Waits until the agent has taken all that was sent.
    pub(crate) fn wait_until_taken(&self) {
        let until = Instant::now() + LIMIT;
        while !self.input.as_ref().unwrap().is_empty() {
            assert!(Instant::now() < until, "the agent does not read");
            std::thread::yield_now();
        }
    }

    pub(crate) fn update_kind(&mut self) -> Value {
        self.line().unwrap()["params"]["update"]["sessionUpdate"].clone()
    }

    /// The answer to a request, and the lines before it.
    pub(crate) fn answer(&mut self, id: i64) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let line = self.line().unwrap();
            if line["id"] == id && line.get("method").is_none() {
                return (before, line);
            }
            before.push(line);
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id).1
    }

    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The code and the data of the error that a request is answered with.
    pub(crate) fn error(&mut self, method: &str, params: Value) -> (Value, Value) {
        let answer = self.call(method, params);
        (answer["error"]["code"].clone(), answer["error"]["data"].clone())
    }

    /// How serving ended; what was still written can be read.
    pub(crate) fn end(mut self) -> (Result<(), ServeError>, Vec<Value>) {
        self.input = None;
        let mut lines = Vec::new();
        while self.output.is_some()
            && let Some(line) = self.line()
        {
            lines.push(line);
        }
        (self.agent.join().unwrap(), lines)
    }
}
