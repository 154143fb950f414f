//! What a client does, as data. A step that has nothing to act on is passed over, so that every part of a walk is a walk.

use std::fmt;

use crate::lines::Odd;

/// A client's life.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    pub(crate) seed: u64,
    pub(crate) abilities: Abilities,
    /// The sessions have an MCP server.
    pub(crate) serves: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
}

/// What the client says that it can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) terminals: bool,
    pub(crate) forms: bool,
    pub(crate) notices: bool,
}

/// One of the sessions that the client knows, counted from the newest, around and around.
pub(crate) type At = u8;

/// One thing that a client does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    New,
    Load(At),
    Resume(At),
    Fork(At),
    List,
    Close(At),
    Delete(At),
    SetMode(At, &'static str),
    SetOption(At, &'static str),
    Prompt(At, Play),
    /// A slash command.
    Command(At, &'static str),
    Steer(At),
    Cancel(At),
    /// `$/cancel_request` for one of the requests that wait.
    CancelRequest(u8),
    /// Answers one of the agent's requests that wait.
    Answer(u8, Manner),
    /// Answers one that has been answered or taken back already, and allows it.
    AnswerAgain(u8),
    /// Answers what nobody asked.
    AnswerNothing,
    /// A line that is none of the protocol's.
    Line(Odd),
    /// Waits until the session's first open prompt is answered or can't go on without the client.
    Await(At),
    /// Waits for the answers to everything but prompts.
    Settle,
    /// Closes stdin in the middle of everything, and starts a new agent.
    Restart,
    /// The same by `kill -9`.
    Kill,
}

/// What a prompt has the model do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Play {
    /// Speak.
    Text,
    /// Speak and never end.
    Hold,
    /// Fail.
    Fail,
    /// Write a file.
    Edit,
    /// Write two files.
    Pair,
    /// Read two files at once.
    Reads,
    /// Run a program, which can be allowed for good.
    Touch,
    /// Run a command that prints.
    Command,
    /// Run a command that never ends.
    Sleep,
    /// Have an MCP server write a file.
    Far,
    /// Ask the user.
    Ask,
    /// Call with arguments that are no JSON.
    Wrong,
}

/// How the client answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Allows, or does as it is asked.
    Well,
    AllowAlways,
    Reject,
    Cancelled,
    UnknownOption,
    Senseless,
    Error,
    /// Allows, and rejects in the same breath.
    AllowThenReject,
    /// The other way round.
    RejectThenAllow,
}

/// How a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything is answered as it should be; what never ends is cancelled.
    Politely,
    /// Everything is cancelled.
    Cancels,
    /// Stdin is closed while everything goes on.
    Leaves,
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, an MCP server: {}", self.abilities, self.serves)?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{number:4} {step:?}")?;
        }
        write!(f, "     {:?}", self.end)
    }
}
