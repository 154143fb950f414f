//! MCP servers of a session: started beside it, spoken with, ended with it. Their tools are [`Tool`]s like any other.
//!
//! All that is async is in [`connection`], [`ear`], [`lines`] and [`http`]; whoever calls from outside blocks, and is bounded by a cancel and a
//! deadline. A server's failure is told, and fails nothing but its own calls.

mod connection;
mod ear;
mod fingerprint;
mod http;
mod lines;
mod listing;
mod names;
mod relisting;
mod result;
mod schema;
mod server;
mod stdio;
mod tool;
mod unread;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::event::{Event, Severity};
use agent_core::server::{self as definition, ServerView};
use agent_core::tool::Tool;
use agent_core::workspace::Scope;
use crossbeam_channel::{Receiver, after, never, select};
use tokio::runtime::Handle;

use crate::process::Processes;
use server::Server;
use tool::McpTool;

/// Starts what speaks with servers, at its first use; an error is a sentence.
pub type Edge = Arc<dyn Fn() -> Result<Handle, String> + Send + Sync>;

/// A turn waits for servers that are being started for so long in all.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long a look at the servers waits for those that are being started.
const LOOK: Duration = Duration::from_secs(3);
/// After so long the user is told what is waited for.
const MOMENT: Duration = Duration::from_secs(1);

/// The servers of one session, in the order of their definition: the configuration's by name, then the client's.
/// Dropping them ends them all.
pub(crate) struct Servers(Vec<Arc<Server>>);

impl Servers {
    /// Begins to start all servers, side by side, and waits for none.
    pub(crate) fn open(scope: &Scope, config: &Config, processes: &Arc<Processes>, edge: &Edge) -> Self {
        let configured = config.mcp_servers.iter().map(|(name, server)| server.server(name));
        let brought = scope.servers.iter().map(|server| with_timeout(server, config));
        let definitions: Vec<_> = configured.chain(brought).collect();
        let names = names::of_servers(definitions.iter().map(|server| server.name.as_str()));
        let servers = names.into_iter().zip(definitions);
        let servers = servers.map(|(name, definition)| {
            let server = Arc::new(Server::new(name, definition, &scope.cwd, processes, edge));
            server.start();
            server
        });
        Self(servers.collect())
    }

    /// The tools of all servers.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.0.iter().flat_map(|server| {
            let listed = server.tools();
            listed
                .into_iter()
                .map(|listed| Arc::new(McpTool::new(Arc::clone(server), listed)) as Arc<dyn Tool>)
        });
        tools.collect()
    }

    /// How all servers do. One that has only just begun to start gets a moment first.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        let moment = Instant::now() + LOOK;
        for started in self.0.iter().filter_map(|server| server.starts()) {
            let _over_or_late = started.recv_deadline(moment);
        }
        self.0.iter().map(|server| server.view()).collect()
    }

    /// Brings all servers up to date before a turn, and tells what the user should know.
    pub(crate) fn get_ready(&self, cancel: &Cancel, tell: &mut dyn FnMut(Event)) {
        let starting = self.0.iter().filter_map(|server| Some((server, server.refresh()?)));
        let starting: Vec<_> = starting.collect();
        if !starting.is_empty() {
            wait(&starting, cancel, tell);
        }
        if !cancel.is_set() {
            let changed = self.0.iter().filter_map(|server| Some((server, server.take_change()?)));
            let changed: Vec<_> = changed.collect();
            if !changed.is_empty() {
                relisting::take_over(&changed, cancel, tell);
            }
        }
        for server in &self.0 {
            server.take_news().into_iter().for_each(&mut *tell);
        }
    }
}

/// A server of the client, with the time that the configuration gives to one of the same name.
fn with_timeout(server: &definition::Server, config: &Config) -> definition::Server {
    let configured = config.mcp_servers.get(&server.name);
    definition::Server {
        timeout_s: server.timeout_s.or(configured.and_then(|same| same.timeout_s)),
        ..server.clone()
    }
}

/// Waits until all have been started or failed, or the time is up.
fn wait(starting: &[(&Arc<Server>, Receiver<()>)], cancel: &Cancel, tell: &mut dyn FnMut(Event)) {
    let deadline = Instant::now() + PATIENCE;
    let mut moment = after(MOMENT);
    for (_, started) in starting {
        loop {
            select! {
                recv(started) -> _ => break,
                recv(cancel.closed()) -> _ => return,
                recv(moment) -> _ => {
                    moment = never();
                    tell(waiting(starting));
                }
                recv(after(deadline.saturating_duration_since(Instant::now()))) -> _ => break,
            }
        }
    }
    starting.iter().for_each(|(server, _)| server.give_up_waiting());
}

fn waiting(starting: &[(&Arc<Server>, Receiver<()>)]) -> Event {
    let servers = starting.iter().filter(|(server, _)| server.starts().is_some());
    let names = servers.map(|(server, _)| server.name());
    patience("waiting for MCP servers to start", PATIENCE, names)
}

/// What the user is told of a wait.
fn patience<'a>(what: &str, limit: Duration, names: impl Iterator<Item = &'a str>) -> Event {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    Event::Notice {
        severity: Severity::Info,
        title: format!("{what}, {} s at most: {}", limit.as_secs(), names.join(", ")),
        detail: None,
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // First all at once, so that none begins what another's grace would have to wait for.
        self.0.iter().for_each(|server| server.stop());
        thread::scope(|scope| {
            for server in &self.0 {
                let ended = thread::Builder::new()
                    .name("mcp end".into())
                    .spawn_scoped(scope, || server.end());
                if ended.is_err() {
                    server.end();
                }
            }
        });
    }
}
