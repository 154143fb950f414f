//! What may be asked of a surface on a tool's behalf: the text of a file as an editor shows it, a terminal, a form. Data
//! only; [`Asker`](crate::asker::Asker) does the asking.

use std::path::PathBuf;

use crate::id::{AskId, SessionId, TerminalId};

/// What a surface can do for tools. It says so once, before its first session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It tells the text of a file as it shows it, with what was not saved yet.
    pub reads_files: bool,
    /// It writes a file and shows that.
    pub writes_files: bool,
    /// It runs commands in terminals of its own.
    pub has_terminals: bool,
    /// It puts a question to the user as a form.
    pub shows_forms: bool,
}

/// Something that a tool asks of the surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// What an answer names.
    pub id: AskId,
    /// The session whose tool asks.
    pub session: SessionId,
    /// What it asks for.
    pub request: Request,
}

/// What can be asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A file's text as it is shown. Answered by [`Reply::Text`].
    ReadFile {
        /// Which, absolute.
        path: PathBuf,
    },
    /// A file's new text, to be shown and saved. Answered by [`Reply::Done`].
    WriteFile {
        /// Which, absolute.
        path: PathBuf,
        /// All of it.
        content: String,
    },
    /// A command in a new terminal. Answered at once by [`Reply::Terminal`].
    CreateTerminal(NewTerminal),
    /// What a terminal holds. Answered at once by [`Reply::Output`].
    TerminalOutput(TerminalId),
    /// The end of a terminal's command. Answered by [`Reply::Exit`].
    WaitForExit(TerminalId),
    /// The command is to end; its terminal stays. Nobody waits for the answer.
    KillTerminal(TerminalId),
    /// The terminal is not needed any more; a command that still runs in it ends. Nobody waits for the answer.
    ReleaseTerminal(TerminalId),
    /// A question to the user. Answered by [`Reply::Form`].
    Form(Form),
}

/// A command for a terminal of the surface.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTerminal {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those that the surface gives it.
    pub env: Vec<(String, String)>,
    /// The folder it starts in, absolute.
    pub cwd: PathBuf,
    /// Bytes of output that are kept; of more, the last.
    pub output_limit: u64,
}

/// A question with an answer of the user's own, or one of some choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The question.
    pub question: String,
    /// What can be chosen; empty where the answer is free.
    pub choices: Vec<String>,
}

/// An answer of the surface.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A file's text.
    Text(String),
    /// It is done.
    Done,
    /// The terminal that was made.
    Terminal(TerminalId),
    /// What a terminal holds.
    Output(TerminalOutput),
    /// How a terminal's command ended.
    Exit(TerminalExit),
    /// What became of a form.
    Form(FormAnswer),
}

/// What a terminal holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TerminalOutput {
    /// The end of what was printed.
    pub text: String,
    /// There was more before it.
    pub cut: bool,
    /// How the command ended, if it has.
    pub exit: Option<TerminalExit>,
}

/// How a terminal's command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalExit {
    /// Its exit code.
    pub code: Option<u32>,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// What became of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormAnswer {
    /// It was sent.
    Sent {
        /// What was chosen.
        choice: Option<String>,
        /// What was written.
        text: Option<String>,
    },
    /// The user does not want to answer.
    Declined,
    /// The user closed it without an answer.
    Closed,
}
