//! An agent in this process: the real core, tools and adapter, over pipes in memory.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use acp_adapter::agent::{Lines, ServeError, Settings, serve};
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::provider::Provider;
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::store::Store;
use crossbeam_channel::{Receiver, Sender, unbounded};
use toolsets::{Edge, LocalWorkspaces};

use crate::stage::OneModel;

/// What an agent is made of.
pub struct Make {
    /// Its model.
    pub provider: Arc<dyn Provider>,
    /// Its configuration.
    pub config: Config,
    /// Where it keeps sessions.
    pub store: Store,
    /// The folders that no tool touches.
    pub forbidden: Vec<PathBuf>,
    /// What speaks with MCP servers; without it there are none.
    pub edge: Option<Edge>,
}

/// A running agent.
pub struct Inside {
    /// Its stdin; ends when this is dropped.
    input: Option<Sender<Vec<u8>>>,
    server: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Make {
    /// Starts it; what it writes goes to `output`, which it drops at its end.
    pub fn start(self, output: impl Write + Send + 'static) -> Inside {
        let setup = Arc::new(OneModel {
            provider: self.provider,
            config: self.config,
        });
        let workspaces = LocalWorkspaces::new(self.forbidden.clone(), None);
        let workspaces = match self.edge {
            Some(edge) => workspaces.with_edge(edge),
            None => workspaces,
        };
        let (runtime, inlet) = Runtime::start(Parts {
            store: self.store,
            setup: setup.clone(),
            workspaces: Arc::new(workspaces),
            source: "acp",
            preferences: Preferences::default(),
            forbidden: self.forbidden,
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
        let rest = Vec::new();
        let server = thread::Builder::new().name("acp-serve".into()).spawn(move || {
            let lines = Lines::read(Input { chunks, rest }).expect("a thread can be started");
            serve(runtime, inlet, settings, lines, output, &Cancel::new())
        });
        Inside {
            input: Some(input),
            server: Some(server.expect("a thread can be started")),
        }
    }
}

impl Inside {
    /// Sends bytes; nothing if the agent has ended.
    pub fn send(&self, bytes: Vec<u8>) {
        let input = self.input.as_ref().expect("the input is open");
        // An agent that has ended reads nothing.
        let _ = input.send(bytes);
    }

    /// Closes its stdin.
    pub fn end_input(&mut self) {
        drop(self.input.take());
    }

    /// Closes its stdin, and waits for its end and what came of it.
    pub fn close(mut self) -> Result<(), ServeError> {
        self.end_input();
        let server = self.server.take().expect("it ends once");
        server.join().expect("serving does not panic")
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.end_input();
        if let Some(server) = self.server.take() {
            let _ = server.join();
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

/// An output that is cut into lines; their channel ends with it.
pub struct Cut {
    lines: Sender<String>,
    rest: Vec<u8>,
}

impl Cut {
    /// An output, and its lines.
    pub fn new() -> (Self, Receiver<String>) {
        let (lines, receiver) = unbounded();
        let rest = Vec::new();
        (Self { lines, rest }, receiver)
    }
}

impl Write for Cut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend(piece);
            if self.rest.pop_if(|last| *last == b'\n').is_some() {
                let line = String::from_utf8(std::mem::take(&mut self.rest)).map_err(io::Error::other)?;
                self.lines.send(line).map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
