//! An agent in this process: the real core and adapter over pipes in memory, every write with its time.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::config::Config;
use agent_core::provider::Provider;
use agent_core::store::Store;
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use talaria_tests::inside::{Inside, Make};
use tempfile::TempDir;

/// An agent with one session.
pub(crate) struct Agent {
    inside: Inside,
    /// What it wrote, and when.
    output: Receiver<(Instant, Vec<u8>)>,
    session: String,
    next_id: i64,
    _folder: TempDir,
}

/// What a turn came to.
pub(crate) struct Turn {
    /// From the prompt to its answer.
    pub(crate) took: Duration,
    /// When the first piece of the reply was written.
    pub(crate) first: Instant,
    /// Pieces of the reply.
    pub(crate) updates: usize,
    /// The longest piece, in bytes.
    pub(crate) longest: usize,
}

impl Agent {
    pub(crate) fn start(provider: Arc<dyn Provider>, store: Store) -> Self {
        let (writes, output) = unbounded();
        let make = Make {
            provider,
            config: Config::default(),
            store,
            forbidden: Vec::new(),
            edge: None,
        };
        let mut agent = Self {
            inside: make.start(Output(writes)),
            output,
            session: String::new(),
            next_id: 1,
            _folder: tempfile::tempdir().expect("a temporary folder can be made"),
        };
        agent.open();
        agent
    }

    fn open(&mut self) {
        self.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let cwd = self._folder.path().to_owned();
        let lines = self.request("session/new", json!({"cwd": cwd, "mcpServers": []})).1;
        let answer = lines
            .iter()
            .find_map(|line| line["result"]["sessionId"].as_str())
            .expect("a session");
        self.session = answer.to_owned();
    }

    /// Plays the next reply.
    pub(crate) fn prompt(&mut self) -> Turn {
        let prompt = json!([{"type": "text", "text": "go"}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        let began = Instant::now();
        let (writes, lines) = self.request("session/prompt", params);
        let ended = writes.last().expect("an answer has come").0;
        let texts: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["params"]["update"]["content"]["text"].as_str())
            .collect();
        let is_piece = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("agent_message_chunk");
        let first = writes.iter().find(|(_, bytes)| is_piece(bytes));
        Turn {
            took: ended - began,
            first: first.expect("a reply has come").0,
            updates: texts.len(),
            longest: texts.iter().map(|text| text.len()).max().unwrap_or(0),
        }
    }

    /// Sends a request; what was written until its answer was, as it came and as lines.
    fn request(&mut self, method: &str, params: Value) -> (Vec<(Instant, Vec<u8>)>, Vec<Value>) {
        let id = self.next_id;
        self.next_id += 1;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.inside.send(format!("{line}\n").into_bytes());
        let end = format!("\"id\":{id},");
        let mut writes = Vec::new();
        loop {
            let write = self.output.recv().expect("the agent answers");
            let answered = String::from_utf8_lossy(&write.1).contains(&end);
            writes.push(write);
            if answered {
                break;
            }
        }
        let bytes: Vec<u8> = writes.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice(line).expect("every line is JSON"));
        let lines = lines.collect();
        (writes, lines)
    }
}

struct Output(Sender<(Instant, Vec<u8>)>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = (Instant::now(), bytes.to_vec());
        self.0.send(write).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
