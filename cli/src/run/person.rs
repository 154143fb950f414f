//! The person at the terminal, if there is one.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};

use crossbeam_channel::{Receiver, unbounded};
use rustix::termios::{QueueSelector, tcflush};

/// Who answers questions.
pub(super) enum Person {
    /// Not looked for yet.
    Unknown,
    /// There is nobody to ask, and why.
    Nobody(&'static str),
    /// The lines that are typed, and the terminal itself, to drop what was typed before a question.
    Types {
        lines: Receiver<String>,
        terminal: Option<File>,
    },
}

impl Person {
    /// The person at the terminal, if there is one who sees our questions and this process may read what is typed.
    pub(super) fn look() -> Self {
        if !io::stderr().is_terminal() {
            return Self::Nobody("stderr is no terminal");
        }
        let Ok(terminal) = File::open("/dev/tty") else {
            return Self::Nobody("there is no terminal");
        };
        // Reading in the background would stop the process.
        if !is_in_foreground(&terminal) {
            return Self::Nobody("this runs in the background");
        }
        let same = terminal.try_clone().ok();
        match read_lines(BufReader::new(terminal)) {
            Ok(lines) => Self::Types { lines, terminal: same },
            Err(_) => Self::Nobody("the terminal can't be read"),
        }
    }

    /// Drops what was typed up to now: before a question was seen it is no answer to it.
    pub(super) fn forget_typed(&self) {
        if let Self::Types { lines, terminal } = self {
            if let Some(terminal) = terminal {
                let _ = tcflush(terminal, QueueSelector::IFlush);
            }
            lines.try_iter().for_each(drop);
        }
    }
}

/// Whether this process belongs to the group that may read from its terminal. By `/proc`, since either group may be
/// outside our namespace of processes, where it has no number: as with bubblewrap, which does not hinder reading. Both
/// follow the name, which ends with the last `)`.
#[cfg(target_os = "linux")]
fn is_in_foreground(_terminal: &File) -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    matches!(fields[..], [_state, _parent, group, _session, _terminal, foreground, ..] if group == foreground)
}

#[cfg(not(target_os = "linux"))]
fn is_in_foreground(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).ok() == Some(rustix::process::getpgrp())
}

/// Reads lines on a thread of its own, since a read can't be given up. The channel holds what a person types; it is
/// unbounded so that no line waits in the thread, where it would outlive the emptying before a question. Ends with the
/// terminal, or with the process.
fn read_lines(terminal: impl BufRead + Send + 'static) -> io::Result<Receiver<String>> {
    let (typed, lines) = unbounded();
    std::thread::Builder::new().name("terminal".into()).spawn(move || {
        for line in terminal.lines().map_while(Result::ok) {
            if typed.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}
