//! Whether what `docs/security.md` promises is so on the built binary. The tests have short forms of this,
//! `examples/safety.rs` the full ones.

mod canaries;
mod deaths;
mod floods;
mod lines;
mod opening;
mod private;
mod processes;
mod refusals;
mod times;

use std::fmt;
use std::process::Command;

use crate::client::Home;

pub use canaries::canaries;
pub use deaths::{Death, deaths, holders};
pub use floods::{long_line, much_output, slow_reader};
pub use lines::{generated_lines, hand_made_lines};
pub use opening::{booby_traps, programs_started};
pub use private::{listening, readable_by_others};
pub use refusals::{effects_before_an_answer, refusals};
pub use times::{cancels, ends};

/// What came of one promise.
#[derive(Debug)]
pub struct Finding {
    /// What is promised.
    pub what: String,
    /// How it is to come out.
    pub goal: &'static str,
    /// How it came out.
    pub found: String,
    /// Everything that is wrong.
    pub faults: Vec<String>,
    /// It took longer than the goal says. No test fails by that.
    pub is_late: bool,
}

impl Finding {
    /// A promise that is kept so far.
    fn new(what: impl Into<String>, goal: &'static str) -> Self {
        Self {
            what: what.into(),
            goal,
            found: String::new(),
            faults: Vec::new(),
            is_late: false,
        }
    }

    /// Something is wrong.
    fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Something is wrong unless this is so.
    fn expect(&mut self, is_so: bool, fault: impl FnOnce() -> String) {
        if !is_so {
            self.faults.push(fault());
        }
    }

    /// Whether the goal is reached.
    pub fn is_reached(&self) -> bool {
        self.faults.is_empty() && !self.is_late
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reached = if self.is_reached() { "yes" } else { "NO " };
        write!(f, "{reached}  {:58}  {:34}  {}", self.what, self.goal, self.found)
    }
}

/// `agent acp` with this home, where the login shell, which is asked for paths, has nothing to do.
fn agent_of(home: &Home) -> Command {
    with_plain_shell(home, home.command(&["acp"]))
}

fn with_plain_shell(home: &Home, mut command: Command) -> Command {
    let user = home
        .workspace()
        .parent()
        .map(std::path::Path::to_owned)
        .unwrap_or_default();
    command.env("HOME", user).env("SHELL", "/bin/sh");
    command
}

/// MiB of KiB, for people.
fn mib(kib: u64) -> String {
    format!("{} MiB", kib.div_ceil(1024))
}
