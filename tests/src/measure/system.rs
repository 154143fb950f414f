//! What the system says of a process: memory and time. Linux tells it in `/proc`; elsewhere there is none.

use std::fs;
use std::time::Duration;

/// The memory a process takes, shared pages counted in part, in KiB.
pub fn memory_kib(pid: u32) -> Option<u64> {
    field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// The most memory that a process ever had, in KiB.
pub fn peak_kib(pid: u32) -> Option<u64> {
    field(&format!("/proc/{pid}/status"), "VmHWM:")
}

/// The threads of a process.
pub fn threads(pid: u32) -> Option<u64> {
    field(&format!("/proc/{pid}/status"), "Threads:")
}

/// The processor's time that a process took, in ticks of mostly 10 ms.
pub fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may have spaces in it; user and system time are the 12th and 13th field after it.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The processor's time that each thread of this process took so far, by the threads' names.
pub fn thread_times() -> Vec<(String, Duration)> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let time_of = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanos = times.split_whitespace().next()?.parse().ok()?;
        Some((name.trim_end().to_owned(), Duration::from_nanos(nanos)))
    };
    tasks.filter_map(|task| time_of(task.ok()?)).collect()
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
