//! A command in a terminal of the editor: the editor runs and shows it, and what it printed and how it ended is told to
//! the model as of any other command.

use std::time::Duration;

use agent_core::asker::{AskError, Asker, Terminal};
use agent_core::cancel::Cancel;
use agent_core::event::{Display, Progress, ToolOutput};
use agent_core::plan::CommandPlan;
use agent_core::surface::{TerminalExit, TerminalOutput};
use agent_core::tool::{Report, Run, ToolError};
use agent_core::visible;
use serde_json::json;

use super::{Ended, below, failed, how_it_ended};
use crate::process::{Processes, readable};

/// Bytes of output that are asked for; a command of our own keeps as much.
pub(crate) const KEPT: u64 = 128 * 1024;
/// What the output of a command that has ended may take to come.
const OUTPUT_LIMIT: Duration = Duration::from_secs(2);
/// The same at a cancel: the user waits.
const CANCEL_LIMIT: Duration = Duration::from_millis(50);

/// Runs a command in the editor's terminal. The terminal goes back when the call has ended.
pub(super) fn run(
    processes: &Processes,
    asker: &Asker,
    plan: &CommandPlan,
    limit: Duration,
    run: &Run<'_>,
) -> Result<ToolOutput, ToolError> {
    let _run = processes.begin_run();
    let new = processes.for_editor(&plan.command, &plan.cwd.real, KEPT);
    let terminal = asker
        .open_terminal(new, run.cancel)
        .map_err(|error| not_opened(&error))?;
    (run.report)(Report::Terminal(terminal.clone()));
    let end = terminal.wait(limit, run.cancel);
    let (status, ended) = match &end {
        Ok(exit) => status_line(exit),
        Err(AskError::TimedOut) => (format!("timed out after {} s", limit.as_secs_f64()), Ended::TimedOut),
        Err(AskError::Cancelled) => ("cancelled".to_owned(), Ended::Badly),
        Err(error) => (
            format!("ended by the agent, since how it goes is not known: {error}"),
            Ended::Badly,
        ),
    };
    let printed = printed(&terminal, &end, run.cancel);
    if end.is_err() {
        // The terminal shows only that it was killed, and what comes with the result is not shown beside it.
        (run.report)(Report::Progress(Progress {
            terminal: Some(terminal.id().clone()),
            note: Some(status.clone()),
            ..Progress::default()
        }));
    }
    let shown = match how_it_ended(&printed, &status, ended) {
        "" => printed.clone(),
        note => below(&printed, note),
    };
    let exit = end.as_ref().ok();
    let output = ToolOutput {
        text: below(&printed, &status),
        display: Display::Terminal(shown),
        images: Vec::new(),
        raw: Some(json!({
            "exitCode": exit.and_then(|exit| exit.code),
            "signal": exit.and_then(|exit| exit.signal.as_deref()),
            "timedOut": ended == Ended::TimedOut,
        })),
    };
    match ended {
        Ended::Well | Ended::Noticed => Ok(output),
        Ended::Badly | Ended::TimedOut => Err(failed(plan, &status, output)),
    }
}

fn not_opened(error: &AskError) -> ToolError {
    let why = match error {
        AskError::TimedOut | AskError::Senseless => {
            format!("{error}; whether the command ran is unknown: look before you run it again")
        }
        AskError::Unable | AskError::Refused(_) | AskError::Cancelled | AskError::Gone => error.to_string(),
    };
    ToolError::new(format!("the editor opened no terminal: {why}"))
}

/// How a command ended, as one line, and what that means.
fn status_line(exit: &TerminalExit) -> (String, Ended) {
    match (exit.code, &exit.signal) {
        (_, Some(signal)) => (format!("killed by signal {}", visible::title(signal, 40)), Ended::Badly),
        (Some(0), None) => ("exit code: 0".to_owned(), Ended::Well),
        (Some(code), None) => (format!("exit code: {code}"), Ended::Badly),
        (None, None) => ("ended, but the editor did not tell how".to_owned(), Ended::Badly),
    }
}

/// What a command printed. One that has not ended is ended; at its time's end first, so that its last words are heard.
fn printed(terminal: &Terminal, end: &Result<TerminalExit, AskError>, cancel: &Cancel) -> String {
    let output = match end {
        Ok(_) => terminal.output(OUTPUT_LIMIT, cancel),
        Err(AskError::Cancelled) => {
            let output = terminal.output(CANCEL_LIMIT, &Cancel::new());
            terminal.kill();
            output
        }
        Err(_) => {
            terminal.kill();
            terminal.output(OUTPUT_LIMIT, cancel)
        }
    };
    match output {
        Ok(TerminalOutput { text, cut, .. }) => readable_end(&text, cut),
        Err(error) => format!("[what it printed is in the editor's terminal only: {error}]\n"),
    }
}

/// The end of an output that is kept, and the word that it is only the end.
fn readable_end(text: &str, cut: bool) -> String {
    let kept = usize::try_from(KEPT).unwrap_or(usize::MAX);
    let from = text.ceil_char_boundary(text.len().saturating_sub(kept));
    let readable = readable(&text.as_bytes()[from..]);
    match cut || from > 0 {
        true => format!("… the beginning is left out …\n{readable}"),
        false => readable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exit_code_of_zero_without_a_signal_is_well() {
        let check = |code, signal: Option<&str>, line: &str, ended| {
            let signal = signal.map(str::to_owned);
            assert_eq!(status_line(&TerminalExit { code, signal }), (line.to_owned(), ended));
        };
        check(Some(0), None, "exit code: 0", Ended::Well);
        check(Some(3), None, "exit code: 3", Ended::Badly);
        check(None, Some("SIGKILL"), "killed by signal SIGKILL", Ended::Badly);
        check(Some(0), Some("SIGTERM"), "killed by signal SIGTERM", Ended::Badly);
        check(None, None, "ended, but the editor did not tell how", Ended::Badly);
    }

    #[test]
    fn an_editor_that_sends_too_much_is_cut_to_the_end() {
        let long = format!("first{}last", "é".repeat(100_000));
        let shown = readable_end(&long, false);
        assert!(shown.starts_with("… the beginning is left out …\né") && shown.ends_with("last"));
        assert!(shown.len() <= 128 * 1024 + 64);
        assert_eq!(readable_end("\u{1b}[31mred\u{1b}[0m\r\n", false), "red\n");
    }
}
