//! A transcript for a terminal.

use std::io::{self, Write};

use agent_core::event::ToolStatus;
use anstyle::{AnsiColor, Style};

use super::wrap::wrapped;
use super::{Call, Part, Tone, Transcript, Turn, mark};
use crate::run::diff;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const USER: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

/// Lines of an output that are shown; the page has more.
const SHOWN_LINES: usize = 20;

/// Writes it, in lines of this width where words allow it.
pub(crate) fn write(out: &mut dyn Write, transcript: &Transcript, width: usize) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", transcript.title)?;
    for (name, value) in &transcript.facts {
        writeln!(out, "{DIM}{name:<12}{value}{DIM:#}")?;
    }
    for turn in &transcript.turns {
        write_turn(out, turn, width)?;
    }
    Ok(())
}

fn write_turn(out: &mut dyn Write, turn: &Turn, width: usize) -> io::Result<()> {
    let name = turn
        .number
        .map_or_else(|| "─".to_owned(), |number| format!("─ {number}"));
    let rule = "─".repeat(width.saturating_sub(name.chars().count() + turn.at.len() + 3));
    writeln!(out, "\n{DIM}{name} ─ {} {rule}{DIM:#}", turn.at)?;
    let mut is_below_a_call = false;
    for part in &turn.parts {
        let is_call = matches!(part, Part::Call(_));
        // Calls stand together, and all else apart.
        if !(is_call && is_below_a_call || matches!(part, Part::Note(..))) {
            writeln!(out)?;
        }
        write_part(out, part, width)?;
        is_below_a_call = is_call;
    }
    Ok(())
}

fn write_part(out: &mut dyn Write, part: &Part, width: usize) -> io::Result<()> {
    match part {
        Part::User(text) => write_lines(out, USER, &wrapped(text, width, "> ")),
        Part::Agent(text) => write_lines(out, Style::new(), &wrapped(text, width, "")),
        Part::Thought(text) => write_lines(out, DIM, &wrapped(text, width, "  ")),
        Part::Call(call) => write_call(out, call),
        Part::Plan(entries) => entries
            .iter()
            .try_for_each(|(status, text)| writeln!(out, "  {} {text}", mark(*status))),
        Part::Note(tone, text) => {
            let style = match tone {
                Tone::Quiet => DIM,
                Tone::Warning => WARN,
                Tone::Error => BAD,
            };
            write_lines(out, style, &wrapped(text, width, ""))
        }
    }
}

fn write_lines(out: &mut dyn Write, style: Style, lines: &[String]) -> io::Result<()> {
    lines
        .iter()
        .try_for_each(|line| writeln!(out, "{style}{line}{style:#}"))
}

fn write_call(out: &mut dyn Write, call: &Call) -> io::Result<()> {
    let style = match call.status {
        Some(ToolStatus::Completed) => GOOD,
        Some(ToolStatus::Failed) => BAD,
        Some(ToolStatus::Denied | ToolStatus::Cancelled) | None => WARN,
    };
    let took = call.took.as_ref().map(|took| format!(" ({took})")).unwrap_or_default();
    writeln!(
        out,
        "• {} … {style}{}{style:#}{DIM}{took}{DIM:#}",
        call.title,
        call.state()
    )?;
    for approval in &call.approvals {
        writeln!(out, "{DIM}  {approval}{DIM:#}")?;
    }
    for text in &call.diffs {
        diff::write_unified(out, text)?;
    }
    let lines: Vec<&str> = call.output.lines().collect();
    let kept = lines.len().min(SHOWN_LINES);
    for line in &lines[..kept] {
        writeln!(out, "{DIM}  {line}{DIM:#}")?;
    }
    match (&call.cut, lines.len() - kept) {
        (Some(cut), _) => writeln!(out, "{DIM}  … {cut}{DIM:#}"),
        (None, 0) => Ok(()),
        (None, more) => writeln!(
            out,
            "{DIM}  … {more} more lines, {} bytes in all{DIM:#}",
            call.output.len()
        ),
    }
}
