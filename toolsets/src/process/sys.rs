//! The two places where the operating system must be asked without a safe interface.
#![allow(
    unsafe_code,
    reason = "std offers a hook between fork and exec, and descriptors by number, only as unsafe; all of it is here"
)]

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, getpid, setsid};

/// Whether a child dies with the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It does, on Linux: when the thread that spawned it ends.
    Shared,
    /// It ends by itself.
    Own,
}

/// Gives the child a session and a process group of its own.
pub(super) fn detach(command: &mut Command, fate: Fate) {
    let parent = getpid();
    // SAFETY: between fork and exec only system calls that are safe in a signal handler may run. The closure makes
    // four of them through rustix and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            setsid()?;
            if fate == Fate::Shared { die_with(parent) } else { Ok(()) }
        });
    }
}

#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Had the parent died before the call above, no signal would ever come.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(rustix::io::Errno::SRCH.into())
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// Keeps descriptors that whoever started the agent left open from reaching any child. Our own are marked at birth.
pub(super) fn seal_inherited_descriptors() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY: the descriptor is used for two calls and never closed here. Should another thread close it or give
        // its number away meanwhile, the calls fail or mark a descriptor that std has marked already.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(descriptor) {
            let _closed_meanwhile = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
        }
    }
}
