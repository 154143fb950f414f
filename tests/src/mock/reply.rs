//! What the server says: replies of a model in the dialect of Chat Completions, and whatever else a test writes.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The end of a stream in the dialect of Chat Completions.
const DONE: &str = "data: [DONE]\n\n";

/// Events as a stream has them.
pub fn stream_of(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status line and headers, one a line; empty to answer nothing at all.
    head: String,
    body: Vec<u8>,
    /// Where the body is cut into pieces that arrive apart.
    offsets: Vec<usize>,
    /// What is waited after each piece; none for as long as makes it likely that they come apart.
    pause: Option<Duration>,
    /// Neither closes nor goes on after the body.
    stalls: bool,
}

impl Reply {
    /// A stream of events, as it is; the server closes after it.
    pub fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::answer("HTTP/1.1 200 OK\ncontent-type: text/event-stream", body)
    }

    /// A stream of these events.
    pub fn events(events: &[Value]) -> Self {
        Self::sse(stream_of(events))
    }

    /// A whole answer in JSON.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::answer("HTTP/1.1 200 OK\ncontent-type: application/json", body)
    }

    /// An answer with this status line and these headers, one a line. The length is added where `head` has none,
    /// unless it is a stream.
    pub fn answer(head: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            head: head.trim().to_owned(),
            body: body.into(),
            offsets: Vec::new(),
            pause: None,
            stalls: false,
        }
    }

    /// No answer: the server takes the request and says nothing.
    pub fn silence() -> Self {
        Self::answer("", "").stalling()
    }

    /// A reply of one text.
    pub fn text(text: &str) -> Self {
        Self::message(&json!({ "content": text }), "stop")
    }

    /// A reply of calls: id, tool, arguments.
    pub fn calls(calls: &[(&str, &str, Value)]) -> Self {
        let calls = calls.iter().enumerate().map(|(index, (id, name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"index": index, "id": id, "type": "function", "function": function})
        });
        Self::message(&json!({ "tool_calls": calls.collect::<Vec<_>>() }), "tool_calls")
    }

    /// A reply of one call whose arguments are this text, JSON or not.
    pub fn call_of_text(id: &str, name: &str, arguments: &str) -> Self {
        let function = json!({"name": name, "arguments": arguments});
        let call = json!({"index": 0, "id": id, "type": "function", "function": function});
        Self::message(&json!({ "tool_calls": [call] }), "tool_calls")
    }

    /// A reply of one text that the service ends for this reason, such as `length`.
    pub fn text_until(text: &str, finish: &str) -> Self {
        Self::message(&json!({ "content": text }), finish)
    }

    /// A reply of nothing, that took no tokens.
    pub(super) fn no_title() -> Self {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]});
        Self::sse(stream_of(&[chunk]) + DONE)
    }

    fn message(delta: &Value, finish: &str) -> Self {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
        Self::sse(stream_of(&[chunk, usage]) + DONE)
    }

    /// Cuts the body at these offsets.
    pub fn in_pieces(mut self, offsets: Vec<usize>) -> Self {
        self.offsets = offsets;
        self
    }

    /// Waits so long after each piece.
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Sends one byte at a time.
    pub fn byte_by_byte(self) -> Self {
        let offsets = (1..self.body.len()).collect();
        self.in_pieces(offsets)
    }

    /// Says this before the rest of the body.
    #[must_use]
    pub fn after(mut self, beginning: &str) -> Self {
        self.body.splice(..0, beginning.bytes());
        self
    }

    /// Has one text in place of another in its body.
    #[must_use]
    pub fn replacing(mut self, old: &str, new: &str) -> Self {
        self.body = String::from_utf8_lossy(&self.body).replace(old, new).into_bytes();
        self
    }

    /// Says that its body is of this type, whatever it is.
    #[must_use]
    pub fn called(mut self, media_type: &str) -> Self {
        self.head = format!("HTTP/1.1 200 OK\ncontent-type: {media_type}");
        self
    }

    /// Keeps the connection open after the body, and says nothing more.
    pub fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }

    /// Writes it as it is meant to come.
    pub(super) fn write_to(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        if !self.head.is_empty() {
            let mut head = self.head.replace('\n', "\r\n");
            if !head.contains("event-stream") && !head.contains("content-length") {
                head.push_str(&format!("\r\ncontent-length: {}", self.body.len()));
            }
            stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes())?;
        }
        let mut from = 0;
        for &to in &self.offsets {
            stream.write_all(&self.body[from..to])?;
            from = to;
            // Single bytes come apart by themselves often enough; larger pieces need the time.
            let of_few = (self.offsets.len() < 100).then_some(Duration::from_millis(20));
            if let Some(pause) = self.pause.or(of_few) {
                thread::sleep(pause);
            }
        }
        stream.write_all(&self.body[from..])?;
        if self.stalls {
            // Nothing more is said to the server either, so a read ends when the client leaves.
            stream.read_exact(&mut [0])?;
        }
        Ok(())
    }
}
