//! Looks at a process from outside: whether it is there, what memory it holds, whether it works. By `/proc`, so on
//! Linux; elsewhere a process counts as gone and idle.

use std::process::Command;

use crate::start::wait_until;

/// Sends a signal, such as `TERM`.
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
    assert!(status.expect("`kill` runs").success(), "{pid} can't be sent {name}");
}

/// Whether it is there and no mere zombie.
pub fn is_alive(pid: u32) -> bool {
    status(pid).is_some_and(|status| !status.contains("State:\tZ"))
}

/// Waits until it is gone.
pub fn wait_gone(pid: u32) {
    wait_until(&format!("process {pid} is gone"), || !is_alive(pid));
}

/// Waits until the process uses no more processor time: what it could do without its peer is done.
pub fn wait_idle(pid: u32) {
    let mut before = None;
    let mut same = 0;
    wait_until(&format!("process {pid} rests"), || {
        let now = ticks(pid);
        same = if before == now { same + 1 } else { 0 };
        before = now;
        same >= 30
    });
}

/// The memory it holds now, in KiB.
pub fn resident(pid: u32) -> u64 {
    field(pid, "VmRSS:")
}

/// The most memory it has held since [`forget_peak`], in KiB.
pub fn peak(pid: u32) -> u64 {
    field(pid, "VmHWM:")
}

/// Begins to measure the peak anew. Only root may, since the agent is closed to others: their peak is of all its life,
/// which is no less.
pub fn forget_peak(pid: u32) {
    let _nobody_else_may = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn field(pid: u32, name: &str) -> u64 {
    let status = status(pid).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn status(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

/// Processor time used, in ticks of the system.
fn ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything; the fields that count come after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// The living processes of the commands and servers that an agent has started, by their ids on this machine: behind a wall
/// each command counts its own. They carry a mark, which the agent's other processes don't. Linux only; elsewhere there
/// are none.
pub fn commands_of(agent: u32) -> Vec<u32> {
    let has_mark = |pid: &u32| {
        let environment = environment(*pid);
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable.starts_with(b"TALARIA_COMMAND="))
    };
    below(agent).into_iter().filter(has_mark).collect()
}

/// A process's environment. One that becomes another program has none for a moment; so has one of another user for ever.
fn environment(pid: u32) -> Vec<u8> {
    let read = || std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut tries = (0..1000).map(|_| {
        std::thread::yield_now();
        read()
    });
    tries.find(|environment| !environment.is_empty()).unwrap_or_default()
}

fn below(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let lists = tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> { list.split_whitespace().flat_map(str::parse).collect() };
    let children: Vec<u32> = lists.flat_map(numbers).collect();
    let further: Vec<u32> = children.iter().flat_map(|&child| below(child)).collect();
    [children, further]
        .concat()
        .into_iter()
        .filter(|&pid| is_alive(pid))
        .collect()
}
