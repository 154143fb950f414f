//! What was asked on either side and has no answer yet.

use serde_json::Value;

use crate::steps::Play;

/// A request of the client's.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    pub(crate) id: String,
    pub(crate) about: About,
    /// `$/cancel_request` was sent for it.
    pub(crate) is_cancelled: bool,
    pub(crate) answer: Option<Value>,
}

/// What it is about. Sessions by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Greeting,
    New,
    Load(usize),
    Resume(usize),
    Fork(usize),
    List,
    Close(usize),
    Delete(usize),
    Set(usize),
    Prompt {
        session: usize,
        number: usize,
        play: Option<Play>,
    },
    Odd,
}

impl About {
    pub(crate) fn session(self) -> Option<usize> {
        match self {
            Self::Load(session)
            | Self::Resume(session)
            | Self::Fork(session)
            | Self::Close(session)
            | Self::Delete(session)
            | Self::Set(session)
            | Self::Prompt { session, .. } => Some(session),
            Self::Greeting | Self::New | Self::List | Self::Odd => None,
        }
    }

    /// Of a prompt.
    pub(crate) fn number(self) -> Option<usize> {
        if let Self::Prompt { number, .. } = self {
            Some(number)
        } else {
            None
        }
    }

    pub(crate) fn is_prompt(self) -> bool {
        self.number().is_some()
    }
}

/// A request of the agent's.
#[derive(Clone, Debug)]
pub(crate) struct Theirs {
    pub(crate) message: Value,
    pub(crate) session: usize,
    /// The prompt whose call it is about, where it says that.
    pub(crate) number: Option<usize>,
    /// The step at which it came.
    pub(crate) came: usize,
    pub(crate) state: State,
}

/// What has become of a request of the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Answered,
    TakenBack,
    /// Both, in the order in which the client did and heard it.
    AnsweredThenTakenBack,
}

impl Theirs {
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn is_question(&self) -> bool {
        self.method() == "session/request_permission"
    }

    /// Whether the agent waits for its answer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state == State::Open && !matches!(self.method(), "terminal/kill" | "terminal/release")
    }
}
