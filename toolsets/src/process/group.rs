//! A child's process group: the child and what it started, unless that made a session of its own.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::ready::Leader;

/// The group that a child leads. Never the agent's own, since no child gets the number of a group that exists, and never
/// "everyone" (`kill(-1)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    leader: Pid,
    kind: Leader,
}

impl Group {
    pub(super) fn of(child: &Child, kind: Leader) -> Self {
        let leader = Pid::from_child(child);
        assert!(leader != Pid::INIT, "1 would mean everyone");
        Self { leader, kind }
    }

    pub(super) fn leader(self) -> Pid {
        self.leader
    }

    /// The leader, if it must not be asked to end.
    pub(super) fn keeper(self) -> Option<Pid> {
        (self.kind == Leader::Keeper).then_some(self.leader)
    }

    /// Whether any process of the group is left.
    pub(super) fn exists(self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    /// Asks the group to end.
    pub(super) fn ask(self) {
        match self.kind {
            Leader::Command => self.signal(Signal::TERM),
            Leader::Keeper => members::ask_all_but_leader(self.leader),
        }
    }

    /// Asks the group to end, gives it `grace`, then ends it.
    pub(super) fn end(self, grace: Duration) {
        self.ask();
        let deadline = Instant::now() + grace;
        // Nobody tells when the last process of a group is gone, so this looks again and again for a moment.
        while self.exists() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    /// Ends the group at once.
    pub(super) fn kill(self) {
        self.signal(Signal::KILL);
    }

    fn signal(self, signal: Signal) {
        let _gone_already = kill_process_group(self.leader, signal);
    }
}

#[cfg(target_os = "linux")]
mod members {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// Asks the members of a group to end, and not the process that leads it.
    pub(super) fn ask_all_but_leader(leader: Pid) {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        for number in numbers.filter(|number| *number != leader) {
            // Held before it is looked at, so that a reused number is never hit.
            let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else {
                continue;
            };
            if group_of(number) == Some(leader.as_raw_pid()) {
                let _ended_already = pidfd_send_signal(&process, Signal::TERM);
            }
        }
    }

    /// The third field after the name, which ends with the last `)`.
    fn group_of(number: Pid) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        fields.split(' ').nth(2)?.parse().ok()
    }
}

/// There are no keepers.
#[cfg(not(target_os = "linux"))]
mod members {
    use rustix::process::{Pid, Signal, kill_process_group};

    pub(super) fn ask_all_but_leader(leader: Pid) {
        let _gone_already = kill_process_group(leader, Signal::TERM);
    }
}
