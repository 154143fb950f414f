//! What a command leaves running, and who ends it.

use std::time::Instant;
use std::{fs, thread};

use agent_core::cancel::Cancel;

use super::*;

#[test]
fn a_background_grandchild_does_not_hold_the_answer_and_ends_with_the_session() {
    // What left its group is found on Linux only.
    let fled: &[&str] = if cfg!(target_os = "linux") {
        &["setsid sleep 300 & echo $! > pid; echo done"]
    } else {
        &[]
    };
    let commands = [
        "sleep 300 & echo $! > pid; echo done",
        "(sleep 300 & echo $! > pid); echo done",
        "nohup sleep 300 & echo $! > pid; echo done",
    ];
    for command in commands.iter().chain(fled) {
        let bench = bench();
        let text = bench.text(command);
        assert!(text.starts_with("done\nexit code: 0"), "{command}: {text}");
        let pid = fs::read_to_string(bench.folder.path().join("pid")).unwrap();
        assert!(!is_dead(&pid), "{command}: it goes on for the session's life");
        drop(bench);
        wait_until("the process is dead", || is_dead(&pid));
    }
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let bench = bench();
    let command = "echo begun; trap '' TERM; sleep 600 & echo $! > pid; sleep 600";
    let error = bench.run(json!({ "command": command, "timeout": 0.3 })).unwrap_err();
    let output = error.output.unwrap();
    assert_eq!(output.text, "begun\ntimed out after 0.3 s");
    assert_eq!(output.raw.unwrap()["timedOut"], true);
    let pid = fs::read_to_string(bench.folder.path().join("pid")).unwrap();
    wait_until("the grandchild is dead", || is_dead(&pid));
}

#[test]
fn a_cancel_ends_the_whole_group() {
    let bench = bench();
    let (cancel, pid) = (Cancel::new(), bench.folder.path().join("pid"));
    let begun = |_| cancel.set();
    let command = "trap '' TERM; sleep 600 & echo $! > pid; echo begun; sleep 600";
    let error = bench
        .run_with(json!({ "command": command }), &cancel, &begun)
        .unwrap_err();
    assert_eq!(error.output.unwrap().text, "begun\ncancelled");
    let pid = fs::read_to_string(pid).unwrap();
    wait_until("the grandchild is dead", || is_dead(&pid));
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_command_takes_along_what_left_its_group() {
    let fled = "setsid sh -c 'trap \"\" TERM; echo $$ > pid; echo begun; sleep 600' & wait";
    for (command, input) in [
        (fled, json!({})),
        (fled, json!({ "timeout": 0.5 })),
        (
            "timeout 500 sh -c 'echo $$ > pid; echo begun; sleep 600' | cat",
            json!({}),
        ),
    ] {
        let bench = bench();
        let cancel = Cancel::new();
        let mut input = input;
        input["command"] = command.into();
        let begun = |_| {
            if input.get("timeout").is_none() {
                cancel.set();
            }
        };
        let error = bench.run_with(input.clone(), &cancel, &begun).unwrap_err();
        assert!(error.output.unwrap().text.starts_with("begun"), "{command}");
        let pid = fs::read_to_string(bench.folder.path().join("pid")).unwrap();
        wait_until("what left the group is dead", || is_dead(&pid));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_command_leaves_alone_what_another_left_on_purpose() {
    let bench = bench();
    bench.text("setsid sleep 600 & echo $! > left");
    let left = fs::read_to_string(bench.folder.path().join("left")).unwrap();
    let cancel = Cancel::new();
    bench
        .run_with(json!({ "command": "echo begun; sleep 600" }), &cancel, &|_| {
            cancel.set()
        })
        .unwrap_err();
    assert!(!is_dead(&left));
    drop(bench);
    wait_until("the session's end has ended it", || is_dead(&left));
}

#[test]
fn no_zombie_is_left() {
    let bench = bench();
    let pid = bench.text("echo $$; exec true");
    let pid = pid.lines().next().unwrap();
    assert_eq!(state(pid), "", "the child is taken notice of");
}

/// The agent of the next test, in a process of its own: it runs a command until it is killed.
#[test]
#[ignore = "started by another test"]
fn an_agent_in_a_command() {
    let folder = PathBuf::from(std::env::var_os("AGENT_FOLDER").unwrap());
    let ready = |_| fs::rename(folder.join("pid"), folder.join("ready")).unwrap();
    let command = format!(
        "cd {}; sleep 300 & echo $! > pid; echo begun; sleep 300",
        folder.display()
    );
    let _killed_before = bench().run_with(json!({ "command": command }), &Cancel::new(), &ready);
}

#[test]
fn a_killed_agent_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = std::process::Command::new(std::env::current_exe().unwrap());
    agent
        .args([
            "--ignored",
            "--exact",
            "terminal::tests::processes::an_agent_in_a_command",
        ])
        .env("AGENT_FOLDER", folder.path());
    let mut agent = agent
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let ready = folder.path().join("ready");
    wait_until("the command runs", || ready.exists());
    let pid = fs::read_to_string(ready).unwrap();
    assert!(!is_dead(&pid));
    agent.kill().unwrap();
    agent.wait().unwrap();
    wait_until("the grandchild is dead", || is_dead(&pid));
}

/// Long enough for any machine, and short enough to fail.
const LIMIT: Duration = Duration::from_secs(20);

fn wait_until(what: &str, ready: impl Fn() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < LIMIT, "waited in vain until {what}");
        thread::yield_now();
    }
}

/// A process that is dead may wait for its parent, or for init, to take notice.
fn is_dead(pid: &str) -> bool {
    let state = state(pid);
    state.is_empty() || state.starts_with(['Z', 'X'])
}

/// The state of a process as the system abbreviates it; empty when there is no such process.
#[cfg(target_os = "linux")]
fn state(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().unwrap_or_default().trim().to_owned()
}

#[cfg(not(target_os = "linux"))]
fn state(pid: &str) -> String {
    let ps = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", pid.trim()])
        .output()
        .unwrap();
    String::from_utf8(ps.stdout).unwrap().trim().to_owned()
}
