//! Search in the history: what is looked for, and what is found. The store looks; who shows it is a surface or a tool.

mod key_shape;
mod query;
mod slip;
mod snippet;
mod spelling;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

pub use key_shape::masked;
pub(crate) use key_shape::{is_secret, masked_ends};
pub(crate) use query::Date;
pub use query::Query;
pub use slip::Slip;
pub use snippet::Snippet;
pub(crate) use snippet::{TABLE, snippets};
pub(crate) use spelling::spelled;

/// A mark in [`ToolOutput::raw`](crate::event::ToolOutput::raw): the output repeats what the history has, and is not found
/// itself.
pub const FROM_HISTORY: &str = "from_history";

/// Who said something, or what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A tool: the title of a call, or its output.
    Tool,
    /// The model.
    Agent,
    /// The user.
    User,
    /// A session's title.
    Title,
}

impl Role {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Tool, Self::Agent, Self::User, Self::Title];

    /// The number of its column in the index.
    pub(crate) fn column(self) -> i64 {
        match self {
            Self::Tool => 0,
            Self::Agent => 1,
            Self::User => 2,
            Self::Title => 3,
        }
    }

    /// Its name in queries, in JSON, and as a column.
    pub fn id(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::User => "user",
            Self::Title => "title",
        }
    }
}

/// What is asked of the history.
#[derive(Clone, Debug)]
pub struct Search {
    /// What is looked for.
    pub query: Query,
    /// The session that is left out: the one that asks.
    pub except: Option<SessionId>,
    /// In sessions that are put aside too.
    pub archived: bool,
    /// Every hit, and not the best of each session alone.
    pub all_hits: bool,
    /// So many hits are passed over.
    pub offset: usize,
    /// The most hits.
    pub limit: usize,
}

/// What was found, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// This page of the hits.
    pub hits: Vec<Hit>,
    /// There are more behind it.
    pub more: bool,
    /// There were so many matches that only the newest [`RANKED`] were ranked.
    pub cut: bool,
}

/// The most matches that are ranked.
pub const RANKED: usize = 20_000;

/// A message that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its session.
    pub session: SessionId,
    /// The session's title.
    pub title: Option<String>,
    /// The session's folder.
    pub cwd: PathBuf,
    /// Its row in the session.
    pub seq: u64,
    /// Who said it.
    pub role: Role,
    /// When, in Unix ms.
    pub at_ms: i64,
    /// When, as a clock on the wall here says it: `2026-11-30 14:02`.
    pub when: String,
    /// The part of it that matches, in one line.
    pub snippet: Snippet,
    /// How many matches its session has among those ranked; at least 1.
    pub hits: u64,
}

/// A part of a session's history, as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Its row.
    pub seq: u64,
    /// Who said it.
    pub role: Role,
    /// When, as a clock on the wall here says it.
    pub when: String,
    /// What was said.
    pub text: String,
}

/// Which part of a session's history is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What stands around a row, tools included.
    Around(u64),
    /// How it began and where it stands: what user and model said first and last.
    Ends,
}
