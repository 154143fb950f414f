//! An agent in this process: the real core and adapter over pipes in memory, every write with its time.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use acp_adapter::agent::{Settings, serve};
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::provider::Provider;
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::store::Store;
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use talaria_tests::stage::OneModel;
use tempfile::TempDir;
use toolsets::LocalWorkspaces;

/// An agent with one session.
pub(crate) struct Agent {
    /// Its stdin; ends when this is dropped.
    input: Option<Sender<Vec<u8>>>,
    /// What it wrote, and when.
    output: Receiver<(Instant, Vec<u8>)>,
    server: Option<JoinHandle<()>>,
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
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let setup = Arc::new(OneModel {
            provider,
            config: Config::default(),
        });
        let (runtime, inlet) = Runtime::start(Parts {
            store,
            setup: setup.clone(),
            workspaces: Arc::new(LocalWorkspaces::new(Vec::new(), None)),
            source: "acp",
            preferences: Preferences::default(),
            forbidden: Vec::new(),
            rest_after: REST_AFTER,
        });
        let settings = Settings {
            name: "talaria".into(),
            version: "0".into(),
            provider: None,
            longest_silence: Duration::ZERO,
            setup_args: Vec::new(),
            command: Vec::new(),
            setup,
        };
        let (input, chunks) = unbounded();
        let (writes, output) = unbounded();
        let server = thread::Builder::new().name("acp-serve".into()).spawn(move || {
            let input = Input {
                chunks,
                rest: Vec::new(),
            };
            serve(runtime, inlet, settings, input, Output(writes), &Cancel::new()).expect("serving begins");
        });
        let mut agent = Self {
            input: Some(input),
            output,
            server: Some(server.expect("a thread can be started")),
            session: String::new(),
            next_id: 1,
            _folder: folder,
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
        let input = self.input.as_ref().expect("the input ends with the agent");
        input.send(format!("{line}\n").into_bytes()).expect("the agent reads");
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

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.input.take());
        if let Some(server) = self.server.take() {
            server.join().expect("serving does not panic");
        }
    }
}

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
