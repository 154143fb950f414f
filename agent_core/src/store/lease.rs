//! Who writes to a session: one process at a time. The lease of a dead process is free at once.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::Held;
use super::queue::Fault;
use crate::id::SessionId;

/// How long a lease holds that was taken where we can't see its process: another machine or container.
const UNSEEN_MS: i64 = 30_000;

/// A lease that has not beaten for so long has lost its rhythm: the machine slept.
const QUIET_MS: i64 = 10_000;

/// A process, told apart from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pid: u32,
    started: String,
    place: String,
}

impl Process {
    /// This one.
    pub(super) fn current() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started: start_of(pid).unwrap_or_default(),
            place: place(),
        }
    }

    /// As the database has it: number, start time, place.
    pub(super) fn columns(&self) -> (u32, &str, &str) {
        (self.pid, &self.started, &self.place)
    }

    /// Whether it runs, as far as `observer` can see.
    fn is_alive(&self, observer: &Self, beat_ms: i64, now_ms: i64) -> bool {
        if self.place != observer.place {
            return (now_ms - beat_ms).abs() < UNSEEN_MS;
        }
        if self.started.is_empty() {
            return has_process(self.pid);
        }
        start_of(self.pid).as_ref() == Some(&self.started)
    }
}

/// Whether a process that lives writes to the session, `process` included.
pub(super) fn is_held(
    connection: &Connection,
    id: &SessionId,
    process: &Process,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    let holder = holder(connection, id)?;
    Ok(holder.is_some_and(|(holder, beat_ms)| holder == *process || holder.is_alive(process, beat_ms, now_ms)))
}

/// Who else than `process` writes to the session, if anybody does.
pub(super) fn held_by_other(
    connection: &Connection,
    id: &SessionId,
    process: &Process,
    now_ms: i64,
) -> rusqlite::Result<Option<Held>> {
    let holder = holder(connection, id)?;
    let other = holder.filter(|(holder, beat_ms)| holder != process && holder.is_alive(process, *beat_ms, now_ms));
    Ok(other.map(|(holder, _)| Held { pid: holder.pid }))
}

/// The processes that live and write to any session, as far as `observer` can see.
pub(super) fn living(connection: &Connection, observer: &Process, now_ms: i64) -> rusqlite::Result<Vec<u32>> {
    let mut statement = connection.prepare("SELECT pid, started, place, beat_ms FROM leases")?;
    let leases = statement.query_map([], lease)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let alive = leases
        .into_iter()
        .filter(|(holder, beat_ms)| holder.is_alive(observer, *beat_ms, now_ms));
    Ok(alive.map(|(holder, _)| holder.pid).collect())
}

/// Makes `process` the session's writer, unless it is; whether that is news. A lease that has not beaten for long
/// beats, and any other costs no write.
pub(super) fn take(connection: &Connection, id: &SessionId, process: &Process, now_ms: i64) -> Result<bool, Fault> {
    match holder(connection, id)? {
        Some((holder, beat_ms)) if holder == *process => {
            if (now_ms - beat_ms).abs() >= QUIET_MS {
                beat(connection, id, process, now_ms)?;
            }
            return Ok(false);
        }
        Some((holder, beat_ms)) if holder.is_alive(process, beat_ms, now_ms) => {
            return Err(Fault::Held(Held { pid: holder.pid }));
        }
        Some(_) | None => {}
    }
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO leases (session_id, pid, started, place, beat_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            id.as_str(),
            process.pid,
            process.started,
            process.place,
            now_ms
        ])?;
    Ok(true)
}

/// Says that `process` still writes, to those who can't see it; whether it holds the lease at all.
pub(super) fn beat(connection: &Connection, id: &SessionId, process: &Process, now_ms: i64) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE leases SET beat_ms = ?1 WHERE session_id = ?2 AND pid = ?3 AND started = ?4 AND place = ?5",
        )?
        .execute(params![
            now_ms,
            id.as_str(),
            process.pid,
            process.started,
            process.place
        ])?;
    Ok(changed > 0)
}

/// Lets the session go, if it is held by `process`.
pub(super) fn release(connection: &Connection, id: &SessionId, process: &Process) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM leases WHERE session_id = ?1 AND pid = ?2 AND started = ?3 AND place = ?4")?
        .execute(params![id.as_str(), process.pid, process.started, process.place])?;
    Ok(())
}

fn holder(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<(Process, i64)>> {
    connection
        .prepare_cached("SELECT pid, started, place, beat_ms FROM leases WHERE session_id = ?1")?
        .query_row([id.as_str()], lease)
        .optional()
}

fn lease(row: &Row<'_>) -> rusqlite::Result<(Process, i64)> {
    let process = Process {
        pid: row.get(0)?,
        started: row.get(1)?,
        place: row.get(2)?,
    };
    Ok((process, row.get(3)?))
}

/// When a process began, in the kernel's own count; none for one that has ended, even if nobody has reaped it yet.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in brackets and may hold anything; what follows the last bracket is numbers.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    match fields.first()? {
        &"Z" | &"X" => None,
        _ => fields.get(19).map(|start| (*start).to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn start_of(_pid: u32) -> Option<String> {
    None
}

/// Where process numbers mean what they mean here: this boot of this machine, and this PID namespace.
#[cfg(target_os = "linux")]
fn place() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

#[cfg(not(target_os = "linux"))]
fn place() -> String {
    String::new()
}

fn has_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
