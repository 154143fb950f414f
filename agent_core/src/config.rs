//! The configuration as typed data. Reading and writing its file is the command line's work.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::approval::Mode;
use crate::provider::{ModelRef, Price, ThoughtLevel};
use crate::server::{Server, Transport};

/// All of it. Unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The model of new sessions.
    pub model: ModelRef,
    /// Models that answer, in this order, where a session's own can't be had.
    pub fallback_models: Vec<ModelRef>,
    /// Model services, by the name that model names begin with.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// How the agent works.
    pub agent: AgentConfig,
    /// What is asked and for how long.
    pub approvals: ApprovalConfig,
    /// How commands run.
    pub terminal: TerminalConfig,
    /// How pages are fetched.
    pub web: WebConfig,
    /// How files are read and written.
    pub files: FilesConfig,
    /// What holds tools in.
    pub sandbox: SandboxConfig,
    /// MCP servers of every session, by their names.
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// What turns may cost.
    pub budget: BudgetConfig,
    /// What is kept of files before they are changed.
    pub undo: UndoConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: ModelRef::offline(),
            fallback_models: Vec::new(),
            providers: BTreeMap::new(),
            agent: AgentConfig::default(),
            approvals: ApprovalConfig::default(),
            terminal: TerminalConfig::default(),
            web: WebConfig::default(),
            files: FilesConfig::default(),
            sandbox: SandboxConfig::default(),
            mcp_servers: BTreeMap::new(),
            budget: BudgetConfig::default(),
            undo: UndoConfig::default(),
        }
    }
}

/// A model service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderConfig {
    /// Its dialect; well-known names have a default.
    pub api: Option<Api>,
    /// Where it is; well-known names have a default. For `script`: the path of the script.
    pub base_url: Option<String>,
    /// The environment variable (or the line of `.env`) that holds its key.
    pub api_key_env: Option<String>,
    /// Headers sent with each request.
    pub headers: BTreeMap<String, String>,
    /// A file of certificates that are trusted beside the system's, absolute.
    pub ca_file: Option<PathBuf>,
    /// Seconds in which nothing may come before the service counts as stalled; the default is 120.
    pub stall_s: Option<u64>,
    /// What it serves; empty: asked from the service where someone wants to know.
    pub models: Vec<ModelConfig>,
}

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// OpenAI Chat Completions and the many servers that speak it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
    /// The built-in model that needs no key and no network.
    Offline,
    /// Plays a file of replies.
    Script,
}

impl Api {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Offline => "offline",
            Self::Script => "script",
        }
    }
}

/// What the user says of a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The service's name for it.
    pub id: String,
    /// Tokens its context holds.
    #[serde(default)]
    pub context_window: Option<u64>,
    /// Tokens a reply may have.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// Whether it takes pictures; `None` leaves that to what its service says, or is known for.
    #[serde(default)]
    pub images: Option<bool>,
    /// It calls tools.
    #[serde(default = "yes")]
    pub tools: bool,
    /// What it costs, for where its service does not say.
    #[serde(default)]
    pub price: Option<Price>,
}

/// How the agent works.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// The mode of new sessions, by either of its names.
    #[serde(deserialize_with = "by_name")]
    pub mode: Mode,
    /// Model calls a turn.
    pub max_steps: u32,
    /// How much models should think; `None` leaves it to their services.
    #[serde(deserialize_with = "by_name_if_any")]
    pub thought_level: Option<ThoughtLevel>,
    /// Tools that no session has.
    pub disabled_tools: Vec<String>,
    /// Seconds that a tool's call may take where the tool has no limit of its own; 0: as long as it takes.
    pub tool_timeout_s: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Default,
            max_steps: 90,
            thought_level: None,
            disabled_tools: Vec::new(),
            tool_timeout_s: 300,
        }
    }
}

/// What is asked and for how long.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalConfig {
    /// Seconds a question waits for its answer; 0: as long as the client is connected.
    pub timeout_s: u64,
    /// Commands that are never run: a program's name and, after it, words with `*` for any text.
    pub deny: Vec<String>,
}

/// How commands run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Seconds a command may take unless the call says otherwise.
    pub timeout_s: u64,
    /// Where they run.
    pub backend: TerminalBackend,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            timeout_s: 180,
            backend: TerminalBackend::Local,
        }
    }
}

/// How pages are fetched.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// Hosts that may be private ones, by their names or addresses.
    pub private_hosts: Vec<String>,
}

/// Where commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalBackend {
    /// As children of the agent.
    #[default]
    Local,
    /// In the editor's terminals, where it has them; those in the background stay with the agent.
    Client,
}

/// How files are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesConfig {
    /// By whom.
    pub backend: FilesBackend,
}

/// By whom files are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesBackend {
    /// By the editor, where it offers that; what was not saved yet counts.
    #[default]
    Auto,
    /// On disk by the agent.
    Local,
}

/// What holds in commands and the MCP servers that are programs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxConfig {
    /// Whether there is to be a wall around them.
    pub mode: SandboxMode,
    /// Whether what is behind it, and `web_fetch`, may speak to anybody.
    pub network: bool,
    /// Folders that may be written beside the session's own: absolute, or below `~`.
    pub writable: Vec<PathBuf>,
    /// MCP servers, by their names, that have no wall around them; those of the client too.
    pub outside: Vec<String>,
}

/// Whether there is to be a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// The best that the system has, or none.
    #[default]
    Auto,
    /// Without one nothing is started.
    Required,
    /// None.
    Off,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            mode: SandboxMode::Auto,
            network: true,
            writable: Vec::new(),
            outside: Vec::new(),
        }
    }
}

/// An MCP server: a `command` that is started, or a `url` that is asked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerConfig {
    /// The program.
    pub command: Option<PathBuf>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those that commands have.
    pub env: BTreeMap<String, String>,
    /// The folder it starts in, below the session's; without it, that one itself.
    pub cwd: Option<PathBuf>,
    /// The address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Headers sent with each request to it.
    pub headers: BTreeMap<String, String>,
    /// Seconds a call may take without a sign of life; the default is 60.
    pub timeout_s: Option<u64>,
    /// The only tools of it that sessions have, by the server's own names; without it, all.
    pub tools: Option<Vec<String>>,
}

impl McpServerConfig {
    /// The server of this name.
    pub fn server(&self, name: &str) -> Server {
        let transport = match (&self.command, &self.url) {
            (Some(command), None) => Transport::Stdio {
                command: command.clone(),
                args: self.args.clone(),
                env: self.env.clone(),
                cwd: self.cwd.clone(),
            },
            (None, Some(url)) => Transport::Http {
                url: url.clone(),
                headers: self.headers.clone().into_iter().collect(),
            },
            (Some(_), Some(_)) | (None, None) => Transport::Unserved {
                why: "it needs a `command` or a `url`, and not both".into(),
            },
        };
        Server {
            name: name.to_owned(),
            transport,
            timeout_s: self.timeout_s,
            tools: self.tools.clone(),
        }
    }
}

/// What turns may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetConfig {
    /// US dollars a turn may cost; 0: as much as it takes.
    pub max_cost_usd: f64,
}

/// What is kept of files before they are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UndoConfig {
    /// Mebibytes a session keeps; of more, the oldest go. 0: nothing is kept.
    pub max_mb: u64,
}

impl Default for UndoConfig {
    fn default() -> Self {
        Self { max_mb: 256 }
    }
}

impl UndoConfig {
    /// Bytes a session keeps.
    pub fn limit(self) -> u64 {
        self.max_mb.saturating_mul(1024 * 1024)
    }
}

fn yes() -> bool {
    true
}

/// Reads what people name in more ways than the protocol does, with the words that its own type has for a mistake.
fn by_name<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

fn by_name_if_any<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    by_name(deserializer).map(Some)
}
