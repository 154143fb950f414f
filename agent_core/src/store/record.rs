//! What goes in and out of the store beside events.

use std::path::PathBuf;

use super::ending::Ended;
use crate::approval::Mode;
use crate::event::{ContextUse, Envelope};
use crate::id::SessionId;
use crate::prompt::{Facts, Instructions};
use crate::provider::{ModelRef, Origin, ThoughtLevel, Usage};

/// What is kept of a session beside its events.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    /// The session.
    pub id: SessionId,
    /// Where it was begun: `acp` or `run`.
    pub source: String,
    /// Its folder.
    pub cwd: PathBuf,
    /// Its further folders.
    pub extra_roots: Vec<PathBuf>,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its model.
    pub model: ModelRef,
    /// Where its model's replies came from when it began.
    pub origin: Origin,
    /// Its mode.
    pub mode: Mode,
    /// How much its model should think; `None` leaves it to the service.
    pub thought: Option<ThoughtLevel>,
    /// Its system prompt, fixed when it began.
    pub system: String,
    /// What its client adds to the system prompt, or puts in the place of a part of it.
    pub instructions: Option<Instructions>,
    /// Where it was forked from; none if it was begun anew.
    pub parent: Option<Parent>,
    /// What its system prompt tells of it; none if it was begun by a version that did not keep that.
    pub begun: Option<Facts>,
    /// What its model was last told of it; none if nobody knows.
    pub told: Option<Facts>,
    /// When it was begun, in Unix ms.
    pub created_ms: i64,
    /// Its last activity, in Unix ms.
    pub updated_ms: i64,
    /// Messages of user and model.
    pub messages: u64,
    /// Tokens of all its steps.
    pub usage: Usage,
    /// How full the model's context was after its last step.
    pub context: Option<ContextUse>,
    /// The number of its last row; 0 before the first.
    pub last_seq: u64,
    /// The number of its last turn; 0 before the first.
    pub last_turn: u64,
    /// When the user has put it aside, in Unix ms.
    pub archived_ms: Option<i64>,
    /// Its end; none while it is open, and for one whose process was killed.
    pub ended: Option<Ended>,
}

impl SessionRecord {
    /// A session that begins in a folder, with the built-in model, the usual mode and nothing in it.
    pub fn new(id: SessionId, cwd: PathBuf, now_ms: i64) -> Self {
        Self {
            id,
            source: String::new(),
            cwd,
            extra_roots: Vec::new(),
            title: None,
            model: ModelRef::offline(),
            origin: Origin::offline(),
            mode: Mode::Default,
            thought: None,
            system: String::new(),
            instructions: None,
            parent: None,
            begun: None,
            told: None,
            created_ms: now_ms,
            updated_ms: now_ms,
            messages: 0,
            usage: Usage::default(),
            context: None,
            last_seq: 0,
            last_turn: 0,
            archived_ms: None,
            ended: None,
        }
    }
}

/// An event with the time at which it was stored. That is for people: order is by number.
#[derive(Clone, Debug, PartialEq)]
pub struct Dated {
    /// In Unix ms.
    pub at_ms: i64,
    /// The event.
    pub envelope: Envelope,
}

/// Where a session was forked from. That session may be gone since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The session.
    pub session: SessionId,
    /// The last row that was copied from there; 0 where there was none.
    pub seq: u64,
}

/// How safe a commit must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Survives the death of the process.
    Process,
    /// Survives a power cut: waits for the disk. For what answers a prompt.
    Disk,
}

/// What became of an append.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// It is committed.
    Stored,
    /// It can't be committed now and waits in memory, in order, until it can; the reason is a sentence for the user.
    Waiting(String),
    /// It, or what waited before it, is nowhere and will never be stored; the reason is a sentence for the user.
    Lost(String),
}
