//! A small process that outlives the agent by a moment: should the agent be killed without a chance to clean up, it
//! ends the groups that were alive. It exists only while there are such groups.
//!
//! A parent-death signal reaches the direct child only, and only on Linux; this reaches the whole group everywhere.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;

use super::group::Group;
use super::spawner::{spawn, spawn_lasting};

/// Remembers the last line it read, the groups alive, and ends those when the other end of its input is gone. The
/// signals that end an agent must not end it first.
const SCRIPT: &str = "trap '' HUP INT TERM; while read -r line; do groups=$line; done; \
for group in $groups; do kill -9 \"-$group\"; done";

static GUARD: Mutex<Guard> = Mutex::new(Guard {
    groups: BTreeSet::new(),
    process: None,
});

struct Guard {
    groups: BTreeSet<i32>,
    process: Option<Child>,
}

/// A group that ends when the agent does, however that is. Dropping it takes the group out of the guard's care.
pub(super) struct Guarded(Group);

impl Guarded {
    /// Starts a child and takes its group into care. Only for a moment after the start nobody but the parent-death signal
    /// would end it: the guard is there before, and hears of the group right after.
    pub(super) fn spawn(command: Command) -> io::Result<(Child, Self)> {
        let mut guard = GUARD.lock();
        if guard.process.is_none() {
            guard.process = start();
        }
        let child = spawn(command);
        let group = child.as_ref().ok().map(Group::of);
        guard.groups.extend(group.map(|group| group.leader().as_raw_pid()));
        guard.tell();
        let child = child?;
        let guarded = Self(Group::of(&child));
        Ok((child, guarded))
    }

    pub(super) fn group(&self) -> Group {
        self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let mut guard = GUARD.lock();
        guard.groups.remove(&self.0.leader().as_raw_pid());
        guard.tell();
    }
}

impl Guard {
    /// Tells the process which groups are alive, and ends it after the last. The lock is held meanwhile so that no older
    /// list comes after a newer one; the process always reads, so a short line never waits.
    fn tell(&mut self) {
        let numbers: Vec<String> = self.groups.iter().map(i32::to_string).collect();
        let line = format!("{}\n", numbers.join(" "));
        let input = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        let told = input.is_some_and(|input| input.write_all(line.as_bytes()).is_ok());
        if !told || self.groups.is_empty() {
            // Somebody ended it, or it has nothing to do; the next group gets another.
            end(self.process.take());
        }
    }
}

/// Without one, the parent-death signal still ends the direct children, so a failure is only worth a word in the log.
fn start() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).env_clear().current_dir("/");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    spawn_lasting(command)
        .inspect_err(|error| tracing::warn!(%error, "the guard of background processes could not be started"))
        .ok()
}

fn end(process: Option<Child>) {
    if let Some(mut process) = process {
        drop(process.stdin.take());
        let _ended_by_somebody = process.wait();
    }
}
