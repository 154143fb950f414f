#![allow(clippy::unwrap_used, reason = "tests")]

mod processes;
mod shown;

use std::fs;
use std::sync::mpsc;

use agent_core::cancel::Cancel;
use agent_core::event::{Progress, Ran};
use agent_core::id::SessionId;

use super::*;
use crate::process::{Environment, Hidden};
use crate::sandbox::Sandbox;
use crate::testing::nobody;

struct Bench {
    folder: tempfile::TempDir,
    terminal: Terminal,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let scope = Scope {
        session: SessionId::new(),
        cwd: folder.path().to_path_buf(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    let environment = Environment::new(scope.session.clone(), Hidden(vec!["CARGO_PKG_NAME".into()]));
    let terminal = {
        let (config, processes) = (
            Config::default(),
            Arc::new(Processes::new(environment, Arc::default(), Sandbox::none())),
        );
        let judge = Arc::new(Judge::new(&scope, &config, &[]));
        Terminal::new(&scope, &config, judge, processes, &nobody())
    };
    Bench { folder, terminal }
}

impl Bench {
    fn run(&self, input: Value) -> Result<ToolOutput, ToolError> {
        self.run_with(input, &Cancel::new(), &|_| {})
    }

    fn run_with(&self, input: Value, cancel: &Cancel, report: &dyn Fn(Report)) -> Result<ToolOutput, ToolError> {
        let planned = self.terminal.plan(&input, &Cancel::new())?;
        (planned.action)(&Run {
            cancel,
            report,
            keep: &|_| Ok(()),
        })
    }

    fn text(&self, command: &str) -> String {
        match self.run(json!({ "command": command })) {
            Ok(output) => output.text,
            Err(error) => error.output.map_or(error.message, |output| output.text),
        }
    }
}

#[test]
fn the_end_is_always_told() {
    let bench = bench();
    for (command, expect) in [
        ("echo hi", "hi\nexit code: 0"),
        ("printf hi", "hi\nexit code: 0"),
        ("true", "exit code: 0"),
        (
            "echo out; echo err >&2; echo out; exit 3",
            "out\nerr\nout\nexit code: 3",
        ),
        ("kill -9 $$", "killed by signal 9"),
        ("nosuchprogram 2>/dev/null", "exit code: 127"),
        ("printf '\\033[31mred\\033[0m\\n'", "red\nexit code: 0"),
        ("printf '\\342\\202'; printf '\\254'", "€\nexit code: 0"),
        ("--version 2>/dev/null", "exit code: 127"),
        ("-i 2>/dev/null", "exit code: 127"),
        ("printf '\\377'", "\u{fffd}\nexit code: 0"),
    ] {
        assert_eq!(bench.text(command), expect, "{command}");
    }
}

fn ran(output: &ToolOutput) -> &Ran {
    let Display::Ran(ran) = &output.display else {
        panic!("{output:?}");
    };
    ran
}

#[test]
fn a_failed_command_is_a_failed_call_with_its_output() {
    let error = bench().run(json!({ "command": "echo why; exit 3" })).unwrap_err();
    let output = error.output.unwrap();
    assert_eq!(error.message, "`echo why; exit 3`: exit code: 3");
    assert_eq!(ran(&output).shown, "why\nexit code: 3");
    assert_eq!(ran(&output).note, "exit code: 3");
    assert_eq!((ran(&output).code, ran(&output).signal), (Some(3), None));
    assert_eq!(
        output.raw,
        Some(json!({ "exitCode": 3, "signal": null, "timedOut": false }))
    );
}

#[test]
fn a_silent_command_shows_how_it_ended() {
    let output = bench().run(json!({ "command": "true" })).unwrap();
    assert_eq!(ran(&output).shown, "exit code: 0");
}

#[test]
fn stdin_is_empty() {
    assert_eq!(bench().text("cat; read line || echo nothing"), "nothing\nexit code: 0");
}

#[test]
#[cfg(target_os = "linux")]
fn no_descriptor_but_the_three_is_inherited() {
    // `ls` itself opens the folder that it lists, as 3.
    assert_eq!(bench().text("exec ls /proc/self/fd"), "0\n1\n2\n3\nexit code: 0");
}

#[test]
fn nothing_carries_over_between_calls() {
    let bench = bench();
    bench.text("cd /; X=1; export X");
    let cwd = real(bench.folder.path());
    assert_eq!(
        bench.text("echo \"$PWD $X\""),
        format!("{} \nexit code: 0", cwd.display())
    );
}

#[test]
fn the_environment_has_no_keys_and_no_pager() {
    let printed = bench().text("printenv");
    let has = |entry: &str| printed.lines().any(|line| line.starts_with(entry));
    assert!(!has("CARGO_PKG_NAME="), "a hidden name is hidden");
    for entry in [
        "TERM=dumb",
        "NO_COLOR=1",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_EDITOR=true",
    ] {
        assert!(has(entry), "{entry} is missing in {printed}");
    }
    assert!(has("TALARIA_SESSION=") && has("PATH=/"));
}

#[test]
fn workdir_is_a_folder() {
    let bench = bench();
    fs::create_dir(bench.folder.path().join("sub")).unwrap();
    fs::write(bench.folder.path().join("file"), "").unwrap();
    let output = bench.run(json!({ "command": "pwd", "workdir": "sub" })).unwrap();
    assert!(output.text.contains("/sub\n"), "{}", output.text);
    for workdir in ["file", "missing"] {
        let error = bench.run(json!({ "command": "pwd", "workdir": workdir })).unwrap_err();
        assert!(error.message.contains("is not a folder"), "{}", error.message);
    }
}

#[test]
fn progress_begins_at_once_and_ends_with_the_last_state() {
    let (sender, receiver) = mpsc::channel();
    let report = |report| sender.send(report).unwrap();
    bench()
        .run_with(json!({ "command": "seq 20000; printf end" }), &Cancel::new(), &report)
        .unwrap();
    let reports: Vec<Progress> = receiver
        .try_iter()
        .map(|report| match report {
            Report::Progress(progress) => progress,
            Report::Todo(_) | Report::Terminal(_) | Report::Question(_) => panic!("a command tells how far it is"),
        })
        .collect();
    let last = reports.last().unwrap();
    assert!(last.tail.ends_with("20000\nend") && last.tail.len() <= Progress::LONGEST);
    assert_eq!((last.total, last.lines), (108_897, 20_000));
}

#[test]
fn memory_stays_flat_and_the_middle_is_counted() {
    let output = bench()
        .run(json!({ "command": "yes | head -c 300000000; echo end" }))
        .unwrap();
    assert!(output.text.starts_with("y\ny\n") && output.text.ends_with("end\nexit code: 0"));
    assert!(output.text.contains("\n… 299,868,932 bytes left out …\n"));
    assert!(output.text.len() < 140_000);
}

#[test]
fn a_command_is_not_run_in_another_folder_than_shown() {
    let bench = bench();
    let (link, other) = (bench.folder.path().join("link"), bench.folder.path().join("other"));
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(bench.folder.path(), &link).unwrap();
    let planned = bench
        .terminal
        .plan(&json!({ "command": "touch M", "workdir": "link" }), &Cancel::new())
        .unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let run = Run {
        cancel: &Cancel::new(),
        report: &|_| {},
        keep: &|_| Ok(()),
    };
    assert!((planned.action)(&run).unwrap_err().message.contains("another folder"));
    assert!(!other.join("M").exists());
}

#[test]
fn titles_take_any_input() {
    let bench = bench();
    let terminal = &bench.terminal;
    for (input, expect) in [
        (json!({ "command": "cargo test" }), "$ cargo test"),
        (json!({ "command": "ls\ntouch M" }), "$ ls\\ntouch M"),
        (json!({ "command": "ls \u{202e}x" }), "$ ls \\u{202e}x"),
        (json!({ "command": 5 }), "$ "),
        (json!(null), "$ "),
    ] {
        assert_eq!(terminal.title(&input), expect);
    }
    assert!(terminal.title(&json!({ "command": "x".repeat(5000) })).chars().count() < 200);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let bench = bench();
    for (input, expect) in [
        (json!({}), "command"),
        (json!({ "command": "" }), "empty"),
        (json!({ "command": "a\0b" }), "NUL"),
        (json!({ "command": "x".repeat(200_000) }), "write it to a file"),
        (json!({ "command": "ls", "timeout": 0 }), "more than 0"),
        (json!({ "command": "ls", "timeout": -5 }), "more than 0"),
        (json!({ "command": "ls", "timeout": 1e300 }), "more than 0"),
        (json!("ls"), "arguments"),
        (json!({ "command": "ls", "cwd": "sub" }), "cwd"),
    ] {
        let error = bench.run(input.clone()).unwrap_err();
        assert!(error.message.contains(expect), "{input}: {}", error.message);
    }
}

#[test]
fn only_known_reads_in_the_foreground_only_read() {
    let bench = bench();
    let terminal = &bench.terminal;
    for (input, expect) in [
        (json!({ "command": "pwd" }), true),
        (json!({ "command": "pwd", "background": true }), false),
        (json!({ "command": "touch M" }), false),
        (json!({ "command": "pwd", "workdir": "/" }), false),
        (json!([]), false),
    ] {
        terminal.processes.search_path();
        assert_eq!(terminal.only_reads(&input), expect, "{input}");
    }
}
