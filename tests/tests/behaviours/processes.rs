//! The agent's processes, and what is left of them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::process::signal;
use talaria_tests::start::{in_a_box, initialized, through_shell, wait_until};

use crate::play::{calls, ends, home, says, set_mode, text_of};

/// The processes that descend from one, with their command lines.
fn descendants(pid: u32) -> Vec<(u32, String)> {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
                found.push((child, line.replace('\0', " ")));
                next.push(child);
            }
        }
    }
    found
}

/// A home whose commands have no wall around them: behind one they leave nothing, or are numbered otherwise.
fn without_wall() -> Home {
    Home::with_config("[sandbox]\nmode = \"off\"\n")
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn a_killed_agent_takes_all_its_processes_along() {
    if !Path::new("/proc/self/task").exists() {
        return talaria_tests::start::skip("processes can't be listed here");
    }
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(descendants(client.pid()), [], "nothing runs before it is needed");
    client.begin_prompt(&session, "run sleep 631 & echo begun; sleep 632");
    client.wait_for(|message| message.to_string().contains("begun\\n"));
    let mut all = Vec::new();
    wait_until("both sleeps", || {
        all = descendants(client.pid());
        all.iter().filter(|(_, line)| line.starts_with("sleep 63")).count() == 2
    });
    let agents = all.iter().filter(|(_, line)| line.contains("agent"));
    assert!(agents.count() <= 1, "at most one guard: {all:?}");
    client.kill();
    wait_until("the end of all processes", || {
        all.iter().all(|(pid, _)| !is_alive(*pid))
    });
}

#[test]
#[cfg(target_os = "linux")]
fn no_tool_reads_a_key_out_of_the_agent() {
    // Root in a container has no more rights than this; with all of them, nothing is closed to it.
    let rights = "setpriv --bounding-set -sys_ptrace,-sys_admin,-perfmon";
    let script = format!("if [ \"$(id -u)\" = 0 ]; then exec {rights} \"$@\"; else exec \"$@\"; fi");
    if std::process::Command::new("setpriv").arg("--version").output().is_err() {
        return talaria_tests::start::skip("root can't be bound here");
    }
    for sandbox in ["off", "auto"] {
        let told = played_with_a_key(&script, sandbox);
        // Behind a wall it may be another process's, which has no key.
        assert!(told.contains("Permission denied") || sandbox == "auto", "{told}");
    }
}

/// Has tools look for the agent's key in each way, behind a wall or not; comes back with what the first one printed.
#[cfg(target_os = "linux")]
fn played_with_a_key(script: &str, sandbox: &str) -> String {
    const KEY: &str = "canary-7c1f";
    // Spelled so that only the kernel can say no; then so that the text is refused.
    let hidden = "p=/proc; cat $p/$PPID/env* $p/$PPID/task/*/env*; ls $p/$PPID/fd; env; echo looked";
    let plain = "cat /proc/$PPID/environ";
    let home = home(&[
        calls(&[
            ("terminal", json!({"command": hidden})),
            ("terminal", json!({"command": plain})),
        ]),
        calls(&[
            ("read_file", json!({"path": "/proc/self/environ"})),
            ("read_file", json!({"path": "/proc/thread-self/environ"})),
        ]),
        says("done"),
    ]);
    home.add_config(&format!("\n[sandbox]\nmode = \"{sandbox}\"\n"));
    let mut command = through_shell(&home, script);
    command.env("CANARY_API_KEY", KEY);
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let ends = ends(&client, 0);
    assert!(text_of(&ends[0]).contains("looked"), "{}", ends[0]);
    assert!(text_of(&ends[1]).contains("never run"), "{}", ends[1]);
    assert_eq!(
        (&ends[2]["status"], &ends[3]["status"]),
        (&json!("failed"), &json!("failed"))
    );
    let log = Value::from(client.log.clone()).to_string();
    assert!(!log.contains(KEY), "{log}");
    text_of(&ends[0])
}

#[test]
fn a_command_that_leaves_something_running_answers_at_once() {
    for command in [
        "(sleep 641 &) ; echo ok",
        "nohup sleep 642 & echo ok",
        "setsid sleep 643 & echo ok",
        "sleep 644 & echo ok",
    ] {
        let home = home(&[calls(&[("terminal", json!({"command": command}))]), says("done")]);
        let (mut client, session) = Client::with_session(&home);
        let at = Instant::now();
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        assert!(at.elapsed() < Duration::from_secs(5), "{command}: {:?}", at.elapsed());
        let end = ends(&client, 0).pop().unwrap();
        assert_eq!(end["status"], "completed", "{command}: {end}");
        assert!(text_of(&end).contains("ok"), "{command}: {end}");
        let left: Vec<(u32, String)> = descendants(client.pid());
        assert!(client.close().success());
        wait_until("the end of what was left", || {
            left.iter().all(|(pid, _)| !is_alive(*pid))
        });
    }
}

/// The process whose command line is this; waits for it.
#[cfg(target_os = "linux")]
fn process_of(line: &str) -> u32 {
    let mut found = None;
    wait_until(line, || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        found = numbers.find(|pid: &u32| {
            let own = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            own.trim_end_matches('\0').replace('\0', " ") == line
        });
        found.is_some()
    });
    found.unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn what_left_its_group_ends_with_the_agent() {
    let home = without_wall();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(
        &session,
        "run env -i setsid sleep 671.1 & (setsid sleep 671.2 &); env -i setsid sh -c 'sleep 671.3; :' & echo ok",
    );
    let left = ["sleep 671.1", "sleep 671.2", "sleep 671.3"].map(process_of);
    assert!(client.close().success());
    for pid in left {
        assert!(!is_alive(pid), "{pid}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_that_was_there_before_the_agent_is_left_alone() {
    let home = Home::new();
    // Its own number, so that another run of the tests at the same time has another helper.
    let sleep = format!("sleep 673.{}", std::process::id());
    let launched = through_shell(&home, &format!("setsid {sleep} >/dev/null 2>&1 & exec \"$@\""));
    let mut client = initialized(launched);
    let helper = process_of(&sleep);
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "run echo ok"), "end_turn");
    assert!(client.close().success());
    assert!(is_alive(helper));
    signal(helper, "KILL");
}

#[test]
#[cfg(target_os = "linux")]
fn what_left_its_group_ends_with_a_killed_agent() {
    let home = without_wall();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(
        &session,
        "run setsid sleep 672.1 >/dev/null 2>&1 & (setsid nohup sleep 672.2 &) ; echo ok",
    );
    let left = ["sleep 672.1", "sleep 672.2"].map(process_of);
    client.kill();
    wait_until("the end of all processes", || left.iter().all(|pid| !is_alive(*pid)));
}

#[test]
#[cfg(target_os = "linux")]
fn an_orphan_that_has_ended_leaves_no_zombie() {
    let home = without_wall();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(
        &session,
        "run (setsid sleep 0.01 &); (sleep 0.02 &); (setsid sleep 0.3 &); sleep 0.1; echo ok",
    );
    wait_until("no child but the guard", || descendants(client.pid()).len() <= 1);
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_whose_group_is_outside_its_box_runs_and_ends_commands() {
    for (script, sleep) in [("exec \"$@\"", "sleep 674.1"), ("\"$@\"; exit $?", "sleep 674.2")] {
        let home = without_wall();
        let Some(command) = in_a_box(&home, script) else {
            return;
        };
        let mut client = initialized(command);
        let session = client.new_session(&home.workspace());
        let prompt = format!("run setsid {sleep} >/dev/null 2>&1 & echo ok");
        assert_eq!(client.prompt(&session, &prompt), "end_turn");
        let end = ends(&client, 0).pop().unwrap();
        assert_eq!(end["status"], "completed", "{end}");
        let left = process_of(sleep);
        assert!(client.close().success());
        wait_until("the end of what was left", || !is_alive(left));
    }
}

#[test]
fn a_timeout_ends_a_command_and_all_it_began() {
    let input = json!({"command": "sleep 651 & sleep 652", "timeout": 1});
    let home = home(&[calls(&[("terminal", input)]), says("done")]);
    let (mut client, session) = Client::with_session(&home);
    set_mode(&mut client, &session, "dont_ask");
    let prompt = client.begin_prompt(&session, "go");
    let mut seen = Vec::new();
    wait_until("both sleeps", || {
        seen = descendants(client.pid());
        seen.iter().filter(|(_, line)| line.starts_with("sleep 65")).count() == 2
    });
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let end = ends(&client, 0).pop().unwrap();
    assert_eq!(end["status"], "failed", "{end}");
    assert!(text_of(&end).contains("1 s"), "{end}");
    let sleeps = seen.iter().filter(|(_, line)| line.starts_with("sleep"));
    assert!(sleeps.clone().all(|(pid, _)| !is_alive(*pid)), "{seen:?}");
}

#[test]
fn a_flood_of_output_is_counted_and_cut() {
    let home = home(&[
        calls(&[("terminal", json!({"command": "yes | head -c 300M"}))]),
        says("done"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let end = ends(&client, 0).pop().unwrap();
    assert_eq!(end["status"], "completed");
    let text = text_of(&end);
    assert!(text.len() < 256 * 1024 && text.contains("…"), "{}", &text[..300]);
    for update in client.updates(0) {
        assert!(update.to_string().len() < 256 * 1024);
    }
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", client.pid())) {
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        let kilobytes: u64 = peak
            .chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .unwrap();
        assert!(kilobytes < 150 * 1024, "{peak}");
    }
}

#[test]
fn a_signal_ends_the_agent_and_what_it_runs() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "run echo begun; sleep 661");
    client.wait_for(|message| message.to_string().contains("begun\\n"));
    let all = descendants(client.pid());
    let killed = std::process::Command::new("kill")
        .arg(client.pid().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(client.wait().success());
    wait_until("the end of all processes", || {
        all.iter().all(|(pid, _)| !is_alive(*pid))
    });
}

#[test]
fn a_run_tells_of_the_commands_in_the_background_that_end_with_it() {
    let background = |command: &str| ("terminal", json!({"command": command, "background": true}));
    let wait = ("process", json!({"action": "wait", "id": "p2"}));
    let home = home(&[
        calls(&[background("sleep 60"), background("true")]),
        calls(&[wait]),
        says("done"),
    ]);
    let (status, _, side) = talaria_tests::client::run(home.command(&["run", "go", "--mode", "dont_ask"]), "");
    assert!(status.success(), "{side}");
    assert!(side.ends_with("ended with this run: $ sleep 60\n"), "{side}");
    assert!(!side.contains("run: $ true"), "{side}");
}

#[test]
fn people_are_told_of_the_background_in_words_for_people() {
    let home = home(&[
        calls(&[("terminal", json!({"command": "cat", "background": true}))]),
        calls(&[("process", json!({"action": "write", "id": "p1", "text": "a\n"}))]),
        says("done"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    set_mode(&mut client, &session, "dont_ask");
    client.prompt(&session, "go");
    let shown: Vec<String> = ends(&client, 0).iter().map(text_of).collect();
    assert_eq!(
        shown,
        ["```\nstarted in the background as p1\n```", "```\nwritten to p1\n```"]
    );
}
