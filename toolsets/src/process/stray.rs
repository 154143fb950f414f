//! Processes that left their group (`timeout`, `setsid`, daemons), found by the marks that all processes of a command
//! and of a session carry in their environment. They end when the command is stopped; after its usual end they were
//! left on purpose, and end with the session. One that also cleared its environment is not found here, but ends with
//! the process's last session; see [`super::orphans`]. On other systems than Linux all of them escape.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use rustix::process::Pid;

use super::environment::Mark;

#[cfg(target_os = "linux")]
pub(super) use linux::end_all;

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::end_all;

#[cfg(target_os = "linux")]
use linux::end;

#[cfg(not(target_os = "linux"))]
use elsewhere::end;

/// Asks every process that carries `mark` to end but the `keeper`, gives them `grace` and ends them; on a thread of its
/// own, since the system may have very many to look through. What is returned closes when it is done.
pub(super) fn end_aside(mark: Mark, keeper: Option<Pid>, grace: Duration) -> Receiver<()> {
    let (done, closed) = bounded(0);
    // Nobody joins this thread: it ends by itself, soon after the grace.
    let started = thread::Builder::new().name("strays".into()).spawn(move || {
        end(&mark, keeper, grace);
        drop(done);
    });
    if let Err(error) = started {
        tracing::warn!(%error, "what a command left outside its group ends with the session only");
    }
    closed
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

    use super::super::environment::Mark;

    /// So many that were asked are waited for; the others get less time.
    const MOST: usize = 64;

    /// Asks all, waits for `grace` at most, and ends all. The keeper ends by itself then, and says how the command ended.
    pub(in super::super) fn end(mark: &Mark, keeper: Option<Pid>, grace: Duration) {
        let mut asked = Vec::new();
        for process in marked(mark, keeper) {
            let _ended_already = pidfd_send_signal(&process, Signal::TERM);
            if asked.len() < MOST {
                asked.push(process);
            }
        }
        wait_for_ends(asked, grace);
        end_all_but(mark, keeper);
    }

    /// Ends every process that carries `mark`.
    pub(in super::super) fn end_all(mark: &Mark) {
        end_all_but(mark, None);
    }

    fn end_all_but(mark: &Mark, keeper: Option<Pid>) {
        // A process may fork while we look; a second look finds the child, and a fork bomb must not hold us here.
        for _ in 0..8 {
            let ended = marked(mark, keeper).filter(|process| pidfd_send_signal(process, Signal::KILL).is_ok());
            if ended.count() == 0 {
                return;
            }
        }
    }

    fn wait_for_ends(mut processes: Vec<OwnedFd>, limit: Duration) {
        let deadline = Instant::now() + limit;
        while !processes.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut ends: Vec<PollFd<'_>> = processes
                .iter()
                .map(|process| PollFd::new(process, PollFlags::IN))
                .collect();
            let looked = Timespec::try_from(left).map(|left| poll(&mut ends, Some(&left)));
            if left.is_zero() || !matches!(looked, Ok(Ok(_))) {
                return;
            }
            let has_ended: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
            let mut has_ended = has_ended.into_iter();
            processes.retain(|_| !has_ended.next().unwrap_or_default());
        }
    }

    fn marked(mark: &Mark, spared: Option<Pid>) -> impl Iterator<Item = OwnedFd> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten();
        let numbers = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers
            .filter(move |number| spared.is_none_or(|spared| spared.as_raw_pid() != *number))
            .filter_map(|number| hold_if_marked(number, mark))
    }

    /// The process is held by a descriptor before its mark is read, so that a reused number is never hit.
    fn hold_if_marked(number: i32, mark: &Mark) -> Option<OwnedFd> {
        let pid = Pid::from_raw(number).filter(|pid| *pid != getpid())?;
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        mark.is_in(&environment).then_some(process)
    }
}

/// Only groups are ended: reading another process's environment is Linux's.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::time::Duration;

    use rustix::process::Pid;

    use super::super::environment::Mark;

    pub(in super::super) fn end(_mark: &Mark, _keeper: Option<Pid>, _grace: Duration) {}

    pub(in super::super) fn end_all(_mark: &Mark) {}
}
