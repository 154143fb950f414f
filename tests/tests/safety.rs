//! What `docs/security.md` promises, tried on the built binary: the short forms of what `examples/safety.rs` does at
//! length. No test fails by a time.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use talaria_tests::safety::{
    Death, Finding, booby_traps, canaries, cancels, deaths, effects_before_an_answer, ends, generated_lines,
    hand_made_lines, holders, listening, long_line, much_output, readable_by_others, refusals, slow_reader,
};

/// A program that speaks MCP.
const SERVER: &str = env!("CARGO_BIN_EXE_mcp_server");

#[track_caller]
fn check(findings: impl IntoIterator<Item = Finding>) {
    for finding in findings {
        assert!(finding.faults.is_empty(), "{finding}\n{:#?}", finding.faults);
    }
}

#[test]
fn a_booby_trapped_repository_that_is_opened_runs_nothing() {
    check([booby_traps()]);
}

#[test]
fn nobody_else_can_read_what_the_agent_keeps() {
    check([readable_by_others()]);
}

#[test]
fn nothing_listens_in_a_session() {
    check([listening(Path::new(SERVER), &[])]);
}

#[test]
fn our_own_keys_stand_in_the_header_of_a_request_alone() {
    check([canaries(Path::new(SERVER), &[])]);
}

#[test]
fn each_way_in_which_a_question_fails_refuses_each_tool_in_its_own_words() {
    check([refusals(Path::new(SERVER), &[])]);
}

#[test]
fn no_tool_has_an_effect_before_it_is_allowed() {
    check([effects_before_an_answer(Path::new(SERVER), &[], 1)]);
}

#[test]
fn nothing_is_left_after_the_end_of_stdin() {
    check(deaths(Death::EndOfInput, 10));
}

#[test]
fn nothing_is_left_after_a_sigterm() {
    check(deaths(Death::Term, 10));
}

#[test]
fn nothing_that_can_be_told_is_left_after_a_sigkill() {
    check(deaths(Death::Kill, 10));
}

#[test]
fn a_call_ends_though_something_holds_its_pipes() {
    check([holders(3)]);
}

#[test]
fn a_gigabyte_of_output_takes_no_memory() {
    check([much_output(1024)]);
}

#[test]
fn a_gigabyte_in_a_line_takes_no_memory() {
    check([long_line(1024)]);
}

#[test]
fn a_reader_that_stops_takes_no_memory() {
    check([slow_reader(None)]);
}

#[test]
fn a_cancel_and_the_end_of_stdin_are_heard_in_a_flood() {
    check(cancels(5));
    check([ends(6)]);
}

#[test]
fn no_hand_made_line_breaks_the_agent() {
    check([hand_made_lines()]);
}

#[test]
fn no_made_up_line_breaks_the_agent() {
    check([generated_lines(5_000, fastrand::u64(..1_000_000))]);
}
