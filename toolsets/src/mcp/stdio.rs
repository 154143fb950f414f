//! A server that is a child process: how it is started, and why it could not be.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam_channel::{after, select};
use tokio::net::unix::pipe;
use tokio::runtime::Handle;

use super::lines::Lines;
use crate::process::{Processes, Running};
use crate::sandbox::Fault;
use crate::terminal::status_line;

/// After its stdin has closed, a server gets this long to end by itself,
const EOF_GRACE: Duration = Duration::from_millis(300);
/// and this long after it was asked to.
const GRACE: Duration = Duration::from_millis(300);
/// How much of what a server printed last is told.
const LAST_LINES: usize = 5;
/// The most of it, in characters.
const LAST_TEXT: usize = 1000;

/// What is started.
pub(super) struct Program<'a> {
    /// The server's name, as the user gave it.
    pub(super) name: &'a str,
    pub(super) command: &'a Path,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: &'a Path,
}

/// A server's process. Dropping it kills what still runs of it.
pub(super) struct Child {
    running: Running,
    /// How it is run without a sandbox, if it has one.
    way_out: Option<String>,
}

impl Program<'_> {
    /// Starts it; what comes back is what it is spoken with over.
    pub(super) fn start(&self, processes: &Processes, handle: &Handle) -> Result<(Child, Lines), String> {
        let started = processes.start_spoken(self.name, (self.command, self.args), self.env, self.cwd);
        let (running, spoken) = started.map_err(|error| self.explain(&error, processes))?;
        let _inside = handle.enter();
        let lines = pipe::Receiver::from_owned_fd(OwnedFd::from(spoken.stdout)).and_then(|stdout| {
            Ok(Lines::new(
                stdout,
                pipe::Sender::from_owned_fd(OwnedFd::from(spoken.stdin))?,
            ))
        });
        let lines = lines.map_err(|error| format!("its pipes can't be used: {error}"))?;
        let way_out = processes.sandbox().holds_in(self.name).then(|| {
            format!(
                "it ran in the sandbox: if that is why, `outside = [{:?}]` under [sandbox] runs it without",
                self.name
            )
        });
        Ok((Child { running, way_out }, lines))
    }

    fn explain(&self, error: &io::Error, processes: &Processes) -> String {
        let (command, cwd) = (self.command.display(), self.cwd.display());
        let is_missing = error.kind() == ErrorKind::NotFound;
        if let Some(fault) = error.get_ref().and_then(|error| error.downcast_ref::<Fault>()) {
            fault.to_string()
        } else if !self.cwd.is_dir() {
            format!("its folder {cwd} does not exist")
        } else if is_missing && self.is_bare() {
            let own = self.env.get("PATH");
            let path = own.map_or_else(|| processes.search_path().to_string_lossy(), Into::into);
            format!("there is no program `{command}` in PATH, which is {path}")
        } else if is_missing {
            format!("there is no program {command}")
        } else if error.kind() == ErrorKind::PermissionDenied {
            format!("{command} can't be run: {error}; is it executable?")
        } else {
            format!("{command} can't be run: {error}")
        }
    }

    /// Whether the program is looked for in PATH.
    fn is_bare(&self) -> bool {
        PathBuf::from(self.command).components().count() == 1 && !self.command.starts_with("/")
    }
}

impl Child {
    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.running.exit().is_some()
    }

    /// How it is with it, and what it printed last, for people.
    pub(super) fn last_words(&self, patience: Duration) -> String {
        select! {
            recv(self.running.exited()) -> _ => self.running.drain(),
            recv(after(patience)) -> _ => {}
        }
        let state = self
            .running
            .exit()
            .map_or_else(|| "it still runs".to_owned(), status_line);
        let printed = self.running.output().since(0).text();
        let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        let start = last.ceil_char_boundary(last.len().saturating_sub(LAST_TEXT));
        match &last[start..] {
            "" => state,
            last => format!("{state}; the last it printed:\n{last}"),
        }
    }

    /// The same of one that could not be used from the beginning.
    pub(super) fn only_words(&self, patience: Duration) -> String {
        let words = self.last_words(patience);
        match &self.way_out {
            Some(way_out) => format!("{words}\n{way_out}"),
            None => words,
        }
    }

    /// Ends it, and what it started. Its stdin should be closed by now, or soon.
    pub(super) fn end(&self) {
        select! {
            recv(self.running.exited()) -> _ => {}
            recv(after(EOF_GRACE)) -> _ => {}
        }
        self.running.end(GRACE);
    }
}
