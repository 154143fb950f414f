//! What a tool call will do, computed once: policy reads it, the question shows it, and it is what then runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::change::FileChange;
use crate::json_path;
use crate::wall::Sandbox;

/// What a call will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "plan", rename_all = "snake_case")]
pub enum Plan {
    /// Touches nothing outside the session: a to-do list, the list of its own processes.
    Inward,
    /// Reads files or folders.
    Read {
        /// Which.
        places: Vec<Place>,
    },
    /// Changes files.
    Change {
        /// Each file once.
        changes: Vec<FileChange>,
    },
    /// Runs a command.
    Command(CommandPlan),
    /// Fetches a page.
    Fetch {
        /// Its whole address.
        url: String,
        /// The host that is asked.
        host: String,
    },
    /// Writes to the input of a command that runs already.
    Input {
        /// The process, by the session's name for it.
        process: String,
        /// The command it was started with.
        command: String,
        /// What will be written.
        text: String,
        /// The reason it is never written, in any mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forbidden: Option<String>,
    },
    /// Calls a tool of an MCP server. What is passed to it is the call's input.
    Foreign(ForeignTool),
}

/// A tool of an MCP server, as exactly as a grant names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignTool {
    /// The server's name in this session, for people.
    pub server: String,
    /// What tells the server from any other: a hash of what is started or asked, and where.
    pub identity: String,
    /// The tool, by the server's own name.
    pub tool: String,
    /// A hash of what the server says of the tool. A tool that says something else is another one.
    pub schema: String,
}

impl ForeignTool {
    /// Whether this is the same tool of the same server, whatever that is called here.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.identity, &self.tool, &self.schema) == (&other.identity, &other.tool, &other.schema)
    }
}

/// A file or folder as it was named, and where that really is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// As it was named, made absolute: what people and editors are shown.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// With all symbolic links of its existing part resolved: what policy judges.
    #[serde(with = "json_path")]
    pub real: PathBuf,
}

/// A place in a file that an editor can show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, absolute.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A command that will run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// The whole text that the shell gets.
    pub command: String,
    /// The folder it starts in.
    pub cwd: Place,
    /// It goes on while the turn does.
    #[serde(default)]
    pub background: bool,
    /// What holds it in.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// What could be read from its text.
    pub facts: CommandFacts,
}

impl CommandPlan {
    /// Where and how it runs, as a question says it: `in FOLDER`, or `in FOLDER, in the background`.
    pub fn place_and_manner(&self) -> String {
        let folder = self.cwd.path.display();
        if self.background {
            format!("in {folder}, in the background")
        } else {
            format!("in {folder}")
        }
    }
}

/// What could be read from a command's text. It decides whether to ask; it is no boundary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandFacts {
    /// Provably one of the commands that only read, and only inside the roots.
    #[serde(default)]
    pub read_only: bool,
    /// The one plain command it consists of, if it does and a standing grant may cover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactCommand>,
    /// The reason it is never run, in any mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    /// Why it is not sure that it only reads, if it is not: what a question says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// A command as a grant covers it: this program with exactly these arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactCommand {
    /// The program's file.
    #[serde(with = "json_path")]
    pub program: PathBuf,
    /// All its arguments.
    pub args: Vec<String>,
}
