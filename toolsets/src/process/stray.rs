//! Processes that left their group (`setsid`, daemons), found by the mark that all of a session's processes carry in
//! their environment. They end with the session, not with the command that started them. One that also cleared its
//! environment is not found here, but ends with the process's last session; see [`super::orphans`]. On other systems
//! than Linux all of them escape.

/// Ends every process that carries `mark`, given as `NAME=value`.
#[cfg(target_os = "linux")]
pub(super) fn end_all(mark: &str) {
    // A process may fork while we look; a second look finds the child, and a fork bomb must not hold us here.
    for _ in 0..8 {
        if sweep(mark.as_bytes()) == 0 {
            return;
        }
    }
}

/// Only groups are ended: reading another process's environment is Linux's.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_all(_mark: &str) {}

#[cfg(target_os = "linux")]
fn sweep(mark: &[u8]) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| end_if_marked(*pid, mark).is_some()).count()
}

/// The process is held by a descriptor before its mark is read, so that a reused number is never hit.
#[cfg(target_os = "linux")]
fn end_if_marked(pid: i32, mark: &[u8]) -> Option<()> {
    use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
    let pid = Pid::from_raw(pid).filter(|pid| *pid != getpid())?;
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let marked = environment.split(|byte| *byte == 0).any(|entry| entry == mark);
    marked.then(|| pidfd_send_signal(process, Signal::KILL).ok())?
}
