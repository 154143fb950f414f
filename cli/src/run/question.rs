//! A question in words: what would be done, and what can be answered; or why nobody could be asked.

use std::io::{self, Write};

use agent_core::approval::{Approval, ApprovalOption, OptionKind};
use agent_core::event::PlannedCall;
use agent_core::plan::Plan;
use agent_core::visible;
use agent_core::wall::Sandbox;
use anstyle::{AnsiColor, Style};

use super::diff;

const QUESTION: Style = AnsiColor::Yellow.on_default().bold();

/// Writes a question up to where the answer is typed.
pub(super) fn write(out: &mut dyn Write, approval: &Approval, diffs_shown: bool) -> io::Result<()> {
    let title = approval
        .shown
        .as_ref()
        .map(|shown| visible::line(&shown.call.title))
        .unwrap_or_default();
    write!(out, "{QUESTION}? {title}{QUESTION:#}")?;
    if !approval.reason.is_empty() {
        write!(out, " ({})", visible::line(&approval.reason))?;
    }
    writeln!(out)?;
    if let Some(shown) = &approval.shown {
        write_whole(out, shown, &title, diffs_shown)?;
    }
    match always(approval) {
        Some(always) => write!(out, "  y: once, a: {}, N: no [y/N/a] ", visible::line(&always.name)),
        None => write!(out, "  y: once, N: no [y/N] "),
    }
}

/// Asks once more, after an answer that makes no sense.
pub(super) fn write_again(out: &mut dyn Write, approval: &Approval, answer: &str) -> io::Result<()> {
    let answer = visible::line(answer.trim());
    match always(approval) {
        Some(_) => write!(out, "  `{answer}` is none of y, a and n [y/N/a] "),
        None => write!(out, "  `{answer}` is neither y nor n [y/N] "),
    }
}

fn always(approval: &Approval) -> Option<&ApprovalOption> {
    let mut options = approval.options.iter();
    options.find(|option| option.kind == OptionKind::AllowAlways)
}

/// What the title may have cut: nobody should allow what they can't see.
fn write_whole(out: &mut dyn Write, shown: &PlannedCall, title: &str, diffs_shown: bool) -> io::Result<()> {
    match &shown.plan {
        Plan::Command(plan) => {
            write_text(out, &plan.command, title)?;
            writeln!(out, "  {}", visible::line(&plan.place_and_manner()))?;
            writeln!(out, "  {}", visible::line(&plan.sandbox.sentence()))
        }
        Plan::Input { text, .. } => write_text(out, text, title),
        Plan::Fetch { url, .. } => write_text(out, url, title),
        Plan::Foreign(_) => write_text(out, &shown.call.input.readable(), title),
        Plan::Change { changes } => {
            if !diffs_shown {
                diff::write(out, changes)?;
            }
            let excerpts = changes.iter().filter(|change| change.excerpt);
            excerpts.into_iter().try_for_each(|change| {
                let path = change.place.path.to_string_lossy();
                let path = visible::line(&path);
                writeln!(out, "  {path} is large: only its changed parts are shown")
            })
        }
        // Files are in the title.
        Plan::Read { .. } | Plan::Inward => Ok(()),
    }
}

fn write_text(out: &mut dyn Write, text: &str, title: &str) -> io::Result<()> {
    if title.contains(text) {
        return Ok(());
    }
    visible::text(text)
        .lines()
        .try_for_each(|line| writeln!(out, "  | {line}"))
}

/// What becomes of a call that nobody could be asked about, and how to have it done all the same.
pub(super) fn unasked(approval: &Approval, why: &str) -> String {
    let call = approval.shown.as_ref().map(|shown| visible::line(&shown.call.title));
    let call = call.unwrap_or_else(|| "a call".to_owned());
    let plan = approval.shown.as_ref().map(|shown| &shown.plan);
    let way = match plan {
        Some(Plan::Change { .. }) if approval.reason.is_empty() => {
            "--mode accept_edits edits in the workspace without asking".to_owned()
        }
        Some(Plan::Command(plan))
            if plan.facts.doubt.as_deref().unwrap_or_default() == approval.reason || plan.sandbox == Sandbox::Left =>
        {
            "--mode dont_ask runs every command without asking".to_owned()
        }
        Some(Plan::Fetch { .. }) => "--mode dont_ask fetches without asking".to_owned(),
        Some(Plan::Input { .. }) => "--mode dont_ask writes to it without asking".to_owned(),
        Some(Plan::Foreign(_)) => "--mode dont_ask calls MCP tools without asking".to_owned(),
        // No mode lets these pass.
        Some(Plan::Change { .. } | Plan::Command(_) | Plan::Read { .. } | Plan::Inward) | None => format!(
            "{}, which is asked in every mode: run this at a terminal",
            visible::line(&approval.reason)
        ),
    };
    format!("{call}: not done, as nobody can be asked ({why}); {way}")
}
