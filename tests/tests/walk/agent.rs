//! The agent that a walk meets, in this process or the built binary, and the place where it works.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use agent_core::config::{Config, McpServerConfig, TerminalBackend};
use agent_core::store::Store;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde_json::Value;
use talaria_tests::client::{Client, Home};
use talaria_tests::hearing::Hearing;
use talaria_tests::inside::{Cut, Inside, Make};
use talaria_tests::mock::Mock;
use talaria_tests::start::config_of;
use toolsets::Edge;

use crate::generator::Ground;
use crate::model::{self, Model};

/// The program of the MCP server.
const SERVER: &str = env!("CARGO_BIN_EXE_mcp_server");

/// A folder to work in, and what outlives an agent.
pub(crate) struct Place {
    home: Home,
    /// The model's service, for the binary.
    mock: Option<Mock>,
    /// Its sessions have an MCP server.
    serves: bool,
}

/// A running agent.
pub(crate) enum Agent {
    Inside(Inside, Receiver<String>, Hearing),
    Binary(Box<Client>),
}

/// What speaks with the servers of all walks in this process.
fn edge() -> Edge {
    static SPEAKING: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let builder = builder.worker_threads(1).enable_all();
        builder.build().expect("a thread can be started")
    });
    Arc::new(|| Ok(SPEAKING.handle().clone()))
}

impl Place {
    pub(crate) fn new(ground: Ground, serves: bool) -> Self {
        let home = Home::new();
        let mock = (ground == Ground::Binary).then(|| Mock::answering(model::served));
        if let Some(mock) = &mock {
            let mut more = "[terminal]\nbackend = \"client\"\n".to_owned();
            if serves {
                more += &format!("[mcp_servers.far]\ncommand = {SERVER:?}\nargs = [\"--writes\"]\n");
            }
            home.write_config(&config_of(mock, &more));
        }
        Self { home, mock, serves }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.home.workspace()
    }

    /// Starts an agent with what those before it have stored.
    pub(crate) fn start(&self) -> Agent {
        if self.mock.is_some() {
            let mut client = Client::start(&self.home);
            client.permission = None;
            return Agent::Binary(Box::new(client));
        }
        let mut config = Config::default();
        config.terminal.backend = TerminalBackend::Client;
        if self.serves {
            let server = McpServerConfig {
                command: Some(SERVER.into()),
                args: vec!["--writes".to_owned()],
                ..McpServerConfig::default()
            };
            config.mcp_servers.insert("far".to_owned(), server);
        }
        let (output, lines) = Cut::new();
        let make = Make {
            provider: Arc::new(Model::new()),
            config,
            store: Store::open(&self.home.state()).expect("a store can be made"),
            forbidden: vec![self.home.state()],
            edge: self.serves.then(edge),
        };
        Agent::Inside(make.start(output), lines, Hearing::default())
    }

    /// The processes that work in the folder.
    pub(crate) fn processes(&self) -> Vec<PathBuf> {
        let workspace = self.workspace();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let works_here = |process: &PathBuf| {
            let cwd = std::fs::read_link(process.join("cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(&workspace))
        };
        processes.map(|entry| entry.path()).filter(works_here).collect()
    }

    /// The names of the files in the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.workspace())
            .expect("the folder is there")
            .flatten();
        files
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.workspace()).join(name)
    }
}

impl Agent {
    pub(crate) fn send(&mut self, line: &[u8]) {
        match self {
            Self::Inside(inside, _, hearing) => {
                hearing.said(line);
                inside.send(line.to_vec());
            }
            Self::Binary(client) => client.send_raw(line),
        }
    }

    /// The next message, if one comes within this time; the end of the output is the other error.
    pub(crate) fn receive(&mut self, limit: Duration) -> Result<Value, RecvTimeoutError> {
        match self {
            Self::Inside(_, lines, hearing) => {
                let line = lines.recv_timeout(limit)?;
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON: {error}: {line}"));
                hearing.heard(&line, &message);
                Ok(message)
            }
            Self::Binary(client) => client.next_within(limit),
        }
    }

    pub(crate) fn end_input(&mut self) {
        match self {
            Self::Inside(inside, _, hearing) => {
                hearing.said(b"\n");
                inside.end_input();
            }
            Self::Binary(client) => client.end_input(),
        }
    }

    /// Waits for its end; says what was wrong with it.
    pub(crate) fn wait(self) -> Result<(), String> {
        match self {
            Self::Inside(inside, ..) => inside.close().map_err(|error| format!("serving failed: {error}")),
            Self::Binary(mut client) => match client.wait().code() {
                Some(0) => Ok(()),
                code => Err(format!("the agent ended with {code:?}")),
            },
        }
    }

    /// Kills the binary as a crash would.
    pub(crate) fn kill(self) {
        if let Self::Binary(client) = self {
            client.kill();
        }
    }
}
