//! A transcript as Markdown. Its headings are ours alone: what was said can make none as high as those that say who
//! speaks.

use std::io::{self, Write};

use super::tamed::tamed;
use super::{Call, Part, Tone, Transcript, mark};

/// Writes it.
pub(crate) fn write(out: &mut dyn Write, transcript: &Transcript) -> io::Result<()> {
    writeln!(out, "# {}\n", escaped(&transcript.title))?;
    for (name, value) in &transcript.facts {
        writeln!(out, "- {name}: {}", escaped(value))?;
    }
    for turn in &transcript.turns {
        match turn.number {
            Some(number) => writeln!(out, "\n## {number} · {}", turn.at)?,
            None => writeln!(out, "\n## {}", turn.at)?,
        }
        for part in &turn.parts {
            writeln!(out)?;
            write_part(out, part)?;
        }
    }
    Ok(())
}

fn write_part(out: &mut dyn Write, part: &Part) -> io::Result<()> {
    match part {
        Part::User(text) => quoted(out, "User", text),
        // It is Markdown itself.
        Part::Agent(text) => write!(out, "### Agent\n\n{}", tamed(text)),
        Part::Thought(text) => quoted(out, "Thought", text),
        Part::Call(call) => write_call(out, call),
        Part::Plan(entries) => {
            writeln!(out, "### Plan\n")?;
            entries
                .iter()
                .try_for_each(|(status, text)| writeln!(out, "- {} {}", mark(*status), escaped(text)))
        }
        Part::Note(tone, text) => {
            let name = match tone {
                Tone::Quiet => "Note",
                Tone::Warning => "Warning",
                Tone::Error => "Error",
            };
            writeln!(out, "### {name}: {}", escaped(text))
        }
    }
}

fn quoted(out: &mut dyn Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(out, "### {name}\n")?;
    tamed(text).lines().try_for_each(|line| writeln!(out, "> {line}"))
}

fn write_call(out: &mut dyn Write, call: &Call) -> io::Result<()> {
    let took = call.took.as_ref().map(|took| format!(", {took}")).unwrap_or_default();
    writeln!(out, "### **{}** ({}{took})", escaped(&call.title), call.state())?;
    for approval in &call.approvals {
        writeln!(out, "\n*{}*", escaped(approval))?;
    }
    for diff in &call.diffs {
        fenced(out, "diff", diff)?;
    }
    if !call.output.is_empty() {
        fenced(out, "", &call.output)?;
    }
    match &call.cut {
        Some(cut) => writeln!(out, "\n*{cut}*"),
        None => Ok(()),
    }
}

/// The fence is longer than any run of its sign inside.
fn fenced(out: &mut dyn Write, name: &str, text: &str) -> io::Result<()> {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "\n{fence}{name}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A line in which no sign means anything.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for letter in line.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}
