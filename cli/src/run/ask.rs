//! Puts questions to the person at the terminal. Where there is none, a question is a denial.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use agent_core::approval::{Approval, OptionKind, UserAnswer};
use agent_core::event::Event;
use agent_core::id::ApprovalId;
use crossbeam_channel::{Receiver, never, unbounded};
use rustix::termios::{QueueSelector, tcflush};

use super::question;

/// The questions that are open, the oldest first: that is the one on the screen.
pub(super) struct Asker<W> {
    side: W,
    terminal: Terminal,
    /// Changes are on the screen before they are asked about.
    diffs_shown: bool,
    open: VecDeque<Approval>,
    /// The question on the screen has had an answer that makes no sense.
    again: bool,
}

/// Where answers come from.
enum Terminal {
    /// Not looked for yet.
    Unknown,
    /// There is nobody to ask, and why.
    None(&'static str),
    /// The lines that are typed, and the terminal itself, to drop what was typed before a question.
    Open {
        lines: Receiver<String>,
        typed: Option<File>,
    },
}

impl<W: Write> Asker<W> {
    /// Asks at this process's terminal; looks for it when the first question comes. Unless the diffs are shown by
    /// somebody else, a question holds its own.
    pub(super) fn at_terminal(side: W, diffs_shown: bool) -> Self {
        Self {
            side,
            terminal: Terminal::Unknown,
            diffs_shown,
            open: VecDeque::new(),
            again: false,
        }
    }

    /// The typed lines; nothing ever comes while no question is open.
    pub(super) fn lines(&self) -> Receiver<String> {
        match &self.terminal {
            Terminal::Open { lines, .. } if !self.open.is_empty() => lines.clone(),
            Terminal::Open { .. } | Terminal::Unknown | Terminal::None(_) => never(),
        }
    }

    /// Takes a question from the events, or takes one back; the answer if there is nobody to ask.
    pub(super) fn hear(&mut self, event: &Event) -> io::Result<Option<(ApprovalId, UserAnswer)>> {
        if let Event::ApprovalDecided { id, .. } = event {
            return self.forget(id).map(|()| None);
        }
        let Event::ApprovalRequested { approval } = event else {
            return Ok(None);
        };
        if matches!(self.terminal, Terminal::Unknown) {
            self.terminal = look_for_terminal();
        }
        if let Terminal::None(why) = self.terminal {
            writeln!(self.side, "{}", question::unasked(approval, why))?;
            return Ok(Some((approval.id.clone(), UserAnswer::Nobody)));
        }
        self.open.push_back(approval.clone());
        if self.open.len() == 1 {
            self.put()?;
        }
        Ok(None)
    }

    /// Takes a typed line as the answer to the question on the screen; one that makes no sense is a no the second time.
    pub(super) fn answer(&mut self, line: &str) -> io::Result<Option<(ApprovalId, UserAnswer)>> {
        let Some(approval) = self.open.front() else {
            return Ok(None);
        };
        let chosen = match choice(approval, line) {
            Some(chosen) => chosen,
            None if self.again => OptionKind::RejectOnce,
            None => {
                self.again = true;
                question::write_again(&mut self.side, approval, line)?;
                self.side.flush()?;
                return Ok(None);
            }
        };
        let id = approval.id.clone();
        self.open.pop_front();
        self.put()?;
        Ok(Some((id, UserAnswer::Chose(chosen))))
    }

    /// The terminal is gone: what is open is denied, and so is what follows.
    pub(super) fn give_up(&mut self) -> Vec<(ApprovalId, UserAnswer)> {
        self.terminal = Terminal::None("the terminal's input has ended");
        if !self.open.is_empty() {
            // A terminal that is gone takes no more, and needs to hear nothing.
            let _ = writeln!(self.side, "\nnobody answered, so it is not done");
        }
        let unanswered = |approval: Approval| (approval.id, UserAnswer::Nobody);
        self.open.drain(..).map(unanswered).collect()
    }

    fn forget(&mut self, id: &ApprovalId) -> io::Result<()> {
        let on_screen = self.open.front().is_some_and(|approval| approval.id == *id);
        self.open.retain(|approval| approval.id != *id);
        if !on_screen {
            return Ok(());
        }
        writeln!(self.side)?;
        self.put()
    }

    /// Puts the oldest question.
    fn put(&mut self) -> io::Result<()> {
        let Some(approval) = self.open.front() else {
            return Ok(());
        };
        if let Terminal::Open { lines, typed } = &self.terminal {
            // What was typed before the question was seen is no answer to it.
            if let Some(terminal) = typed {
                let _ = tcflush(terminal, QueueSelector::IFlush);
            }
            lines.try_iter().for_each(drop);
        }
        self.again = false;
        question::write(&mut self.side, approval, self.diffs_shown)?;
        self.side.flush()
    }
}

/// What a line means, if it means anything.
fn choice(approval: &Approval, line: &str) -> Option<OptionKind> {
    let offered = |kind| approval.options.iter().any(|option| option.kind == kind);
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" if offered(OptionKind::AllowOnce) => Some(OptionKind::AllowOnce),
        "a" | "always" if offered(OptionKind::AllowAlways) => Some(OptionKind::AllowAlways),
        "" | "n" | "no" => Some(OptionKind::RejectOnce),
        _ => None,
    }
}

/// The terminal, if a person sees our questions and this process may read from it.
fn look_for_terminal() -> Terminal {
    if !io::stderr().is_terminal() {
        return Terminal::None("stderr is no terminal");
    }
    let Ok(terminal) = File::open("/dev/tty") else {
        return Terminal::None("there is no terminal");
    };
    // Reading in the background would stop the process.
    if !is_in_foreground(&terminal) {
        return Terminal::None("this runs in the background");
    }
    let typed = terminal.try_clone().ok();
    match read_lines(BufReader::new(terminal)) {
        Ok(lines) => Terminal::Open { lines, typed },
        Err(_) => Terminal::None("the terminal can't be read"),
    }
}

/// Whether this process belongs to the group that may read from its terminal. By `/proc`, since either group may be
/// outside our namespace of processes, where it has no number: as with bubblewrap, which does not hinder reading. Both
/// follow the name, which ends with the last `)`.
#[cfg(target_os = "linux")]
fn is_in_foreground(_terminal: &File) -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    matches!(fields[..], [_state, _parent, group, _session, _terminal, foreground, ..] if group == foreground)
}

#[cfg(not(target_os = "linux"))]
fn is_in_foreground(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).ok() == Some(rustix::process::getpgrp())
}

/// Reads lines on a thread of its own, since a read can't be given up. The channel holds what a person types; it is
/// unbounded so that no line waits in the thread, where it would outlive the emptying before a question. Ends with the
/// terminal, or with the process.
fn read_lines(terminal: impl BufRead + Send + 'static) -> io::Result<Receiver<String>> {
    let (typed, lines) = unbounded();
    std::thread::Builder::new().name("terminal".into()).spawn(move || {
        for line in terminal.lines().map_while(Result::ok) {
            if typed.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use agent_core::approval::{ApprovalOption, DecidedBy, Decision};
    use agent_core::change::FileChange;
    use agent_core::event::{CallInput, PlannedCall, ToolCall, ToolKind};
    use agent_core::plan::{CommandFacts, CommandPlan, Place, Plan};

    use super::*;

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
        };
        let plan = Plan::Command(CommandPlan {
            command: "rm -r a\nrm \x1b[8m-r b".into(),
            cwd: Place {
                path: "/".into(),
                real: "/".into(),
            },
            background: false,
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

    fn asker(terminal: Terminal) -> Asker<Vec<u8>> {
        Asker {
            side: Vec::new(),
            terminal,
            diffs_shown: true,
            open: VecDeque::new(),
            again: false,
        }
    }

    fn open() -> Terminal {
        Terminal::Open {
            lines: unbounded().1,
            typed: None,
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
        let mut asker = asker(Terminal::None("stderr is no terminal"));
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
        let mut asker = asker(Terminal::Open { lines, typed: None });
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
}
