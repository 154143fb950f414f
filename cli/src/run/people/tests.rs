#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::RefCell;
use std::rc::Rc;

use agent_core::approval::Approval;
use agent_core::change::FileChange;
use agent_core::event::{CallInput, Progress, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus};
use agent_core::plan::{Place, Plan};

use super::*;

/// Both streams on one terminal.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn screen(way: Way, events: &[Event]) -> String {
    let screen = Screen::default();
    let mut people = People::new(screen.clone(), screen.clone(), way);
    events.iter().for_each(|event| people.print(event).unwrap());
    let bytes = screen.0.borrow().clone();
    String::from_utf8(bytes).unwrap()
}

/// What is on the screen, without its colours.
fn check(events: &[Event], expect: &str) {
    let shown = screen(Way::Terminal, events);
    assert_eq!(anstream::adapter::strip_str(&shown).to_string(), expect);
}

fn text(text: &str) -> Event {
    Event::AgentText {
        id: "m".into(),
        text: text.into(),
    }
}

fn started(id: &str, kind: ToolKind, title: &str) -> Event {
    Event::ToolStarted {
        call: ToolCall {
            id: id.into(),
            given_id: "g".into(),
            name: "n".into(),
            title: title.into(),
            kind,
            input: CallInput::Malformed(String::new()),
            prints_in: None,
        },
    }
}

fn finished(id: &str, status: ToolStatus, output: &str) -> Event {
    Event::ToolFinished {
        id: id.into(),
        outcome: ToolOutcome {
            status,
            output: ToolOutput::text(output),
        },
    }
}

fn progress(id: &str, tail: &str, total: u64) -> Event {
    Event::ToolProgress {
        id: id.into(),
        progress: Progress {
            tail: tail.into(),
            total,
            lines: tail.matches('\n').count() as u64,
            ..Progress::default()
        },
    }
}

fn end() -> Event {
    Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

#[test]
fn a_call_is_one_line_and_text_begins_its_own() {
    check(
        &[
            text("let me "),
            text("look"),
            started("1", ToolKind::Read, "Read a.rs"),
            finished("1", ToolStatus::Completed, "1|fn main"),
            text("it is\nempty"),
            end(),
        ],
        "let me look\n• Read a.rs … done\nit is\nempty\n",
    );
}

#[test]
fn the_answer_of_a_pipe_and_a_call_do_not_share_a_line() {
    let events = [
        text("it is"),
        started("1", ToolKind::Edit, "Edit a"),
        finished("1", ToolStatus::Completed, ""),
        text("done"),
        end(),
    ];
    let (mut answer, mut side) = (Vec::new(), Vec::new());
    let mut people = People::new(&mut answer, &mut side, Way::Program);
    events.iter().for_each(|event| people.print(event).unwrap());
    let shown = anstream::adapter::strip_bytes(&side).into_vec();
    assert_eq!(String::from_utf8(shown).unwrap(), "\n• Edit a\n• Edit a … done\n");
    assert_eq!(answer, b"it is\ndone\n");
}

#[test]
fn calls_that_overlap_keep_their_titles() {
    check(
        &[
            started("1", ToolKind::Read, "Read a"),
            started("2", ToolKind::Search, "Search b"),
            finished("1", ToolStatus::Completed, ""),
            finished("2", ToolStatus::Failed, "no such folder"),
        ],
        "• Read a\n• Search b\n• Read a … done\n• Search b … failed\n  no such folder\n",
    );
}

#[test]
fn live_output_is_printed_once() {
    check(
        &[
            started("1", ToolKind::Execute, "$ make"),
            progress("1", "one\n", 4),
            progress("1", "one\ntwo", 7),
            progress("1", "one\ntwo", 7),
            finished("1", ToolStatus::Completed, "one\ntwo"),
        ],
        "• $ make\none\ntwo\n• $ make … done\n",
    );
}

#[test]
fn what_no_report_held_is_told_in_a_line() {
    let late = Event::ToolProgress {
        id: "1".into(),
        progress: Progress {
            tail: " ok\nlast ok\n".into(),
            total: 100_000,
            lines: 4000,
            ..Progress::default()
        },
    };
    check(
        &[
            started("1", ToolKind::Execute, "$ make test"),
            progress("1", "first ok\nsecond", 15),
            late,
            finished("1", ToolStatus::Completed, ""),
        ],
        "• $ make test\nfirst ok\n… 3998 lines left out\nlast ok\n• $ make test … done\n",
    );
}

#[test]
fn a_bar_that_was_written_over_is_shown_once() {
    check(
        &[
            started("1", ToolKind::Execute, "$ get"),
            progress("1", "10%", 3),
            progress("1", "100%", 8),
            finished("1", ToolStatus::Completed, "100%\nexit code: 0"),
        ],
        "• $ get … done\n  100%\n  exit code: 0\n",
    );
}

#[test]
fn output_that_was_not_live_is_shown_at_the_end_and_cut() {
    let long: String = (1..=25).map(|line| format!("{line}\n")).collect();
    let shown = screen(
        Way::Terminal,
        &[
            started("1", ToolKind::Execute, "$ seq 25"),
            finished("1", ToolStatus::Completed, &long),
        ],
    );
    let shown = anstream::adapter::strip_str(&shown).to_string();
    assert!(
        shown.starts_with("• $ seq 25 … done\n  … 5 lines before\n  6\n"),
        "{shown}"
    );
    assert!(shown.ends_with("  25\n"), "{shown}");
}

#[test]
fn a_refusal_is_explained_unless_the_user_was_asked() {
    let asked = Event::ApprovalRequested {
        approval: Approval {
            id: "a".into(),
            call: "1".into(),
            reason: String::new(),
            options: Vec::new(),
            shown: None,
        },
    };
    let start = started("1", ToolKind::Execute, "$ rm");
    let end = finished("1", ToolStatus::Denied, "a rule forbids it");
    check(&[start.clone(), end.clone()], "• $ rm … refused\n  a rule forbids it\n");
    check(&[start, asked, end], "• $ rm\n• $ rm … refused\n");
}

#[test]
fn a_diff_is_in_colour() {
    let place = Place {
        path: "/a".into(),
        real: "/a".into(),
    };
    let planned = Event::ToolPlanned {
        id: "1".into(),
        plan: Plan::Change {
            changes: vec![FileChange::new(place, Some("old\n"), Some("new\n"))],
        },
        locations: Vec::new(),
        runs: false,
    };
    let events = [
        started("1", ToolKind::Edit, "Edit a"),
        planned,
        finished("1", ToolStatus::Denied, ""),
    ];
    let shown = screen(Way::Terminal, &events);
    assert!(shown.contains("\u{1b}[31m-old"), "{shown:?}");
    assert!(shown.contains("\u{1b}[32m+new"), "{shown:?}");
    assert!(shown.contains("• Edit a … "), "{shown:?}");
}

#[test]
fn a_binary_file_that_is_deleted_is_told_with_its_size() {
    let place = Place {
        path: "/a".into(),
        real: "/a".into(),
    };
    let planned = Event::ToolPlanned {
        id: "1".into(),
        plan: Plan::Change {
            changes: vec![FileChange::new(place, None, None).of_binary(12)],
        },
        locations: Vec::new(),
        runs: false,
    };
    check(&[planned], "/a: the binary file of 12 bytes is deleted\n");
}

#[test]
fn what_has_no_end_is_cut() {
    let long = "x".repeat(100_000);
    let failure = Event::TurnFailed {
        failure: Failure::new(agent_core::event::ErrorClass::Internal, long.clone()),
    };
    let events = [
        started("1", ToolKind::Read, "Read x"),
        finished("1", ToolStatus::Failed, &long),
        failure,
    ];
    let shown = screen(Way::Terminal, &events);
    assert!(shown.len() < 3000 && shown.contains("xxx…"), "{}", shown.len());
}

#[test]
fn foreign_text_cannot_move_the_cursor_wherever_it_goes() {
    for way in [Way::Terminal, Way::Program, Way::Apart] {
        let events = [text("a\x1b[2J\u{9b}31mb\u{202e}c\n")];
        assert_eq!(screen(way, &events), "a31mbc\n", "{way:?}");
    }
    let title = [started("1", ToolKind::Read, "Read a\x1b[2J\n• Read b … done")];
    assert_eq!(screen(Way::Terminal, &title), "• Read a\\u{1b}[2J • Read b … done");
}

#[test]
fn what_a_turn_has_cost_is_told_where_it_is_known() {
    let finished = |cost_nano_usd| Event::TurnFinished {
        stop: StopReason::EndTurn,
        usage: Usage {
            cost_nano_usd,
            ..Usage::default()
        },
    };
    for (nano, expect) in [(4_910_000, "cost: $0.0049\n"), (12_345_678_900, "cost: $12.3457\n")] {
        check(&[text("done"), finished(Some(nano))], &format!("done\n{expect}"));
    }
    check(&[text("done"), finished(None)], "done\n");
}
