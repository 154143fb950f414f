//! Processes by what stands in their command lines, and by whose children they are. Linux tells it in `/proc`.

use std::fs;
use std::time::{Duration, Instant};

/// Whether processes can be looked at here.
pub(super) fn can_be_listed() -> bool {
    fs::read_dir("/proc/self/task").is_ok()
}

/// The processes, other than mere zombies, in whose command line this stands.
pub(super) fn with_text(text: &str) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A zombie has no command line.
    let lines = pids.filter_map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some((
            pid,
            String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " "),
        ))
    });
    lines.filter(|(_, line)| line.contains(text)).collect()
}

/// Waits until none is left; what is left after `limit`, and the time it took.
pub(super) fn wait_none(text: &str, limit: Duration) -> (Vec<(u32, String)>, Duration) {
    let began = Instant::now();
    loop {
        let left = with_text(text);
        if left.is_empty() || began.elapsed() > limit {
            return (left, began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process and all that descend from it.
pub(super) fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let tasks = fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<u32> = children
            .flat_map(|list| {
                list.split_whitespace()
                    .filter_map(|pid| pid.parse().ok())
                    .collect::<Vec<_>>()
            })
            .collect();
        found.extend(children);
        next += 1;
    }
    found
}
