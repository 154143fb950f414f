//! A small process that outlives the agent by a moment: should the agent be killed without a chance to clean up, it
//! ends the groups that were alive and, on Linux, whatever carries the agent's mark in its environment. It exists only
//! while there are such groups or a session that has started something.
//!
//! A parent-death signal reaches the direct child only, and only on Linux; this reaches the whole group everywhere. What
//! it can't reach is a process that left its group and cleared its environment.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;
use rustix::process::Pid;

use super::environment;
use super::group::Group;
use super::orphans;
use super::ready::Ready;
use super::spawner::Spawner;

/// Remembers the last line it read, the groups alive, and ends those when the other end of its input is gone; then what
/// carries the mark `$0`, again until nothing does, since a process may fork meanwhile. The signals that end an agent
/// must not end it first.
const SCRIPT: &str = r#"trap '' HUP INT TERM
while read -r line; do [ "$line" = done ] && exit; groups=$line; done
for group in $groups; do kill -9 "-$group"; done
for round in 1 2 3 4 5 6 7 8; do
    marked=$(grep -lz "^$0" /proc/[0-9]*/environ)
    [ "$marked" ] || exit
    for file in $marked; do file=${file#/proc/}; kill -9 "${file%/environ}"; done
done"#;

static GUARD: Mutex<Guard> = Mutex::new(Guard {
    groups: BTreeSet::new(),
    sessions: 0,
    process: None,
});

struct Guard {
    groups: BTreeSet<i32>,
    /// Sessions that have started something, which may have left its group.
    sessions: usize,
    process: Option<Child>,
}

/// A session that has started something. Dropping it says that all of it has been ended.
pub(super) struct Watched(());

impl Watched {
    /// Keeps the guard from now on.
    pub(super) fn new() -> Self {
        GUARD.lock().sessions += 1;
        Self(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut guard = GUARD.lock();
        guard.sessions -= 1;
        guard.tell();
        drop(guard);
        orphans::end_ownerless();
    }
}

/// What is ours, while no process is started and none of ours is forgotten.
pub(super) struct Own<'a>(&'a Guard);

impl Own<'_> {
    /// Whether it is a child that we have started.
    pub(super) fn has(&self, pid: Pid) -> bool {
        let guard = self.0.process.as_ref().map(Pid::from_child);
        self.0.groups.contains(&pid.as_raw_pid()) || guard == Some(pid)
    }

    /// Whether a session has started something that it has not ended.
    pub(super) fn has_sessions(&self) -> bool {
        self.0.sessions > 0
    }
}

/// Asks something about what is ours.
pub(super) fn with_own<T>(ask: impl FnOnce(&Own<'_>) -> T) -> T {
    ask(&Own(&GUARD.lock()))
}

/// A group that ends when the agent does, however that is. Dropping it takes the group out of the guard's care.
pub(super) struct Guarded(Group);

impl Guarded {
    /// Starts a child and takes its group into care. Only for a moment after the start nobody but the parent-death signal
    /// would end it: the guard is there before, and hears of the group right after.
    pub(super) fn spawn(ready: Ready) -> io::Result<(Child, Self)> {
        let leader = ready.leader;
        let mut guard = GUARD.lock();
        if guard.process.is_none() {
            guard.process = start();
        }
        let child = ready.spawner.spawn(ready.command);
        let group = child.as_ref().ok().map(|child| Group::of(child, leader));
        guard.groups.extend(group.map(|group| group.leader().as_raw_pid()));
        orphans::reap_from_now_on();
        guard.tell();
        let child = child?;
        let guarded = Self(Group::of(&child, leader));
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
        if !told || (self.groups.is_empty() && self.sessions == 0) {
            // Somebody ended it, or it has nothing to do; the next group gets another.
            end(self.process.take());
        }
    }
}

/// Without one, the parent-death signal still ends the direct children, so a failure is only worth a word in the log.
fn start() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, &environment::mark_of_all()])
        .env_clear()
        .current_dir("/");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Spawner::of_all()
        .spawn_lasting(command)
        .inspect_err(|error| tracing::warn!(%error, "the guard of background processes could not be started"))
        .ok()
}

fn end(process: Option<Child>) {
    if let Some(mut process) = process {
        let told = process.stdin.take().map(|mut input| input.write_all(b"done\n"));
        drop(told);
        let _ended_by_somebody = process.wait();
    }
}
