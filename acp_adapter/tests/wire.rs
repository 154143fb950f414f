//! The agent's side over an in-memory pipe, with a real runtime, a scripted model and no tools.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use acp_adapter::agent::{Lines, ServeError, Settings, serve};
use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::provider::{ModelRef, Provider};
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::script::Script;
use agent_core::setup::{Setup, SetupError};
use agent_core::store::Store;
use agent_core::tool::Tool;
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use serde_json::{Value, json};

/// What any wait in a test may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A scripted model whose key may be missing.
struct Scripted {
    script: String,
    has_key: Arc<AtomicBool>,
}

impl Setup for Scripted {
    fn config(&self) -> Result<Config, SetupError> {
        let model = "script/test".parse().unwrap();
        Ok(Config {
            model,
            ..Config::default()
        })
    }

    fn provider(&self, _: &Config, model: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        if !self.has_key.load(Ordering::SeqCst) {
            return Err(SetupError::NoCredentials {
                provider: "script".into(),
                message: "the key is missing: run `agent setup`".into(),
            });
        }
        Ok(Arc::new(Script::parse(&self.script, model.clone()).unwrap()))
    }

    fn models(&self, config: &Config) -> Vec<ModelRef> {
        vec![config.model.clone()]
    }
}

struct NoTools;

impl Workspaces for NoTools {
    fn open(&self, _: Scope, _: &Config, _: Asker) -> Arc<dyn Workspace> {
        Arc::new(Self)
    }
}

impl Workspace for NoTools {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    fn rules(&self) -> RuleBook {
        RuleBook::default()
    }

    fn mention(&self, uri: &str, _: &Cancel) -> Vec<Content> {
        vec![Content::text(uri)]
    }
}

/// The agent's stdin; ends when the sender is gone.
struct Input {
    chunks: Receiver<Vec<u8>>,
    rest: Vec<u8>,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.chunks.recv().unwrap_or_default();
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

/// The agent's stdout; broken when the receiver is gone, and waits where the receiver does not read.
struct Output(Sender<Vec<u8>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A client, and the agent that it talks to.
struct Client {
    input: Option<Sender<Vec<u8>>>,
    output: Option<Receiver<Vec<u8>>>,
    unread: Vec<u8>,
    stop: Cancel,
    has_key: Arc<AtomicBool>,
    agent: JoinHandle<Result<(), ServeError>>,
    last_id: i64,
}

impl Client {
    /// An agent whose model plays these replies.
    fn start(replies: &Value) -> Self {
        let (output, lines) = unbounded();
        Self::start_with(replies, output, lines, Duration::ZERO)
    }

    fn start_with(
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
    fn greeted(replies: &Value) -> Self {
        let mut client = Self::start(replies);
        client.result("initialize", json!({ "protocolVersion": 1 }));
        client
    }

    /// An agent with a session, and the session's id.
    fn in_session(replies: &Value) -> (Self, String) {
        let mut client = Self::greeted(replies);
        let session = client.new_session();
        (client, session)
    }

    fn new_session(&mut self) -> String {
        let result = self.result("session/new", json!({ "cwd": std::env::temp_dir() }));
        assert_eq!(self.update_kind(), "available_commands_update");
        result["sessionId"].as_str().unwrap().to_owned()
    }

    fn bytes(&self, bytes: impl Into<Vec<u8>>) {
        self.input.as_ref().unwrap().send(bytes.into()).unwrap();
    }

    fn send(&self, message: &Value) {
        self.bytes(format!("{message}\n"));
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let content = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", json!({ "sessionId": session, "prompt": content }))
    }

    /// The next line; none at the end of the output.
    fn line(&mut self) -> Option<Value> {
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
    fn wait_until_taken(&self) {
        let until = Instant::now() + LIMIT;
        while !self.input.as_ref().unwrap().is_empty() {
            assert!(Instant::now() < until, "the agent does not read");
            std::thread::yield_now();
        }
    }

    fn update_kind(&mut self) -> Value {
        self.line().unwrap()["params"]["update"]["sessionUpdate"].clone()
    }

    /// The answer to a request, and the lines before it.
    fn answer(&mut self, id: i64) -> (Vec<Value>, Value) {
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
    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The code and the data of the error that a request is answered with.
    fn error(&mut self, method: &str, params: Value) -> (Value, Value) {
        let answer = self.call(method, params);
        (answer["error"]["code"].clone(), answer["error"]["data"].clone())
    }

    /// How serving ended; what was still written can be read.
    fn end(mut self) -> (Result<(), ServeError>, Vec<Value>) {
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

#[test]
fn a_bad_line_is_answered_and_the_next_one_served() {
    let mut client = Client::greeted(&say("hi"));
    let nested = format!("{}\n", "[".repeat(100_000));
    let rows: [(&[u8], i64, Value); 9] = [
        (b"Welcome back\n", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\n", -32700, Value::Null),
        (b"\xff\xfe\n", -32700, Value::Null),
        (nested.as_bytes(), -32700, Value::Null),
        (b"[]\n", -32600, Value::Null),
        (b"null\n", -32600, Value::Null),
        (b"{\"id\":1}\n", -32600, json!(1)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"session/list\"}\n",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"session/archive\"}\r\n",
            -32601,
            json!("a"),
        ),
    ];
    for (line, code, id) in rows {
        client.bytes(line);
        let answer = client.line().unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id));
        client.bytes("\n  \n");
        client.result("session/list", Value::Null);
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused() {
    let mut client = Client::greeted(&say("hi"));
    for _ in 0..100 {
        client.bytes(vec![b'x'; 1_000_000]);
    }
    client.bytes("\n");
    assert_eq!(client.line().unwrap()["error"]["code"], -32600);
    client.result("session/list", Value::Null);
}

#[test]
fn initialize_comes_first_and_once() {
    let mut client = Client::start(&say("hi"));
    assert_eq!(client.error("session/list", Value::Null).0, -32600);
    assert_eq!(client.error("initialize", json!({ "protocolVersion": "1" })).0, -32602);
    assert_eq!(client.error("session/list", Value::Null).0, -32600);
    client.result("initialize", json!({ "protocolVersion": 99 }));
    client.result("initialize", json!({ "protocolVersion": 1 }));
    client.result("session/list", Value::Null);
    assert_eq!(client.error("initialize", json!({ "protocolVersion": 1 })).0, -32600);
}

#[test]
fn notifications_and_responses_that_mean_nothing_are_met_with_silence() {
    let (mut client, session) = Client::in_session(&say("hi"));
    client.notify("session/cancel", &json!({ "sessionId": session }));
    client.notify("session/cancel", &json!({ "sessionId": "unknown" }));
    client.notify("session/cancel", &json!({}));
    client.notify("$/cancel_request", &json!({ "requestId": 7 }));
    client.notify("something/else", &json!([]));
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    let id = client.request("session/list", Value::Null);
    assert_eq!(client.answer(id).0, Vec::<Value>::new());
}

#[test]
fn all_updates_of_a_turn_come_before_its_answer() {
    let (mut client, session) = Client::in_session(&say("hello"));
    let id = client.prompt(&session, "hi");
    let (updates, answer) = client.answer(id);
    assert_eq!(
        (texts(&updates).as_str(), &answer["result"]),
        ("hello", &json!({ "stopReason": "end_turn" }))
    );
}

#[test]
fn a_failed_turn_is_an_error_with_its_class() {
    let error = json!({ "class": "bad_request", "message": "the service did not understand", "status": 400 });
    let (mut client, session) = Client::in_session(&json!([{ "steps": [{ "error": error }] }]));
    let id = client.prompt(&session, "hi");
    let answer = client.answer(id).1;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["class"]),
        (&json!(-32603), &json!("bad_request"))
    );
    assert_eq!(answer["error"]["data"]["status"], 400);
}

#[test]
fn a_cancel_answers_the_running_prompt_and_the_queued_one() {
    let (mut client, session) = Client::in_session(&hang());
    let (first, second) = (client.prompt(&session, "a"), client.prompt(&session, "b"));
    client.notify("session/cancel", &json!({ "sessionId": session }));
    for id in [first, second] {
        assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    }
}

#[test]
fn a_cancelled_request_is_answered_once() {
    let (mut client, session) = Client::in_session(&hang());
    let prompt = client.prompt(&session, "a");
    client.send(&json!({ "jsonrpc": "2.0", "id": prompt, "method": "session/list" }));
    assert_eq!(client.answer(prompt).1["error"]["code"], -32600);
    client.notify("$/cancel_request", &json!({ "requestId": prompt }));
    assert_eq!(client.answer(prompt).1["result"], json!({ "stopReason": "cancelled" }));
}

#[test]
fn unknown_and_closed_sessions_are_not_found() {
    let (mut client, session) = Client::in_session(&say("hi"));
    client.result("session/close", json!({ "sessionId": session }));
    for id in [session.as_str(), "unknown"] {
        let not_found = (json!(-32002), json!({ "sessionId": id }));
        assert_eq!(
            client.error("session/prompt", json!({ "sessionId": id, "prompt": [] })),
            not_found
        );
        assert_eq!(
            client.error("session/set_mode", json!({ "sessionId": id, "modeId": "plan" })),
            not_found
        );
        assert_eq!(client.error("session/close", json!({ "sessionId": id })), not_found);
    }
    let load = json!({ "sessionId": "unknown", "cwd": std::env::temp_dir() });
    assert_eq!(client.error("session/load", load).0, -32002);
}

#[test]
fn a_folder_that_is_none_is_refused_by_name() {
    let mut client = Client::greeted(&say("hi"));
    for cwd in ["relative", "/does/not/exist", "/dev/null"] {
        let refused = (json!(-32602), json!({ "field": "cwd" }));
        assert_eq!(client.error("session/new", json!({ "cwd": cwd })), refused);
    }
}

#[test]
fn a_load_replays_before_its_answer_and_a_resume_does_not() {
    let (mut client, session) = Client::in_session(&say("hello"));
    let id = client.prompt(&session, "hi");
    client.answer(id);
    client.result("session/close", json!({ "sessionId": session }));
    let params = json!({ "sessionId": session, "cwd": std::env::temp_dir() });
    for (method, replayed) in [("session/load", "hihello"), ("session/resume", "")] {
        let id = client.request(method, params.clone());
        let (before, answer) = client.answer(id);
        assert_eq!(texts(&before), replayed);
        assert_eq!(answer["result"]["modes"]["currentModeId"], "default");
        assert_eq!(client.update_kind(), "available_commands_update");
    }
}

#[test]
fn without_a_key_one_is_told_how_to_sign_in_and_then_goes_on() {
    let mut client = Client::greeted(&say("hi"));
    client.has_key.store(false, Ordering::SeqCst);
    let (code, data) = client.error("session/new", json!({ "cwd": std::env::temp_dir() }));
    assert_eq!((code, &data["authMethods"][0]["id"]), (json!(-32000), &json!("script")));
    assert_eq!(
        client.error("authenticate", json!({ "methodId": "talaria-setup" })).0,
        -32000
    );
    client.has_key.store(true, Ordering::SeqCst);
    client.result("authenticate", json!({ "methodId": "talaria-setup" }));
    client.new_session();
}

#[test]
fn modes_and_options_stay_in_step() {
    let (mut client, session) = Client::in_session(&say("hi"));
    let set_mode = json!({ "sessionId": session, "modeId": "plan" });
    let set_option = json!({ "sessionId": session, "configId": "mode", "value": "accept_edits" });
    for (method, params, mode) in [
        ("session/set_mode", set_mode, "plan"),
        ("session/set_config_option", set_option, "accept_edits"),
    ] {
        let id = client.request(method, params);
        let (before, _) = client.answer(id);
        let updates: Vec<&Value> = before.iter().map(|line| &line["params"]["update"]).collect();
        assert_eq!(updates[0]["currentModeId"], mode);
        assert_eq!(updates[1]["configOptions"][0]["currentValue"], mode);
    }
    let id = client.prompt(&session, "/mode default");
    let (before, _) = client.answer(id);
    let options = before
        .iter()
        .find(|line| line["params"]["update"]["sessionUpdate"] == "config_option_update");
    assert_eq!(
        options.unwrap()["params"]["update"]["configOptions"][0]["currentValue"],
        "default"
    );
    let wrong = json!({ "sessionId": session, "modeId": "none" });
    assert_eq!(
        client.error("session/set_mode", wrong),
        (json!(-32602), json!({ "field": "modeId" }))
    );
}

#[test]
fn a_client_that_does_not_read_can_still_cancel_and_costs_bounded_memory() {
    let (output, lines) = bounded(0);
    let flood = json!([{ "steps": [{ "repeat": 20_000_000, "text": "word " }] }]);
    let mut client = Client::start_with(&flood, output, lines, Duration::ZERO);
    client.result("initialize", json!({ "protocolVersion": 1 }));
    let session = client.new_session();
    let id = client.prompt(&session, "hi");
    // The first pieces are there, so the flood has begun; from here on nothing is read, and still each line is taken.
    client.line();
    for _ in 0..100 {
        client.notify("session/cancel", &json!({ "sessionId": session }));
    }
    client.wait_until_taken();
    let (updates, answer) = client.answer(id);
    assert_eq!(answer["result"], json!({ "stopReason": "cancelled" }));
    assert!(texts(&updates).len() < 8 * 1024 * 1024);
}

#[test]
fn a_turn_that_is_silent_for_long_shows_that_it_goes_on() {
    let (output, lines) = unbounded();
    let mut client = Client::start_with(&hang(), output, lines, Duration::from_millis(20));
    client.result("initialize", json!({ "protocolVersion": 1 }));
    let (silent, idle) = (client.new_session(), client.new_session());
    let id = client.prompt(&silent, "hi");
    let mut signs = 0;
    while signs < 3 {
        let line = client.line().unwrap();
        assert_eq!(line["params"]["sessionId"], silent, "{idle} has no prompt: {line}");
        let update = &line["params"]["update"];
        signs += usize::from(*update == json!({ "sessionUpdate": "session_info_update" }));
    }
    client.notify("session/cancel", &json!({ "sessionId": silent }));
    assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    // The end of the input ends it: a sign after the answer would be among the last lines.
    let (end, lines) = client.end();
    end.unwrap();
    assert_eq!(lines, Vec::<Value>::new());
}

#[test]
fn at_the_end_of_the_input_prompts_are_answered_as_cancelled() {
    let (mut client, session) = Client::in_session(&hang());
    let id = client.prompt(&session, "hi");
    let (end, lines) = client.end();
    end.unwrap();
    let answer = lines.last().unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&json!(id), &json!({ "stopReason": "cancelled" }))
    );
}

#[test]
fn the_last_line_needs_no_newline_and_gets_its_answer() {
    let client = Client::start(&say("hi"));
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } }));
    let new = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": { "cwd": std::env::temp_dir() } });
    client.bytes(new.to_string());
    let (end, lines) = client.end();
    end.unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line["id"] == 2 && line["result"]["sessionId"].is_string())
    );
}

#[test]
fn a_stop_ends_it_while_the_input_is_open() {
    let (mut client, session) = Client::in_session(&json!([{ "steps": [{ "text": "a" }, { "wait_cancel": true }] }]));
    let id = client.prompt(&session, "hi");
    client.line();
    client.stop.set();
    assert_eq!(client.answer(id).1["result"], json!({ "stopReason": "cancelled" }));
    assert!(client.line().is_none());
    client.agent.join().unwrap().unwrap();
}

#[test]
fn a_client_that_has_gone_is_no_error() {
    let mut client = Client::greeted(&say("hi"));
    client.output = None;
    client.request("session/list", Value::Null);
    // The input stays open: the broken output alone ends it.
    client.agent.join().unwrap().unwrap();
}
