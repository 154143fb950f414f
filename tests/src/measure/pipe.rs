//! A program on the other side of its pipes, with no thread in between: what is timed is the program. It checks
//! nothing; [`crate::client`] does.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A running program.
pub struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next_id: i64,
}

impl Pipe {
    /// Starts a program.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::with_capacity(64 * 1024, child.stdout.take().expect("stdout is a pipe")),
            child,
            next_id: 1,
        }
    }

    /// Starts an agent, with a session in this folder; its id comes too.
    pub fn with_session(command: Command, cwd: &Path) -> (Self, String) {
        let mut pipe = Self::start(command);
        pipe.initialize();
        let session = pipe.new_session(cwd);
        (pipe, session)
    }

    /// Sends `initialize` and waits for its answer.
    pub fn initialize(&mut self) {
        self.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    }

    /// Begins a session; its id.
    pub fn new_session(&mut self, cwd: &Path) -> String {
        let answer = self.request("session/new", json!({"cwd": cwd, "mcpServers": []}));
        let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        let id = answer["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("no session: {answer}")).to_owned()
    }

    /// Sends a prompt; the time until its answer, and the lines that came before that.
    pub fn prompt(&mut self, session: &str, text: &str) -> (Duration, Vec<String>) {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        let began = Instant::now();
        let id = self.send("session/prompt", &params);
        let mut lines = Vec::new();
        loop {
            let line = self.line();
            if is_answer(&line, id) {
                assert!(line.contains("end_turn"), "{line}");
                return (began.elapsed(), lines);
            }
            lines.push(line);
        }
    }

    /// Sends a request; its answer's line. What comes before is passed over.
    pub fn request(&mut self, method: &str, params: Value) -> String {
        let id = self.send(method, &params);
        self.answer(id)
    }

    /// The line that answers a request. What comes before is passed over.
    pub fn answer(&mut self, id: i64) -> String {
        loop {
            let line = self.line();
            if is_answer(&line, id) {
                return line;
            }
        }
    }

    /// Sends a request; its id.
    pub fn send(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open until the end");
        stdin
            .write_all(format!("{message}\n").as_bytes())
            .expect("the program reads");
    }

    /// The next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the program writes UTF-8");
        assert!(!line.is_empty(), "the program has ended");
        line
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes its stdin; the time until its end.
    pub fn close(mut self) -> Duration {
        let began = Instant::now();
        drop(self.stdin.take());
        let status = self.child.wait().expect("the program can be waited for");
        assert!(status.success(), "{status}");
        began.elapsed()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // One that has ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Told by its beginning, since reading a long line would be part of the time.
fn is_answer(line: &str, id: i64) -> bool {
    let head = &line[..line.floor_char_boundary(80)];
    head.contains(&format!("\"id\":{id},")) && !head.contains("\"method\"")
}
