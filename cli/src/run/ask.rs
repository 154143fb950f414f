//! Puts questions to the person at the terminal. Where there is none, a question is a denial.

use std::collections::VecDeque;
use std::io::{self, Write};

use agent_core::approval::{Approval, OptionKind, UserAnswer};
use agent_core::event::Event;
use agent_core::id::ApprovalId;
use crossbeam_channel::{Receiver, never};

use super::person::Person;
use super::question;

/// The questions that are open, the oldest first: that is the one on the screen.
pub(super) struct Asker<W> {
    side: W,
    person: Person,
    /// Changes are on the screen before they are asked about.
    diffs_shown: bool,
    open: VecDeque<Approval>,
    /// The question on the screen has had an answer that makes no sense.
    again: bool,
}

impl<W: Write> Asker<W> {
    /// Asks at this process's terminal; looks for it when the first question comes. Unless the diffs are shown by
    /// somebody else, a question holds its own.
    pub(super) fn at_terminal(side: W, diffs_shown: bool) -> Self {
        Self {
            side,
            person: Person::Unknown,
            diffs_shown,
            open: VecDeque::new(),
            again: false,
        }
    }

    /// The typed lines; nothing ever comes while no question is open.
    pub(super) fn lines(&self) -> Receiver<String> {
        match &self.person {
            Person::Types { lines, .. } if !self.open.is_empty() => lines.clone(),
            Person::Types { .. } | Person::Unknown | Person::Nobody(_) => never(),
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
        if matches!(self.person, Person::Unknown) {
            self.person = Person::look();
        }
        if let Person::Nobody(why) = self.person {
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
        self.person = Person::Nobody("the terminal's input has ended");
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
        self.person.forget_typed();
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

#[cfg(test)]
mod tests;
