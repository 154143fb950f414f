//! How a call is shown: its title, what it is about to change, its output, its end.

use std::io::{self, Write};

use agent_core::event::{Display, Progress, ToolCall, ToolKind, ToolOutcome, ToolOutput, ToolStatus};
use agent_core::id::ToolCallId;
use agent_core::plan::Plan;
use agent_core::visible;

use super::{BAD, DIM, GOOD, Open, People, WARN, Way, cut};
use crate::run::diff;
use crate::run::live::Live;
use crate::run::plain::plain;

/// Lines of a command's output, or of a failure, that are shown when it has ended.
const SHOWN_LINES: usize = 20;

/// What is known of a call between its events.
pub(super) struct Shown {
    title: String,
    kind: ToolKind,
    /// Its output as far as it has been printed.
    live: Live,
    /// The user was asked about it, and so knows why it was not run.
    asked: bool,
}

impl<T: Write, S: Write> People<T, S> {
    pub(super) fn started(&mut self, call: &ToolCall) -> io::Result<()> {
        let title = visible::line(&call.title);
        self.close()?;
        match self.way {
            Way::Terminal | Way::Apart => {
                write!(self.side, "• {title}")?;
                self.side.flush()?;
                self.open = Open::Call(call.id.clone());
            }
            // Nothing stays open beside what may come late.
            Way::Program => writeln!(self.side, "• {title}")?,
        }
        let shown = Shown {
            title,
            kind: call.kind,
            live: Live::default(),
            asked: false,
        };
        self.calls.insert(call.id.clone(), shown);
        Ok(())
    }

    pub(super) fn planned(&mut self, plan: &Plan) -> io::Result<()> {
        match plan {
            Plan::Change { changes } => {
                self.close()?;
                diff::write(&mut self.side, changes)
            }
            Plan::Command(_)
            | Plan::Input { .. }
            | Plan::Fetch { .. }
            | Plan::Foreign(_)
            | Plan::Read { .. }
            | Plan::Inward => Ok(()),
        }
    }

    pub(super) fn progress(&mut self, id: &ToolCallId, progress: &Progress) -> io::Result<()> {
        let Some(shown) = self.calls.get_mut(id) else {
            return Ok(());
        };
        let news = shown.live.take(progress);
        match news.left_out {
            0 => {}
            1 => self.say(DIM, "… 1 line left out")?,
            lines => self.say(DIM, &format!("… {lines} lines left out"))?,
        }
        if news.lines.is_empty() {
            return Ok(());
        }
        self.dim(Open::Output, news.lines)
    }

    /// The question is put by whoever takes the answer; it only needs a line of its own.
    pub(super) fn asked(&mut self, call: &ToolCallId) -> io::Result<()> {
        if let Some(shown) = self.calls.get_mut(call) {
            shown.asked = true;
        }
        self.close()
    }

    pub(super) fn finished(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> io::Result<()> {
        let mut shown = self.calls.remove(id);
        if let Some(live) = shown
            .as_mut()
            .map(|shown| &mut shown.live)
            .filter(|live| !live.is_empty())
        {
            let rest = live.rest();
            if !rest.is_empty() {
                self.dim(Open::Output, &rest)?;
            }
        }
        if self.open != Open::Call(id.clone()) {
            self.close()?;
            let title = shown.as_ref().map_or("a call", |shown| &shown.title);
            write!(self.side, "• {title}")?;
        }
        self.open = Open::Nothing;
        let (style, state) = match outcome.status {
            ToolStatus::Completed => (GOOD, "done"),
            ToolStatus::Failed => (BAD, "failed"),
            ToolStatus::Denied => (WARN, "refused"),
            ToolStatus::Cancelled => (WARN, "cancelled"),
        };
        writeln!(self.side, " … {style}{state}{style:#}")?;
        let (is_command, unseen, asked) = shown.map_or((false, true, false), |shown| {
            (shown.kind == ToolKind::Execute, shown.live.is_empty(), shown.asked)
        });
        let is_news = match outcome.status {
            ToolStatus::Completed => is_command && unseen,
            ToolStatus::Failed => unseen,
            ToolStatus::Denied => !asked,
            ToolStatus::Cancelled => false,
        };
        if is_news { self.output(&outcome.output) } else { Ok(()) }
    }

    /// The end of a call's output.
    fn output(&mut self, output: &ToolOutput) -> io::Result<()> {
        let text = plain(match &output.display {
            Display::Instead(text) | Display::Terminal(text) => text,
            Display::Ran(ran) => &ran.shown,
            Display::Prose | Display::Verbatim | Display::Json | Display::AsPlanned => &output.text,
        });
        let lines: Vec<&str> = text.lines().collect();
        let left_out = lines.len().saturating_sub(SHOWN_LINES);
        if left_out > 0 {
            writeln!(self.side, "{DIM}  … {left_out} lines before{DIM:#}")?;
        }
        for line in &lines[left_out..] {
            writeln!(self.side, "{DIM}  {}{DIM:#}", cut(line))?;
        }
        Ok(())
    }
}
