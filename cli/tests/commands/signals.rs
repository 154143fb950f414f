//! How it ends before its work is done.

use std::io::{Read, Write};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::{Home, end, lines, wait_for};

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
