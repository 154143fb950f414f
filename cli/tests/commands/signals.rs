//! How it ends before its work is done.

use std::io::{Read, Write};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{Home, end, lines, stderr, stdout, wait_for};

#[test]
fn a_signal_cancels_the_turn_and_all_its_ends_are_told() {
    let home = Home::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = home.start(&["run", "run sleep 60", "--mode", "dont_ask", "--json"]);
        let lines = lines(&mut child);
        wait_for(&lines, "tool_started");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let call = wait_for(&lines, "tool_finished");
        assert!(call.contains("\"cancelled\""), "{signal:?}: {call}");
        let turn = wait_for(&lines, "turn_finished");
        assert!(turn.contains("\"cancelled\""), "{signal:?}: {turn}");
        assert_eq!(end(child).status.code(), Some(130), "{signal:?}");
        assert_eq!(lines.iter().next(), None, "{signal:?}");
    }
}

#[test]
fn a_run_whose_output_nobody_reads_still_ends_at_a_signal() {
    let home = Home::new();
    let mut child = home.start(&["run", "-", "--quiet"]);
    let prompt = format!("say {}\n", "x".repeat(500_000));
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    let mut output = child.stdout.take().unwrap();
    // It prints, and fills the pipe.
    output.read_exact(&mut [0]).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(end(child).status.code(), Some(130));
    drop(output);
}

#[test]
fn a_server_ends_cleanly_at_a_signal_and_at_the_end_of_its_input() {
    let home = Home::new();
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP), Some(Signal::INT)] {
        let mut child = home.start(&["acp"]);
        let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";
        child.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
        let lines = lines(&mut child);
        wait_for(&lines, "protocolVersion");
        if let Some(signal) = signal {
            // Its stdin stays open: the signal alone ends it.
            let stdin = child.stdin.take();
            kill_process(Pid::from_child(&child), signal).unwrap();
            assert_eq!(end(child).status.code(), Some(0), "{signal:?}");
            drop(stdin);
        } else {
            assert_eq!(end(child).status.code(), Some(0));
        }
    }
}

#[test]
fn a_turn_that_a_crash_cut_off_is_shown_as_that_and_told_once() {
    let home = Home::new();
    let mut child = home.start(&["run", "run sleep 60", "--mode", "dont_ask", "--json"]);
    let lines = lines(&mut child);
    wait_for(&lines, "tool_started");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    end(child);
    let list: Value = serde_json::from_slice(&home.agent(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = list[0]["id"].as_str().unwrap();
    let cut_off = "cut off: the agent ended before this turn did";
    let shown = || stdout(&home.agent(&["sessions", "show", id]));
    assert!(shown().contains(cut_off), "{}", shown());
    let told = "the last turn was cut off: the agent ended before it was finished";
    let next = home.agent(&["run", "say hi", "--continue"]);
    assert!(stderr(&next).contains(told), "{}", stderr(&next));
    let last = home.agent(&["run", "say hi", "--continue"]);
    assert!(!stderr(&last).contains("cut off"), "{}", stderr(&last));
    assert_eq!(shown().matches(cut_off).count(), 1, "{}", shown());
    let page = stdout(&home.agent(&["sessions", "show", id, "--html"]));
    let text = stdout(&home.agent(&["sessions", "export", id, "--format", "md"]));
    assert!(page.contains(cut_off) && text.contains(cut_off), "{text}");
}
