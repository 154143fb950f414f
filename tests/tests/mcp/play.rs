//! What these tests share: servers as a client names them, a model that calls their tools, and what was said of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{config_of, wait_until};

/// The server's program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp_server");

/// A server over stdio as a client names it.
pub(crate) fn server(name: &str, args: &[&str]) -> Value {
    program(name, PROGRAM, args)
}

/// Another program in its place.
pub(crate) fn program(name: &str, command: &str, args: &[&str]) -> Value {
    json!({"name": name, "command": command, "args": args, "env": []})
}

/// A server that ends neither at the end of its input nor when it is asked to.
pub(crate) fn stubborn(name: &str, note: &Path) -> Value {
    let script = format!("trap '' TERM; exec {PROGRAM} --stay --note {}", note.display());
    program(name, "/bin/sh", &["-c", &script])
}

/// A reply that calls one tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Reply {
    Reply::calls(&[("c", tool, arguments)])
}

/// A call of one tool and a last word.
pub(crate) fn call_and_end(tool: &str, arguments: Value) -> Vec<Reply> {
    vec![call(tool, arguments), Reply::text("done")]
}

/// Calls of tools whose answers nobody reads, and then of one that says something.
pub(crate) fn unread(server: &str) -> Vec<Reply> {
    let mut replies = vec![
        call(&format!("{server}__vast"), json!({})),
        call(&format!("{server}__full"), json!({})),
        call(&format!("{server}__deep"), json!({})),
    ];
    replies.extend(call_and_end(&format!("{server}__echo"), json!({"text": "still here"})));
    replies
}

/// Plays [`unread`]: each call ends soon, as failed, with what was wrong and how `large` the long answer was; the server
/// goes on.
#[track_caller]
pub(crate) fn ends_unread(mut play: Play, large: &str) {
    let begun = Instant::now();
    let from = play.prompt();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let vast = format!("failed: its answer can't be read: it has {large}, and at most 16777216 are read");
    let deep = "recursion limit exceeded";
    let full = "failed: its answer can't be read: it holds more than 200000 values";
    for (request, expect) in [(1, vast.as_str()), (2, full), (3, deep), (4, "still here")] {
        let told = play.told(request);
        assert!(told.contains(expect) && !told.contains("(error"), "{told}");
    }
    assert_eq!(play.notices(from), [""; 0]);
}

/// A home with a model server, a client, and one session with these servers.
pub(crate) struct Play {
    pub(crate) client: Client,
    pub(crate) session: String,
    pub(crate) mock: Mock,
    pub(crate) home: Home,
}

impl Play {
    /// A session with servers of the client.
    pub(crate) fn new(replies: Vec<Reply>, servers: Value) -> Self {
        Self::configured(replies, "", servers)
    }

    /// The same, with more in the configuration. No wall is around the servers: they are known by their ids on this
    /// machine, and note what they hear beside the workspace.
    pub(crate) fn configured(replies: Vec<Reply>, more: &str, servers: Value) -> Self {
        let mock = Mock::serve(replies);
        let home = Home::with_config(&format!("{}\n[sandbox]\nmode = \"off\"\n", config_of(&mock, more)));
        let mut client = client(&home);
        let session = begin(&mut client, &home, servers);
        Self {
            client,
            session,
            mock,
            home,
        }
    }

    /// Sends a prompt and waits for its end; the messages from the number that comes back on are its own.
    pub(crate) fn prompt(&mut self) -> usize {
        let from = self.client.log.len();
        assert_eq!(self.client.prompt(&self.session, "go"), "end_turn");
        from
    }

    /// What a slash command says.
    pub(crate) fn command(&mut self, command: &str) -> String {
        let from = self.client.log.len();
        self.client.prompt(&self.session, command);
        self.client.said(from)
    }

    /// The names of the tools that the model had in a request.
    pub(crate) fn tools(&self, request: usize) -> Vec<String> {
        let tools = self.mock.requests()[request].body["tools"].clone();
        let tools = tools.as_array().cloned().unwrap_or_default();
        let names = tools
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("mcp__")).collect()
    }

    /// What the model was told in the last message of a request.
    pub(crate) fn told(&self, request: usize) -> String {
        self.mock.requests()[request].messages().last().unwrap().to_string()
    }

    /// The last update of the call in the messages from this number on.
    pub(crate) fn end_of_call(&self, from: usize) -> Value {
        let updates = self.client.updates(from).into_iter();
        let mut updates = updates.filter(|update| update["sessionUpdate"] == "tool_call_update");
        updates.next_back().unwrap().clone()
    }

    /// The notices from this number on, title and description.
    pub(crate) fn notices(&self, from: usize) -> Vec<String> {
        notices(&self.client, from)
    }
}

/// A client that shows notices. Its agent asks no login shell where programs are, which could take a while.
pub(crate) fn client(home: &Home) -> Client {
    let mut command = home.command(&["acp"]);
    command.env_remove("SHELL");
    client_by(command)
}

/// A client that shows notices, of an agent that is started by this command.
pub(crate) fn client_by(command: Command) -> Client {
    let mut client = Client::spawn(command);
    let capabilities = json!({"session": {"notices": {}}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", params).unwrap();
    client
}

/// The notices of the log from its `from`th message on.
pub(crate) fn notices(client: &Client, from: usize) -> Vec<String> {
    let updates = client.updates(from).into_iter();
    let notices = updates.filter(|update| update["sessionUpdate"] == "notice");
    notices
        .map(|notice| {
            format!(
                "{}: {}",
                notice["title"].as_str().unwrap(),
                notice["description"].as_str().unwrap_or("")
            )
        })
        .collect()
}

/// Begins a session with these servers.
pub(crate) fn begin(client: &mut Client, home: &Home, servers: Value) -> String {
    let params = json!({"cwd": home.workspace(), "mcpServers": servers});
    let result = client.request("session/new", params).unwrap();
    result["sessionId"].as_str().unwrap().to_owned()
}

/// Where a server writes what it gets.
pub(crate) fn note(home: &Path) -> PathBuf {
    home.join("note.txt")
}

/// What a server has written.
pub(crate) fn noted(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The process ids of the servers that have written, the first first. Waits until so many have.
pub(crate) fn pids(path: &Path, count: usize) -> Vec<u32> {
    let mut pids = Vec::new();
    wait_until("the servers' process ids", || {
        let text = noted(path);
        let lines = text.lines().filter_map(|line| line.strip_prefix("pid "));
        pids = lines.filter_map(|pid| pid.parse().ok()).collect();
        pids.len() >= count
    });
    pids
}
