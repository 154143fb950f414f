//! MCP servers as plain data: what a session is to have, and how each of them does. Starting them and speaking with them
//! is a workspace's work.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A server that a session is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name, as the user gave it. Two may have the same.
    pub name: String,
    /// How it is spoken with.
    pub transport: Transport,
    /// Seconds a call may take without a sign of life; none for the usual time.
    pub timeout_s: Option<u64>,
    /// The only tools of it that a session has, by the server's own names; none for all.
    pub tools: Option<Vec<String>>,
}

/// How a server is spoken with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over the stdin and stdout of a child process.
    Stdio {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Variables beside those that commands have.
        env: BTreeMap<String, String>,
        /// The folder it starts in, below the session's; none for the session's own.
        cwd: Option<PathBuf>,
    },
    /// Over streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers sent with each request.
        headers: Vec<(String, String)>,
    },
    /// In a way that is not served.
    Unserved {
        /// The reason, and what to do instead.
        why: String,
    },
}

/// A server of a session, as `/mcp` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// Its name in this session, which the names of its tools hold.
    pub name: String,
    /// Its command line or its address, without anything that may be secret.
    pub place: String,
    /// How it does.
    pub state: ServerState,
    /// Its tools, by their names in this session.
    pub tools: Vec<String>,
    /// What is amiss with the tools that it lists, each to be read after its name.
    pub faults: Vec<String>,
}

/// How a server does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It is gone, and is started again when it is needed.
    Gone(String),
    /// It can't be used; the reason.
    Failed(String),
}
