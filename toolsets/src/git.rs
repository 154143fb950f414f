//! The state of a folder's git repository, in words. A repository is somebody else's data: its configuration can name
//! programs, and none of them is run.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::surroundings::program;

/// All calls of git together take no longer.
const LIMIT: Duration = Duration::from_secs(1);
/// More output is not read.
const MAX_OUTPUT: u64 = 4 * 1024 * 1024;

/// What git gets of the agent's environment.
const KEPT: [&str; 9] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    // Through sudo, it says whose repositories are trusted.
    "SUDO_UID",
];

/// `branch main, clean`, or what differs; none outside of a repository and where git can't say in time.
pub(crate) fn state(folder: &Path) -> Option<String> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
    let git = program("git")?;
    let deadline = Instant::now() + LIMIT;
    let unknown = || Some(format!("repository {}, state unknown", root.display()));
    let Some(names) = run(&git, folder, &[], &["config", "--list", "--name-only", "-z"], deadline) else {
        return unknown();
    };
    let Some(off) = switched_off(&String::from_utf8_lossy(&names)) else {
        return unknown();
    };
    let arguments = [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    match run(&git, folder, &off, &arguments, deadline) {
        Some(status) => Some(words(&String::from_utf8_lossy(&status))),
        None => unknown(),
    }
}

/// Settings that take the place of each one that names a program which `git status` would run: a filter of file
/// contents has a name of its own, so the names have to be known first. None if one can't be named on a command line.
fn switched_off(names: &str) -> Option<Vec<String>> {
    let setting = |name: &str| {
        let value = if name.ends_with(".required") { "false" } else { "" };
        (!name.contains(['=', '\n', char::REPLACEMENT_CHARACTER])).then(|| format!("{name}={value}"))
    };
    names
        .split('\0')
        .filter(|name| name.starts_with("filter."))
        .map(setting)
        .collect()
}

fn run(git: &Path, folder: &Path, settings: &[String], arguments: &[&str], deadline: Instant) -> Option<Vec<u8>> {
    let mut command = Command::new(git);
    // Nothing else is its business: keys are not, and most of what begins with `GIT_` would lead it elsewhere.
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    command.args(["--no-optional-locks", "--no-pager"]);
    let fixed = ["core.fsmonitor=", "core.hooksPath=/dev/null", "protocol.allow=never"];
    for setting in fixed.into_iter().chain(settings.iter().map(String::as_str)) {
        command.arg("-c").arg(setting);
    }
    command
        .args(arguments.iter().map(OsStr::new))
        .current_dir(folder)
        .process_group(0);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = command.spawn().ok()?;
    finish(child, deadline)
}

/// Waits for the output and the end; what is not done at the deadline is killed with all it has started.
fn finish(mut child: Child, deadline: Instant) -> Option<Vec<u8>> {
    let stdout = child.stdout.take().expect("its stdout is a pipe");
    // The reader sends once; its end is the closing of the pipe, which the kill below brings about.
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let reader = thread::Builder::new().name("git output".to_owned()).spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(MAX_OUTPUT).read_to_end(&mut output);
        let _ = sender.send(read.map(|_| output));
    });
    let output = receiver.recv_deadline(deadline).ok().and_then(Result::ok);
    let done = output.is_some() && ends_by(&mut child, deadline);
    if !done && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let success = child.wait().is_ok_and(|status| status.success());
    drop(reader);
    output.filter(|_| done && success)
}

/// Whether a process whose output has ended ends as well.
fn ends_by(child: &mut Child, deadline: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
            Ok(None) | Err(_) => return false,
        }
    }
}

/// The words for an output of `git status --porcelain=v2 --branch -z`.
fn words(status: &str) -> String {
    let lines: Vec<&str> = status.split('\0').filter(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        lines
            .iter()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(name))
            .map(str::trim)
    };
    let branch = match (header("branch.head"), header("branch.oid")) {
        (Some("(detached)"), Some(commit)) => format!("detached at {}", &commit[..commit.len().min(12)]),
        (Some(branch), _) => format!("branch {branch}"),
        (None, _) => "no branch".to_owned(),
    };
    let count = |kinds: &[&str]| {
        lines
            .iter()
            .filter(|line| kinds.iter().any(|kind| line.starts_with(kind)))
            .count()
    };
    let (changed, untracked, conflicts) = (count(&["1 ", "2 "]), count(&["? "]), count(&["u "]));
    let part = |count: usize, what: &str| (count > 0).then(|| format!(", {count} {what}"));
    let parts = [
        part(changed, "changed"),
        part(untracked, "untracked"),
        part(conflicts, "in conflict"),
    ];
    let parts: String = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        format!("{branch}, clean")
    } else {
        branch + &parts
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::Room;

    fn git(room: &Room, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ]);
        let output = command.args(arguments).current_dir(room.path("")).output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    #[test]
    fn the_state_is_told_in_words() {
        let room = Room::new();
        assert_eq!(state(&room.path("")), None);
        git(&room, &["init", "-q"]);
        assert_eq!(state(&room.path("")).as_deref(), Some("branch main, clean"));
        room.write("sub/a", "a");
        git(&room, &["add", "."]);
        git(&room, &["commit", "-qm", "a"]);
        assert_eq!(state(&room.path("sub")).as_deref(), Some("branch main, clean"));
        room.write("sub/a", "b");
        room.write("new", "n");
        assert_eq!(
            state(&room.path("")).as_deref(),
            Some("branch main, 1 changed, 1 untracked")
        );
        git(&room, &["checkout", "-q", "--detach"]);
        assert!(state(&room.path("")).unwrap().starts_with("detached at "));
    }

    #[test]
    fn git_gets_no_more_of_the_environment_than_it_needs() {
        let room = Room::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        let settings = ["alias.show-environment=!env".to_owned()];
        let git = program("git").unwrap();
        let seen = run(&git, &room.path(""), &settings, &["show-environment"], deadline).unwrap();
        let seen = String::from_utf8(seen).unwrap();
        // Cargo sets it for tests; a key would go the same way.
        assert!(
            seen.contains("PATH=") && !seen.contains("CARGO_MANIFEST_DIR="),
            "{seen}"
        );
    }

    #[test]
    fn no_program_that_a_repository_names_is_run() {
        let room = Room::new();
        git(&room, &["init", "-q"]);
        room.write("a", "a");
        git(&room, &["add", "."]);
        git(&room, &["commit", "-qm", "a"]);
        let marker = room.path("marker");
        let touch = format!("touch {} ; cat", marker.display());
        for name in [
            "core.fsmonitor",
            "diff.external",
            "core.sshCommand",
            "filter.trap.clean",
            "filter.trap.process",
            "core.pager",
        ] {
            git(&room, &["config", name, &touch]);
        }
        git(&room, &["config", "filter.trap.required", "true"]);
        room.write(".gitattributes", "* filter=trap\n");
        room.write(
            "hooks/post-index-change",
            format!("#!/bin/sh\ntouch {}\n", marker.display()),
        );
        git(&room, &["config", "core.hooksPath", "hooks"]);
        // Of another length the content is not looked at; of the same, git has to compare it, through the filter.
        room.write("a", "b");
        let state = state(&room.path("")).unwrap();
        assert!(state.starts_with("branch main, 1 changed"), "{state}");
        assert!(!marker.exists());
        // The trap works: git itself falls into it.
        let _ = Command::new("git")
            .arg("status")
            .current_dir(room.path(""))
            .output()
            .unwrap();
        assert!(marker.exists());
    }

    #[test]
    fn a_filter_that_can_not_be_switched_off_is_not_run() {
        let room = Room::new();
        git(&room, &["init", "-q"]);
        room.write("a", "a");
        git(&room, &["add", "."]);
        let marker = room.path("marker");
        let config = format!("[filter \"x=y\"]\n clean = touch {} ; cat\n", marker.display());
        let before = room.text(".git/config");
        room.write(".git/config", before + &config);
        room.write(".gitattributes", "* filter=x=y\n");
        room.write("a", "b");
        assert!(state(&room.path("")).unwrap().ends_with("state unknown"));
        assert!(!marker.exists());
    }

    #[test]
    fn what_does_not_end_in_time_is_killed() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 600 & sleep 600"])
            .process_group(0)
            .stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        let group = Pid::from_raw(child.id().cast_signed()).unwrap();
        assert_eq!(finish(child, Instant::now() + Duration::from_millis(50)), None);
        let limit = Instant::now() + Duration::from_secs(10);
        // The group is gone once its members, which have no parent left, are collected.
        while kill_process_group(group, Signal::CONT).is_ok() && Instant::now() < limit {
            thread::yield_now();
        }
        assert!(Instant::now() < limit || alive(group) == 0);
    }

    /// Members of a group that still run; one that waits to be collected does not.
    fn alive(group: Pid) -> usize {
        let stats = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        stats
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|stat| stat.rsplit_once(')').map(|(_, rest)| rest.trim().to_owned()))
            .filter(|rest| {
                let fields: Vec<&str> = rest.split(' ').collect();
                fields.get(2) == Some(&group.as_raw_nonzero().to_string().as_str()) && fields[0] != "Z"
            })
            .count()
    }
}
