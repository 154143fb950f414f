//! Output for people: the answer on one stream, everything about it on the other.
//!
//! Both usually end on the same terminal, so whoever writes begins on a line of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use agent_core::event::{
    Envelope, Event, Failure, HistoryMove, PlanEntry, PlanStatus, SessionChange, Severity, StopReason,
};
use agent_core::id::ToolCallId;
use agent_core::provider::{ThoughtLevel, Usage};
use agent_core::visible;
use anstyle::{AnsiColor, Style};

use super::Printer;
use super::plain::plain;

mod calls;

use calls::Shown;

const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

/// The most characters of such a line, and of a sentence: a path or a name may have no end.
const LONGEST_LINE: usize = 1000;

/// The way of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the terminal, where all the rest is written too.
    Terminal,
    /// To another program, which may write it to the terminal of the rest, as `| cat` does.
    Program,
    /// To a file or so, or the rest goes to none.
    Apart,
}

/// Prints events for people.
pub(crate) struct People<T, S> {
    text: T,
    side: S,
    way: Way,
    calls: HashMap<ToolCallId, Shown>,
    /// What the last thing written left open.
    open: Open,
    /// The answer's last line has no end yet, although the rest went on: see [`Way::Program`].
    owes_end: bool,
    /// Returns once the other program has read the answer so far, or takes too long for that.
    until_read: fn(),
}

/// A line that has no end yet.
#[derive(Debug, PartialEq)]
enum Open {
    Nothing,
    Text,
    Thought,
    Output,
    Call(ToolCallId),
}

impl<T: Write, S: Write> People<T, S> {
    pub(crate) fn new(text: T, side: S, way: Way) -> Self {
        Self {
            text,
            side,
            way,
            calls: HashMap::new(),
            open: Open::Nothing,
            owes_end: false,
            until_read: || {},
        }
    }

    /// The same, and what follows a piece of the answer waits by this function.
    pub(crate) fn waiting(self, until_read: fn()) -> Self {
        Self { until_read, ..self }
    }

    /// Ends the line that is open, if one is.
    fn close(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Ok(()),
            Open::Text if self.way == Way::Program => {
                // Whenever the other program writes an end of this line, ours begins on a line of its own.
                self.owes_end = true;
                (self.until_read)();
                writeln!(self.side)
            }
            Open::Text => writeln!(self.text),
            Open::Thought | Open::Output | Open::Call(_) => writeln!(self.side),
        }
    }

    fn begin(&mut self, open: Open) -> io::Result<()> {
        if self.open != open {
            self.close()?;
        }
        self.open = open;
        Ok(())
    }

    fn say(&mut self, style: Style, line: &str) -> io::Result<()> {
        self.close()?;
        writeln!(self.side, "{style}{}{style:#}", visible::text(&cut(line)))
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        self.begin(Open::Text)?;
        self.pay_end()?;
        // Wherever it goes, a terminal may be what shows it: `| tee` writes to one, and so does `cat` later.
        self.text.write_all(plain(text).as_bytes())?;
        if text.ends_with('\n') {
            self.open = Open::Nothing;
        }
        self.text.flush()
    }

    /// Ends the answer's last line, for good.
    fn end_answer(&mut self) -> io::Result<()> {
        self.owes_end |= self.open == Open::Text;
        if self.open == Open::Text {
            self.open = Open::Nothing;
        }
        self.pay_end()
    }

    fn pay_end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.owes_end) {
            writeln!(self.text)?;
        }
        Ok(())
    }

    fn dim(&mut self, open: Open, text: &str) -> io::Result<()> {
        self.begin(open)?;
        write!(self.side, "{DIM}{}{DIM:#}", plain(text))?;
        if text.ends_with('\n') {
            self.open = Open::Nothing;
        }
        self.side.flush()
    }

    fn todo(&mut self, entries: &[PlanEntry]) -> io::Result<()> {
        self.close()?;
        for entry in entries {
            let mark = match entry.status {
                PlanStatus::Pending => "[ ]",
                PlanStatus::InProgress => "[>]",
                PlanStatus::Completed => "[x]",
                PlanStatus::Cancelled => "[-]",
            };
            writeln!(self.side, "  {mark} {}", visible::line(&entry.content))?;
        }
        Ok(())
    }

    fn notice(&mut self, severity: Severity, title: &str, detail: Option<&str>) -> io::Result<()> {
        let (style, name) = match severity {
            Severity::Info => (DIM, "note"),
            Severity::Warning => (WARN, "warning"),
            Severity::Error => (BAD, "error"),
        };
        self.say(style, &format!("{name}: {title}"))?;
        match detail {
            Some(detail) => self.say(DIM, detail),
            None => Ok(()),
        }
    }

    fn changed(&mut self, change: &SessionChange) -> io::Result<()> {
        match change {
            SessionChange::Title(_)
            | SessionChange::Told(_)
            | SessionChange::Spent(_)
            | SessionChange::Context(_)
            | SessionChange::Prompted(_) => Ok(()),
            SessionChange::Mode(mode) => self.say(DIM, &format!("mode: {}", mode.name())),
            SessionChange::Thought(level) => {
                let level = level.map_or("as the service has it", ThoughtLevel::id);
                self.say(DIM, &format!("thought level: {level}"))
            }
            SessionChange::Model(model) => self.say(DIM, &format!("model: {model}")),
            SessionChange::Cwd(cwd) => self.say(DIM, &format!("folder: {}", cwd.display())),
        }
    }

    fn stopped(&mut self, stop: StopReason) -> io::Result<()> {
        self.end_answer()?;
        match stop {
            // The answer says it.
            StopReason::EndTurn | StopReason::NotDone => self.close(),
            StopReason::MaxTokens => self.say(WARN, "stopped: the reply reached its length limit"),
            StopReason::Budget => self.say(
                WARN,
                "stopped: going on would cost more than a turn may (budget.max_cost_usd)",
            ),
            StopReason::MaxSteps => self.say(WARN, "stopped: the turn used up its model calls (agent.max_steps)"),
            StopReason::Refusal => self.say(WARN, "stopped: the model refused"),
            StopReason::Cancelled => self.say(WARN, "cancelled"),
        }
    }

    /// What a turn has cost, for whoever reads along; where that is not known, nothing.
    fn cost(&mut self, usage: &Usage) -> io::Result<()> {
        match usage.cost_nano_usd {
            Some(nano) => self.say(DIM, &format!("cost: {}", dollars(nano))),
            None => Ok(()),
        }
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        self.end_answer()?;
        self.say(BAD, &format!("error: {}", failure.message))
    }

    fn moved(&mut self, why: HistoryMove) -> io::Result<()> {
        match why {
            HistoryMove::Clear => self.say(DIM, "the conversation begins anew"),
            HistoryMove::Refusal => self.say(DIM, "the refused prompt is out of the conversation"),
            // The answer says it.
            HistoryMove::Undo | HistoryMove::Redo => Ok(()),
        }
    }

    /// Shows what happened. An error means that nobody reads any more.
    pub(crate) fn print(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::UserMessage { .. }
            | Event::UserSteered { .. }
            | Event::FilesKept { .. }
            | Event::StepFinished { .. }
            | Event::Compacted { .. } => Ok(()),
            Event::AgentText { text, .. } => self.answer(text),
            Event::AgentThought { text, .. } => self.dim(Open::Thought, text),
            Event::ToolStarted { call } => self.started(call),
            Event::ToolPlanned { plan, .. } => self.planned(plan),
            Event::ToolProgress { id, progress } => self.progress(id, progress),
            Event::ToolFinished { id, outcome } => self.finished(id, outcome),
            Event::ApprovalRequested { approval } => self.asked(&approval.call),
            Event::ApprovalDecided { .. } => Ok(()),
            Event::PlanUpdated { entries } => self.todo(entries),
            Event::Notice {
                severity,
                title,
                detail,
            } => self.notice(*severity, title, detail.as_deref()),
            Event::HistoryMoved { why, .. } => self.moved(*why),
            Event::SessionChanged { change } => self.changed(change),
            Event::TurnFinished { stop, usage } => {
                self.stopped(*stop)?;
                self.cost(usage)
            }
            Event::TurnFailed { failure } => self.failed(failure),
        }
    }
}

/// A line that nobody reads to its end has none here.
fn cut(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}

impl<T: Write, S: Write> Printer for People<T, S> {
    fn show(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.print(&envelope.event)
    }

    fn shows_plans(&self) -> bool {
        true
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.close()
    }
}

/// Billionths of a dollar as dollars, to a hundredth of a cent.
pub(crate) fn dollars(nano: u64) -> String {
    let rounded = nano.saturating_add(50_000) / 100_000;
    format!("${}.{:04}", rounded / 10_000, rounded % 10_000)
}

#[cfg(test)]
mod tests;
