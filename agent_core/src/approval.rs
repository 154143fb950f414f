//! Questions to the user about a tool call, and what an answer means.
//!
//! Every way out that is not an explicit allow is a denial. The judgement itself is in [`crate::policy`].

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::event::Shown;
use crate::id::{ApprovalId, ToolCallId};
use crate::json_path;
use crate::plan::{ExactCommand, ForeignTool};

/// How much a session asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reads and plans; changes nothing.
    Plan,
    /// Asks before each edit and each command that may change something.
    Default,
    /// Edits inside the roots without asking; commands as in `default`.
    AcceptEdits,
    /// Asks only for what is protected or outside the roots.
    DontAsk,
}

impl Mode {
    /// All modes, in the order they are offered.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Default, Self::AcceptEdits, Self::DontAsk];

    /// Its name in configuration and protocol.
    pub fn id(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "accept_edits",
            Self::DontAsk => "dont_ask",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Default => "Ask",
            Self::AcceptEdits => "Accept edits",
            Self::DontAsk => "Don't ask",
        }
    }

    /// What it does, in a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::Plan => "Read and plan; change nothing",
            Self::Default => "Ask before each edit and before commands that may change something",
            Self::AcceptEdits => "Edit files in the workspace without asking; ask before such commands",
            Self::DontAsk => {
                "Run commands and edit without asking; file tools ask outside the workspace and for protected files"
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A mode's name that is none.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("`{0}` is not a mode: choose plan, default, accept_edits or dont_ask")]
pub struct NotAMode(pub String);

impl FromStr for Mode {
    type Err = NotAMode;

    /// Takes both names of a mode, as people type them: `Don't ask`, `dont-ask`, `"ask"`.
    fn from_str(text: &str) -> Result<Self, NotAMode> {
        let typed = plain_name(text);
        Self::ALL
            .into_iter()
            .find(|mode| [mode.id(), mode.name()].map(plain_name).contains(&typed))
            .ok_or_else(|| NotAMode(text.to_owned()))
    }
}

/// A name without what people write in different ways.
fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|char| !"\"'’` _-".contains(*char))
        .flat_map(char::to_lowercase)
        .collect()
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The question.
    pub id: ApprovalId,
    /// The call that waits.
    pub call: ToolCallId,
    /// Why it is asked, in a few words; empty where the call itself says it all.
    pub reason: String,
    /// The possible answers, at most one of a kind.
    pub options: Vec<ApprovalOption>,
    /// The whole call as it will run. In memory only: the stored rows of the same call hold the same.
    #[serde(skip)]
    pub shown: Shown,
}

/// One possible answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalOption {
    /// What it means; also its id, since there is at most one of a kind.
    pub kind: OptionKind,
    /// What a person reads; says exactly what would be stored.
    pub name: String,
    /// What choosing it stores, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Run this call.
    AllowOnce,
    /// Run this call and store the option's grant.
    AllowAlways,
    /// Don't run this call.
    RejectOnce,
}

impl OptionKind {
    /// Its id in the protocol.
    pub fn id(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::RejectOnce => "reject_once",
        }
    }
}

/// A standing permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Edits inside the roots, until the session leaves memory. Never stored.
    EditsThisSession,
    /// Pages of this host, until the session leaves memory. Never stored.
    HostThisSession {
        /// The host.
        host: String,
    },
    /// Exactly this command, from sessions with this root, until revoked.
    Command {
        /// The command.
        command: ExactCommand,
        /// The real path of the session's folder.
        #[serde(with = "json_path")]
        root: PathBuf,
    },
    /// Exactly this tool of this MCP server, as it describes itself, until revoked.
    Tool {
        /// The tool.
        tool: ForeignTool,
    },
}

impl Grant {
    /// Whether this one allows what `wanted` would.
    pub(crate) fn covers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Tool { tool }, Self::Tool { tool: wanted }) => tool.is_same(wanted),
            (Self::EditsThisSession | Self::HostThisSession { .. } | Self::Command { .. } | Self::Tool { .. }, _) => {
                self == wanted
            }
        }
    }
}

/// How a surface answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAnswer {
    /// The user chose this option. One that was not offered counts as a rejection.
    Chose(OptionKind),
    /// An answer that makes no sense, or an option that does not exist.
    Invalid,
    /// There is nobody who could be asked.
    Nobody,
    /// The user closed the question: the rest of the reply's calls and the turn end.
    Cancelled,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Run it.
    Allowed,
    /// Run it, and the option's grant is stored.
    AllowedAlways,
    /// Don't run it.
    Rejected,
    /// Nobody answered in time, or there is nobody to ask.
    Unanswered,
    /// Don't run it, and end the turn.
    Cancelled,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The user, by an option or by closing the question.
    User,
    /// The clock.
    Timeout,
    /// A cancel of the turn.
    Cancel,
    /// Nobody: the answer made no sense, or there is nobody to ask.
    Default,
}
