//! A child's process group: the child and what it started, unless that made a session of its own.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The group that a child leads. Never the agent's own, since no child gets the number of a group that exists, and never
/// "everyone" (`kill(-1)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(Pid);

impl Group {
    pub(super) fn of(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        assert!(pid != Pid::INIT, "1 would mean everyone");
        Self(pid)
    }

    pub(super) fn leader(self) -> Pid {
        self.0
    }

    /// Whether any process of the group is left.
    pub(super) fn exists(self) -> bool {
        test_kill_process_group(self.0).is_ok()
    }

    /// Asks the group to end.
    pub(super) fn ask(self) {
        self.signal(Signal::TERM);
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
        let _gone_already = kill_process_group(self.0, signal);
    }
}
