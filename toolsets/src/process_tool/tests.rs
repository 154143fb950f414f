#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use agent_core::cancel::Cancel;
use agent_core::id::SessionId;
use agent_core::tool::Run;
use agent_core::wall;

use super::*;
use crate::process::{Environment, Hidden};
use crate::sandbox::Sandbox;

fn process() -> Process {
    let judge = Judge {
        deny: vec!["docker *".into()],
        ..Judge::default()
    };
    let environment = Environment::new(SessionId::new(), Hidden::default());
    Process::new(
        Arc::new(Processes::new(environment, Arc::default(), Sandbox::none())),
        Arc::new(judge),
    )
}

impl Process {
    fn with(self, command: &str) -> Self {
        self.processes
            .start_background(command, Path::new("/"), &wall::Sandbox::default())
            .unwrap();
        self
    }

    fn run(&self, input: Value) -> Result<ToolOutput, ToolError> {
        let cancel = Cancel::new();
        let run = Run {
            cancel: &cancel,
            report: &|_| {},
            keep: &|_| Ok(()),
        };
        (self.plan(&input, &Cancel::new())?.action)(&run)
    }

    fn text(&self, input: Value) -> String {
        self.run(input).map_or_else(|error| error.message, |output| output.text)
    }

    /// Waits a little and again, until the text has come.
    fn wait_for(&self, expect: &str) {
        let mut seen = String::new();
        for _ in 0..200 {
            seen += &self.text(json!({ "action": "wait", "id": "p1", "timeout": 0.1 }));
            if seen.contains(expect) {
                return;
            }
        }
        panic!("`{expect}` never came: {}", &seen[..seen.len().min(500)]);
    }
}

#[test]
fn a_command_is_written_to_and_ended() {
    let process = process().with("while read line; do echo \"got $line\"; done; echo over");
    let planned = process
        .plan(&json!({ "action": "write", "id": "p1", "text": "a\n" }), &Cancel::new())
        .unwrap();
    let command = "while read line; do echo \"got $line\"; done; echo over".to_owned();
    let (id, text) = ("p1".to_owned(), "a\n".to_owned());
    assert_eq!(
        planned.plan,
        Plan::Input {
            process: id,
            command,
            text,
            forbidden: None
        }
    );
    process
        .run(json!({ "action": "write", "id": "p1", "text": "ü\n" }))
        .unwrap();
    process.wait_for("got ü\np1 runs");
    assert_eq!(process.text(json!({ "action": "poll", "id": "p1" })), "p1 runs");
    assert_eq!(
        process.text(json!({ "action": "kill", "id": "p1" })),
        "p1 has ended; killed by signal 15"
    );
    assert!(
        process
            .text(json!({ "action": "write", "id": "p1", "text": "b" }))
            .contains("has ended")
    );
}

#[test]
fn what_is_never_run_is_never_written() {
    let process = process().with("sh");
    for (text, expect) in [
        ("rm -rf ~\n", true),
        ("ls\nrm -rf /\n", true),
        ("docker ps\n", true),
        ("rm -rf build\n", false),
        ("yes\n", false),
    ] {
        let input = json!({ "action": "write", "id": "p1", "text": text });
        let Plan::Input { forbidden, .. } = process.plan(&input, &Cancel::new()).unwrap().plan else {
            panic!("a write is input")
        };
        assert_eq!(forbidden.is_some(), expect, "{text}");
    }
}

#[test]
fn waiting_tells_the_end_and_what_came_before_it() {
    let process = process().with("echo hi; exit 4");
    let output = process.run(json!({ "action": "wait", "id": "p1" })).unwrap();
    assert_eq!(output.text, "hi\np1 has ended; exit code: 4");
    assert_eq!(
        output.raw,
        Some(json!({ "running": false, "exitCode": 4, "signal": null }))
    );
    assert_eq!(
        process.text(json!({ "action": "list" })),
        "p1  exit code: 4  $ echo hi; exit 4"
    );
}

#[test]
fn a_stubborn_command_is_killed() {
    let process = process().with("trap '' TERM; echo ready; while :; do sleep 100; done");
    process.wait_for("ready");
    assert_eq!(
        process.text(json!({ "action": "kill", "id": "p1" })),
        "p1 has ended; killed by signal 9"
    );
}

#[test]
fn a_reader_that_does_not_read_blocks_nobody() {
    let process = process().with("sleep 100");
    let text = "x".repeat(1_000_000);
    assert!(
        process
            .text(json!({ "action": "write", "id": "p1", "text": text }))
            .contains("does not read")
    );
}

#[test]
fn a_cancel_ends_the_wait_and_not_the_command() {
    let process = process().with("sleep 100");
    let cancel = Cancel::new();
    cancel.set();
    let planned = process
        .plan(&json!({ "action": "wait", "id": "p1" }), &Cancel::new())
        .unwrap();
    let run = Run {
        cancel: &cancel,
        report: &|_| {},
        keep: &|_| Ok(()),
    };
    assert_eq!((planned.action)(&run).unwrap_err().message, "cancelled; p1 goes on");
    assert_eq!(process.text(json!({ "action": "poll", "id": "p1" })), "p1 runs");
}

#[test]
fn what_makes_no_sense_is_said() {
    let process = process().with("true");
    for (input, expect) in [
        (json!({ "action": "poll" }), "`id` is missing"),
        (
            json!({ "action": "poll", "id": "p9" }),
            "no process `p9` in this session: there are p1",
        ),
        (json!({ "action": "write", "id": "p1" }), "`text` is missing"),
        (json!({ "action": "dance" }), "unknown variant"),
        (json!({ "action": "list", "process": "p1" }), "`process`"),
        (json!(7), "arguments"),
    ] {
        let text = process.text(input.clone());
        assert!(text.contains(expect) || text.contains("has ended"), "{input}: {text}");
    }
}

#[test]
fn only_looking_only_reads() {
    let process = process();
    for (action, expect) in [
        ("list", true),
        ("poll", true),
        ("wait", true),
        ("write", false),
        ("kill", false),
        ("x", false),
    ] {
        assert_eq!(process.only_reads(&json!({ "action": action })), expect, "{action}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_kill_takes_along_what_left_the_group() {
    let process = process().with("setsid sh -c 'echo pid $$ said; sleep 600' & wait");
    let mut seen = String::new();
    let pid = loop {
        seen += &process.text(json!({ "action": "wait", "id": "p1", "timeout": 0.1 }));
        if let Some((_, rest)) = seen.split_once("pid ")
            && let Some((pid, _)) = rest.split_once(" said")
        {
            break pid.to_owned();
        }
    };
    process.text(json!({ "action": "kill", "id": "p1" }));
    let environment = format!("/proc/{pid}/environ");
    let is_dead = || std::fs::read(&environment).map_or(true, |read| read.is_empty());
    for _ in 0..1000 {
        if is_dead() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{pid} goes on");
}
