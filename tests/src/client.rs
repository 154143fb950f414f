//! A scripted ACP client against the built binary: every line it gets must be one of the protocol that it can have by
//! what it has said of itself, and every one is kept.

mod binary;
mod home;

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::hearing::Hearing;
use crate::stage::LIMIT;
use crate::tap::Tap;

pub use binary::{binary, run};
pub use home::Home;

/// How often an editor looks whether a command in one of its terminals has ended.
const LOOK: Duration = Duration::from_millis(5);

/// The id of a client's first request, far from those that a test writes itself.
const FIRST_ID: i64 = 100_000;

/// A client with its agent.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    tap: Tap,
    lines: Receiver<String>,
    next_id: i64,
    hearing: Hearing,
    /// Everything the agent has sent, in order.
    pub log: Vec<Value>,
    /// How a permission request is answered at once; none: the test answers.
    pub permission: Option<&'static str>,
    /// What serves the agent's requests for files, terminals and forms; none: the test does.
    pub editor: Option<Editor>,
}

impl Client {
    /// Starts `agent acp`, without saying anything to it.
    pub fn start(home: &Home) -> Self {
        Self::spawn(home.command(&["acp"]))
    }

    /// Starts an agent by this command.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_logging(command, Stdio::null())
    }

    /// Starts an agent by this command; its log goes to `stderr`.
    pub fn spawn_logging(mut command: Command, stderr: impl Into<Stdio>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().expect("the agent starts");
        let (tap, lines) = Tap::open(child.stdout.take().expect("stdout is a pipe"));
        Self {
            stdin: child.stdin.take(),
            child,
            tap,
            lines,
            next_id: FIRST_ID,
            hearing: Hearing::default(),
            log: Vec::new(),
            permission: Some("allow_once"),
            editor: None,
        }
    }

    /// Starts `agent acp` and initializes it with these client capabilities.
    pub fn initialized(home: &Home, capabilities: Value) -> Self {
        let mut client = Self::start(home);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.request("initialize", params).expect("initialize is answered");
        client
    }

    /// Starts an agent with one session in the home's workspace; its id comes too.
    pub fn with_session(home: &Home) -> (Self, String) {
        let mut client = Self::initialized(home, json!({}));
        let session = client.new_session(&home.workspace());
        (client, session)
    }

    /// Begins a session.
    pub fn new_session(&mut self, cwd: &Path) -> String {
        let result = self.request("session/new", json!({"cwd": cwd, "mcpServers": []}));
        let result = result.expect("the session is created");
        result["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.hearing.said(bytes);
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin
            .write_all(bytes)
            .and_then(|()| stdin.flush())
            .expect("the agent reads");
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a message to an agent that may have ended; says whether it took it.
    pub fn try_send(&mut self, message: &Value) -> bool {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let line = format!("{message}\n");
        self.hearing.said(line.as_bytes());
        stdin.write_all(line.as_bytes()).is_ok()
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without waiting for its response; its id comes back.
    pub fn begin(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a prompt of text without waiting for its response.
    pub fn begin_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.begin("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// Sends a request and waits for its response: the result, or the error.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params);
        self.response(id)
    }

    /// Sends a prompt of text and waits for its stop reason.
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.begin_prompt(session, text);
        self.stop_reason(id)
    }

    /// Waits for a prompt's stop reason.
    pub fn stop_reason(&mut self, id: i64) -> String {
        let result = self.response(id).expect("the prompt does not fail");
        result["stopReason"]
            .as_str()
            .expect("a prompt's result has a stop reason")
            .to_owned()
    }

    /// Waits for a response, unless it has come already.
    pub fn response(&mut self, id: i64) -> Result<Value, Value> {
        let is_response = |message: &Value| message["id"] == id && message.get("method").is_none();
        let come = self.log.iter().find(|message| is_response(message)).cloned();
        let message = come.unwrap_or_else(|| self.wait_for(is_response));
        match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        }
    }

    /// Waits for a message that is meant; those before it are kept in the log.
    pub fn wait_for(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if is_meant(&message) {
                return message;
            }
        }
    }

    /// Waits for an update of this kind.
    pub fn wait_for_update(&mut self, kind: &str) -> Value {
        let message = self.wait_for(|message| message["params"]["update"]["sessionUpdate"] == kind);
        message["params"]["update"].clone()
    }

    /// The next message. A permission request is answered if the client is told how.
    #[expect(
        clippy::should_implement_trait,
        reason = "it waits and panics, which no iterator should"
    )]
    pub fn next(&mut self) -> Value {
        let deadline = Instant::now() + LIMIT;
        let step = if self.editor.is_some() { LOOK } else { LIMIT };
        loop {
            match self.lines.recv_timeout(step) {
                Ok(line) => return self.keep(&line),
                Err(error) => assert!(
                    error == RecvTimeoutError::Timeout && Instant::now() < deadline,
                    "the agent sends something within the limit: {error}"
                ),
            }
            let ended = self.editor.as_mut().map(Editor::ended).unwrap_or_default();
            ended.iter().for_each(|message| self.send(message));
        }
    }

    /// The next message, if one comes within this time. The other error is the end of the agent's output.
    ///
    /// # Errors
    /// When none comes.
    pub fn next_within(&mut self, limit: Duration) -> Result<Value, RecvTimeoutError> {
        self.lines.recv_timeout(limit).map(|line| self.keep(&line))
    }

    /// What comes until nothing has come for this long.
    pub fn rest(&mut self, silence: Duration) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(silence) {
            messages.push(self.keep(&line));
        }
        messages
    }

    fn keep(&mut self, line: &str) -> Value {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON: {error}: {line}"));
        self.hearing.heard(line, &message);
        self.log.push(message.clone());
        if let ("session/request_permission", Some(answer)) =
            (message["method"].as_str().unwrap_or(""), self.permission)
        {
            self.answer(&message, answer);
        }
        let served = self.editor.as_mut().and_then(|editor| editor.serve(&message));
        if let Some(answer) = served {
            self.send(&answer);
        }
        message
    }

    /// The agent's requests of this method in the messages of the log from its `from`th on.
    pub fn asked_for(&self, from: usize, method: &str) -> Vec<Value> {
        let messages = self.log[from..].iter();
        let asked = messages.filter(|message| message["method"] == method && !message["id"].is_null());
        asked.cloned().collect()
    }

    /// Answers a permission request by an option's id; `cancelled` closes it.
    pub fn answer(&mut self, request: &Value, option: &str) {
        let outcome = match option {
            "cancelled" => json!({"outcome": "cancelled"}),
            option => json!({"outcome": "selected", "optionId": option}),
        };
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}}));
    }

    /// The updates of the log, from its `from`th message on.
    pub fn updates(&self, from: usize) -> Vec<&Value> {
        let updates = self.log[from..].iter().map(|message| &message["params"]["update"]);
        updates.filter(|update| !update.is_null()).collect()
    }

    /// What the agent said in the messages of the log from its `from`th on.
    pub fn said(&self, from: usize) -> String {
        let chunks = self
            .updates(from)
            .into_iter()
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Reads nothing more from the agent, but for the line that comes next.
    pub fn stop_reading(&self) {
        self.tap.shut();
    }

    /// Reads on.
    pub fn read_on(&self) {
        self.tap.reopen();
    }

    /// Closes the agent's stdout after the line that comes next.
    pub fn close_stdout(&self) {
        self.tap.close();
    }

    /// The agent's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the agent as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("the agent can be killed");
        self.child.wait().expect("the agent ends");
    }

    /// Closes the agent's stdin.
    pub fn end_input(&mut self) {
        // The last line may have no end of its own.
        self.hearing.said(b"\n");
        drop(self.stdin.take());
    }

    /// Closes stdin and waits for the agent's end.
    pub fn close(mut self) -> ExitStatus {
        self.end_input();
        self.wait()
    }

    /// Waits for the agent's end.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        loop {
            // The end of its output comes with its own end, or just before.
            if let Err(RecvTimeoutError::Disconnected) = self.lines.recv_timeout(Duration::from_millis(5))
                && let Some(status) = self.child.try_wait().expect("the agent can be waited for")
            {
                return status;
            }
            assert!(Instant::now() < deadline, "the agent does not end");
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves an agent behind otherwise; one that has ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An option of a list, by its id.
pub fn option<'a>(options: &'a Value, id: &str) -> &'a Value {
    let mut options = options.as_array().expect("the options are a list").iter();
    options
        .find(|option| option["id"] == id)
        .expect("the option is offered")
}
