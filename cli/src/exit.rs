//! How the program ends: the exit codes and the error that carries one.

use std::fmt;
use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// An exit code by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Tried and failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// Nothing came for too long.
    TimedOut,
    /// No session has this id.
    NoSession,
    /// A permission was refused and nothing else could be done.
    Refused,
    /// The user stopped it.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::TimedOut => 3,
            Self::NoSession => 4,
            Self::Refused => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Ends the process with this code when the time is over, whatever hangs. Without a thread there is no end.
pub(crate) fn after(time: Duration, exit: Exit) -> io::Result<()> {
    thread::Builder::new().name("last-moment".into()).spawn(move || {
        thread::sleep(time);
        std::process::exit(exit.code().into());
    })?;
    Ok(())
}

/// Why a command could not do its work, and the exit code that says so. Any other error becomes one by `?`, as
/// [`Exit::Failed`]; for that, this type is no `std::error::Error` itself.
#[derive(Debug)]
pub(crate) struct Fail {
    /// The code.
    pub(crate) exit: Exit,
    /// What a person reads.
    pub(crate) error: anyhow::Error,
}

impl Fail {
    /// A failure with its own code.
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            error: anyhow::anyhow!("{message}"),
        }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Whether the only fault is that nobody reads our output any more, as in `agent sessions list | head -1`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Fail {
    fn from(error: E) -> Self {
        Self {
            exit: Exit::Failed,
            error: error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_row_for_every_code_and_for_no_other() {
        use Exit::{Done, Failed, Interrupted, NoSession, Refused, TimedOut, Usage};
        let document = include_str!("../../docs/run.md");
        let (_, from) = document
            .split_once("| code | means |\n")
            .expect("the document has the table");
        let rows = from.lines().skip(1).take_while(|line| line.starts_with('|'));
        let found: Vec<String> = rows.filter_map(|row| Some(row.split(' ').nth(1)?.to_owned())).collect();
        let all = [Done, Failed, Usage, TimedOut, NoSession, Refused, Interrupted];
        assert_eq!(found, all.map(|exit| exit.code().to_string()));
    }
}
