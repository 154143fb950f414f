//! An agent that may die at any moment, from its client's side: each wait ends with an answer or with the death.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use serde_json::{Value, json};

use super::tally::Tally;

/// How long an agent that lives may take for an answer.
const LIMIT: Duration = Duration::from_secs(120);

/// The agent has died before it answered.
#[derive(Debug)]
pub struct Died;

/// What came of a request.
pub(super) type Answer = Result<Value, Value>;

/// An agent with a client that counts on nothing.
pub struct Mortal {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Whole lines; ends with the agent's output.
    lines: Receiver<String>,
    next_id: i64,
    /// When it is killed.
    end: Option<Instant>,
    /// The updates since they were taken last.
    heard: Vec<Value>,
    /// Notices that something is not saved.
    unsaved: Vec<String>,
}

impl Mortal {
    /// Starts an agent, without a word.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("the agent starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, lines) = unbounded();
        thread::spawn(move || read(stdout, |line| sender.send(line).is_ok()));
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 1,
            end: None,
            heard: Vec::new(),
            unsaved: Vec::new(),
        }
    }

    /// Greets it, as a client that shows notices.
    ///
    /// # Errors
    /// When it has died.
    pub fn greet(&mut self) -> Result<(), Died> {
        let capabilities = json!({"session": {"notices": {}}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.request("initialize", &params)?.expect("a greeting is answered");
        Ok(())
    }

    /// Has it killed at a moment, if it is asked for something then.
    pub fn kill_at(&mut self, end: Instant) {
        self.end = Some(end);
    }

    /// The agent's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and waits for what comes of it. Permissions are given.
    ///
    /// # Errors
    /// When the agent dies before.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Answer, Died> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let limit = Instant::now() + LIMIT;
        loop {
            let message = self.next(limit)?;
            if message["method"] == "session/request_permission" {
                let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome}));
            } else if message["method"] == "session/update" {
                self.hear(&message["params"]["update"]);
            } else if message["id"] == id {
                return Ok(match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                });
            }
        }
    }

    fn hear(&mut self, update: &Value) {
        if update["sessionUpdate"] == "notice" {
            let text = update.to_string();
            if text.contains("ot saved") || text.contains("othing is saved") {
                self.unsaved.push(text);
            }
        }
        self.heard.push(update.clone());
    }

    /// What it was told of things that are not saved.
    pub fn unsaved(&self) -> &[String] {
        &self.unsaved
    }

    /// Adds what this client was told to a tally.
    pub fn count(&self, tally: &mut Tally) {
        tally.unsaved += self.unsaved.len() as u64;
    }

    /// The updates since this was asked last.
    pub fn take_heard(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.heard)
    }

    /// What it still wrote before it died counts as well.
    fn next(&mut self, limit: Instant) -> Result<Value, Died> {
        loop {
            let until = self.end.map_or(limit, |end| end.min(limit));
            match self.lines.recv_deadline(until) {
                Ok(line) => return Ok(serde_json::from_str(&line).expect("a whole line is JSON")),
                Err(RecvTimeoutError::Disconnected) => return Err(Died),
                Err(RecvTimeoutError::Timeout) => {
                    assert!(self.end.take().is_some(), "the agent lives and does not answer");
                    self.kill();
                }
            }
        }
    }

    /// One that has died takes nothing, which its output tells.
    fn send(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes());
        }
    }

    /// Kills it. What it has written can still be heard.
    pub fn kill(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends its input and waits for its end; whether it ended well.
    pub fn close(mut self) -> bool {
        drop(self.stdin.take());
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A line that was cut off by a death is none.
fn read(mut stdout: impl BufRead, mut give: impl FnMut(String) -> bool) {
    let mut line = String::new();
    while stdout.read_line(&mut line).is_ok_and(|length| length > 0) {
        if !line.ends_with('\n') || !give(std::mem::take(&mut line)) {
            return;
        }
    }
}
