#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use agent_core::approval::{ApprovalOption, DecidedBy, Decision};
use agent_core::change::FileChange;
use agent_core::event::{CallInput, PlannedCall, ToolCall, ToolKind};
use agent_core::plan::{CommandFacts, CommandPlan, Place, Plan};
use agent_core::wall::Sandbox;

use super::*;
use crossbeam_channel::unbounded;

fn approval(id: &str, kinds: &[OptionKind]) -> Approval {
    let option = |kind: &OptionKind| ApprovalOption {
        kind: *kind,
        name: "Always run it".into(),
        grant: None,
    };
    let call = ToolCall {
        id: "c".into(),
        given_id: "g".into(),
        name: "terminal".into(),
        title: "$ rm -r…".into(),
        kind: ToolKind::Execute,
        input: CallInput::Malformed(String::new()),
        prints_in: None,
    };
    let plan = Plan::Command(CommandPlan {
        command: "rm -r a\nrm \x1b[8m-r b".into(),
        cwd: Place {
            path: "/".into(),
            real: "/".into(),
        },
        background: false,
        sandbox: Sandbox::default(),
        facts: CommandFacts::default(),
    });
    Approval {
        id: id.into(),
        call: "c".into(),
        reason: "it deletes".into(),
        options: kinds.iter().map(option).collect(),
        shown: Some(Arc::new(PlannedCall {
            call,
            plan,
            locations: Vec::new(),
        })),
    }
}

fn asked(id: &str) -> Event {
    Event::ApprovalRequested {
        approval: approval(id, &[OptionKind::AllowOnce, OptionKind::RejectOnce]),
    }
}

fn asker(person: Person) -> Asker<Vec<u8>> {
    Asker {
        side: Vec::new(),
        person,
        diffs_shown: true,
        open: VecDeque::new(),
        again: false,
    }
}

fn open() -> Person {
    Person::Types {
        lines: unbounded().1,
        terminal: None,
    }
}

#[test]
fn only_an_explicit_yes_allows() {
    use OptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let check = |line: &str, offered: &[OptionKind], expect: OptionKind| {
        let chosen = choice(&approval("1", offered), line).unwrap_or(OptionKind::RejectOnce);
        assert_eq!(chosen, expect, "{line:?}");
    };
    let all = [AllowOnce, AllowAlways, RejectOnce];
    check("y", &all, AllowOnce);
    check(" YES \n", &all, AllowOnce);
    check("a", &all, AllowAlways);
    check("a", &[AllowOnce, RejectOnce], RejectOnce);
    for line in ["", "n", "no", "ye", "yy", "1", "\u{1b}"] {
        check(line, &all, RejectOnce);
    }
}

#[test]
fn without_a_terminal_a_question_is_a_denial() {
    let mut asker = asker(Person::Nobody("stderr is no terminal"));
    let answer = asker.hear(&asked("1")).unwrap();
    assert_eq!(answer, Some((ApprovalId::from("1"), UserAnswer::Nobody)));
}

#[test]
fn a_call_that_nobody_could_be_asked_about_names_the_mode_that_would_let_it_pass() {
    let check = |plan: Plan, reason: &str, expect: &str| {
        let mut approval = approval("1", &[OptionKind::AllowOnce]);
        let mut shown = approval.shown.as_deref().unwrap().clone();
        shown.call.title = "Do it".into();
        shown.plan = plan;
        approval.shown = Some(Arc::new(shown));
        approval.reason = reason.into();
        let said = question::unasked(&approval, "stderr is no terminal");
        let rest = said.strip_prefix("Do it: not done, as nobody can be asked (stderr is no terminal); ");
        assert!(
            rest.is_some_and(|rest| rest.starts_with(expect)),
            "{said}\nexpected: {expect}"
        );
    };
    let command = approval("1", &[]).shown.as_deref().unwrap().plan.clone();
    let change = Plan::Change { changes: Vec::new() };
    check(change.clone(), "", "--mode accept_edits edits in the workspace");
    check(
        change,
        "/etc/x is outside the workspace",
        "/etc/x is outside the workspace, which is asked in every mode",
    );
    check(command.clone(), "", "--mode dont_ask runs every command");
    check(
        command,
        "it starts in /, which is outside the workspace",
        "it starts in /",
    );
    check(
        Plan::Read { places: Vec::new() },
        "/w/.env may hold secrets",
        "/w/.env may hold secrets, which",
    );
    let input = Plan::Input {
        process: "1".into(),
        command: "cat".into(),
        text: "x".into(),
        forbidden: None,
    };
    check(
        input,
        "it writes to the running command `cat`",
        "--mode dont_ask writes to it",
    );
}

#[test]
fn questions_are_put_one_after_the_other() {
    let mut asker = asker(open());
    assert_eq!(asker.hear(&asked("1")).unwrap(), None);
    assert_eq!(asker.hear(&asked("2")).unwrap(), None);
    let (first, _) = asker.answer("n").unwrap().unwrap();
    let (second, answer) = asker.answer("y").unwrap().unwrap();
    assert_eq!((first.as_str(), second.as_str()), ("1", "2"));
    assert_eq!(answer, UserAnswer::Chose(OptionKind::AllowOnce));
    assert_eq!(asker.answer("y").unwrap(), None);
}

#[test]
fn an_answer_that_makes_no_sense_is_asked_for_once_more() {
    let mut asker = asker(open());
    asker.hear(&asked("1")).unwrap();
    assert_eq!(asker.answer("maybe").unwrap(), None);
    let (_, answer) = asker.answer("y").unwrap().unwrap();
    assert_eq!(answer, UserAnswer::Chose(OptionKind::AllowOnce));
    asker.hear(&asked("2")).unwrap();
    assert_eq!(asker.answer("maybe").unwrap(), None);
    let (_, answer) = asker.answer("perhaps").unwrap().unwrap();
    assert_eq!(answer, UserAnswer::Chose(OptionKind::RejectOnce));
    let side = String::from_utf8(asker.side).unwrap();
    assert!(side.contains("`maybe` is neither y nor n [y/N] "), "{side}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let (typed, lines) = unbounded();
    let mut asker = asker(Person::Types { lines, terminal: None });
    typed.send("y".to_owned()).unwrap();
    typed.send("y".to_owned()).unwrap();
    asker.hear(&asked("1")).unwrap();
    assert!(asker.lines().is_empty());
}

#[test]
fn a_question_that_was_decided_elsewhere_takes_no_answer() {
    let mut asker = asker(open());
    asker.hear(&asked("1")).unwrap();
    let decided = Event::ApprovalDecided {
        id: "1".into(),
        call: "c".into(),
        decision: Decision::Cancelled,
        by: DecidedBy::Cancel,
    };
    asker.hear(&decided).unwrap();
    assert_eq!(asker.answer("y").unwrap(), None);
}

#[test]
fn a_terminal_that_goes_away_denies_what_is_open_and_what_follows() {
    let mut asker = asker(open());
    asker.hear(&asked("1")).unwrap();
    asker.hear(&asked("2")).unwrap();
    let denied = UserAnswer::Nobody;
    let both = vec![("1".into(), denied.clone()), ("2".into(), denied.clone())];
    assert_eq!(asker.give_up(), both);
    assert!(asker.side.ends_with(b"[y/N] \nnobody answered, so it is not done\n"));
    assert_eq!(asker.hear(&asked("3")).unwrap().map(|(_, answer)| answer), Some(denied));
}

#[test]
fn where_a_command_runs_and_what_is_changed_is_part_of_the_question() {
    let question = |plan: Plan, diffs_shown: bool| {
        let mut approval = approval("1", &[OptionKind::AllowOnce]);
        let mut shown = approval.shown.as_deref().unwrap().clone();
        shown.plan = plan;
        approval.shown = Some(Arc::new(shown));
        let mut out = Vec::new();
        question::write(&mut out, &approval, diffs_shown).unwrap();
        String::from_utf8(out).unwrap()
    };
    let place = |path: &str| Place {
        path: path.into(),
        real: path.into(),
    };
    let command = Plan::Command(CommandPlan {
        command: "make".into(),
        cwd: place("/w\u{202e}"),
        background: true,
        sandbox: Sandbox::default(),
        facts: CommandFacts::default(),
    });
    let shown = question(command, true);
    assert!(
        shown.contains("  | make\n  in /w\\u{202e}, in the background\n"),
        "{shown}"
    );
    let change = Plan::Change {
        changes: vec![FileChange::new(place("/w/a"), Some("old\n"), Some("new\x1b[8m\n"))],
    };
    let alone = question(change.clone(), false);
    assert!(alone.contains("+new\\u{1b}[8m"), "{alone}");
    assert!(!question(change, true).contains("+new"));
}

#[test]
fn the_whole_command_is_shown_and_nothing_hides_in_it() {
    let mut asker = asker(open());
    asker.hear(&asked("1")).unwrap();
    let shown = String::from_utf8(asker.side).unwrap();
    assert!(shown.contains("(it deletes)"), "{shown}");
    assert!(shown.contains("  | rm -r a\n  | rm \\u{1b}[8m-r b\n"), "{shown}");
    assert!(shown.ends_with("[y/N] "), "{shown}");
}
