//! What is printed where, and with which code it ends.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::home::{Home, end, stderr, stdout};
use crate::terminal::Terminal;

#[test]
fn the_exit_code_says_how_it_went() {
    let home = Home::new();
    let check = |args: &[&str], code: i32, said: &str| {
        let output = home.agent(args);
        let shown = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {shown}");
        assert!(shown.contains(said), "{args:?}: {shown}");
    };
    check(&["--version"], 0, "agent ");
    check(&["dance"], 2, "unrecognized");
    check(&["run", " "], 2, "the prompt is empty");
    check(
        &["run", "list", "files"],
        2,
        "in quotes, as in agent run \"list files\"",
    );
    check(&["run", "list", "--session", ""], 2, "--session");
    check(&["run", "list", "--cwd", "/nowhere"], 2, "--cwd /nowhere");
    check(&["run", "list", "--continue"], 4, "has no session yet");
    check(&["run", "list", "--session", "zz"], 4, "no session `zz`");
    check(&["sessions", "show", "zz"], 4, "no session `zz`");
    check(&["run", "list"], 0, "a.txt");
    check(&["run", "list", "--model", "openai/x"], 1, "OPENAI_API_KEY");
    check(
        &["run", "replace \"hello\" with \"x\" in a.txt"],
        5,
        "Edit a.txt: not done, as nobody can be asked (stderr is no terminal); --mode accept_edits",
    );
    check(&["permissions", "list"], 0, "no standing permissions");
    check(&["permissions", "list", "--json"], 0, "[]");
    check(&["permissions", "revoke", "7"], 1, "no permission 7");
    check(&["permissions", "revoke", "x"], 2, "is a number such as 3");
    check(&["run", "/mode \"Don't ask\""], 0, "`dont_ask` (now)");
    check(&["run", "list", "--mode", "Plan"], 0, "a.txt");
    check(&["setup"], 2, "--provider");
    check(&["acp", "--setup"], 2, "--provider");
    check(&["acp", "--check"], 0, "ok      store");
    check(&["models"], 0, "offline/offline  (default)");
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "hello\n");
}

#[test]
fn a_slash_command_that_is_not_done_is_no_success() {
    let home = Home::new();
    let check = |command: &str, code: i32, said: &str| {
        let output = home.agent(&["run", command]);
        let shown = stdout(&output);
        assert_eq!(output.status.code(), Some(code), "{command}: {shown}");
        assert!(shown.contains(said), "{command}: {shown}");
    };
    check("/mode nope", 1, "nope");
    check("/thought nope", 1, "nope");
    check("/model nope", 1, "nope");
    check("/clear all", 1, "nothing was forgotten");
    check("/undo", 1, "no turn to take back");
    check("/undo all", 1, "Nothing was done");
    check("/redo", 1, "nothing to redo");
    check("/rewind 3", 1, "no turn to take back");
    check("/rewind", 0, "no turn to take back");
    check("/steer", 1, "/steer TEXT");
    check("/search", 1, "what to look for");
    check("/search role:tool", 1, "what to look for");
    check("/search quince", 0, "Nothing is found");
    check("/compact", 0, "nothing yet");
    check("/clear", 0, "forgotten");
    check("/title", 0, "No title yet");
    let events = stdout(&home.agent(&["run", "/mode nope", "--json"]));
    assert!(
        events.contains(r#""event":"turn_finished","stop":"not_done""#),
        "{events}"
    );
}

#[test]
fn the_answer_is_on_stdout_and_the_rest_on_stderr() {
    let home = Home::new();
    let edit = "replace \"hello\" with \"bye\" in a.txt";
    let output = home.agent(&["run", edit, "--mode", "accept_edits"]);
    assert!(stdout(&output).contains("Changed `a.txt`"), "{}", stdout(&output));
    let side = stderr(&output);
    assert!(
        side.contains("-hello\n+bye\n") && side.contains("• Edit a.txt … done"),
        "{side}"
    );
    assert!(!side.contains('\u{1b}'), "a pipe got colours: {side}");

    let quiet = home.agent(&["run", "say hi", "--quiet"]);
    assert!(stdout(&quiet).ends_with("hi\n"), "{}", stdout(&quiet));
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn the_prompt_may_come_from_stdin() {
    let home = Home::new();
    let mut child = home.start(&["run", "-", "--quiet"]);
    child.stdin.take().unwrap().write_all(b"say from a pipe\n").unwrap();
    let output = end(child);
    assert!(stdout(&output).ends_with("from a pipe\n"), "{}", stdout(&output));
}

#[test]
fn json_is_envelopes_and_nothing_else() {
    let home = Home::new();
    let output = home.agent(&["run", "list", "--json"]);
    let events: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let name = |event: &Value| event["event"]["event"].as_str().unwrap().to_owned();
    assert_eq!(name(&events[0]), "user_message");
    assert_eq!(name(events.last().unwrap()), "turn_finished");
    assert!(events.iter().all(|event| event["session"] == events[0]["session"]));
    assert_eq!(stderr(&output), "");
}

#[test]
fn live_output_is_whole_lines_and_says_what_is_missing() {
    let home = Home::new();
    let prompt = "run for i in $(seq 1 4000); do echo \"test module_$i ... ok\"; done";
    let side = stderr(&home.agent(&["run", prompt, "--mode", "dont_ask"]));
    let output: Vec<&str> = side.lines().filter(|line| !line.starts_with("• ")).collect();
    let mut next = 1;
    for line in &output {
        match line.strip_prefix("… ") {
            Some(gap) => next += gap.split(' ').next().unwrap().parse::<u32>().unwrap(),
            None => {
                assert_eq!(*line, format!("test module_{next} ... ok"));
                next += 1;
            }
        }
    }
    assert_eq!(next, 4001, "{side}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_can_not_be_written_is_told_and_no_success() {
    let home = Home::new();
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#.to_owned() + "\n";
    // What reads nothing is sent nothing, as it may have ended by then.
    for (args, input) in [
        (&["--help"][..], ""),
        (&["run", "--help"], ""),
        (&["--version"], ""),
        (&["acp"], &greeting),
    ] {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = command.args(args).stdout(full).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = end(child);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains("error: can't write"),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_silent_call_shows_on_a_terminal_that_it_goes_on_and_nowhere_else() {
    let home = Home::new();
    let mut terminal = Terminal::with_columns(60);
    let args = ["run", "run sleep 4", "--mode", "dont_ask"];
    let child = terminal.start(&home, &args);
    terminal.read_until("\r\u{1b}[K… $ sleep 4 (");
    // The line goes, and the end of the call takes its place.
    terminal.read_until("\r\u{1b}[K• $ sleep 4 … ");
    assert_eq!(end(child).status.code(), Some(0));
    let side = stderr(&home.agent(&args));
    assert!(side.contains("• $ sleep 4 … done") && !side.contains(" s)"), "{side}");
}

#[test]
fn a_slow_login_shell_that_the_first_command_waits_for_is_told() {
    let home = Home::new();
    let shell = home.work().join("slow-shell");
    fs::write(&shell, "#!/bin/sh\nexec sleep 60\n").unwrap();
    fs::set_permissions(&shell, Permissions::from_mode(0o700)).unwrap();
    let run = |prompt: &str| {
        let mut command = home.command(env!("CARGO_BIN_EXE_agent"));
        command.env("SHELL", &shell).args(["run", prompt, "--mode", "dont_ask"]);
        stderr(&end(command.spawn().unwrap()))
    };
    let told = "waiting for the login shell to say its PATH, 2 s at most: `";
    let side = run("run echo hi");
    assert_eq!(side.matches(told).count(), 1, "{side}");
    assert!(side.contains("The first command waits for it."), "{side}");
    let side = run("list");
    assert!(!side.contains(told), "{side}");
}
