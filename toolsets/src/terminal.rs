//! The tool that runs a command in a shell: what it would do, doing it, and telling how it ended. Processes themselves
//! are [`crate::process`]'s, what a command means [`crate::command`]'s.
#![allow(
    clippy::result_large_err,
    reason = "a tool's error carries its output by contract, once a call"
)]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::{Config, TerminalBackend};
use agent_core::event::{Display, Event, Ran, ToolKind, ToolOutput};
use agent_core::plan::{CommandPlan, Place, Plan};
use agent_core::provider::ToolSpec;
use agent_core::tool::{Action, Limit, Planned, Report, Run, Tool, ToolError};
use agent_core::visible;
use agent_core::workspace::Scope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::{Judge, real};
use crate::input;
use crate::process::{End, Exit, Foreground, Processes, Running};
use crate::sandbox::{Fault, Way};

pub(crate) use walled::made;

mod in_editor;
#[cfg(test)]
mod tests;
mod walled;

/// The longest title of a call, in characters.
const TITLE: usize = 190;
/// What a command gets to end by itself when its time is up.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// The same at a cancel: the user waits.
const CANCEL_GRACE: Duration = Duration::from_millis(50);
/// The longest time a call may ask for.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What starting and ending may take beside that.
pub(crate) const MARGIN: Duration = Duration::from_secs(30);

/// Bytes that people are shown of an output's beginning, and as many of its end; in one message of theirs.
const SHOWN: usize = 15 * 1024;

/// Linux takes no argument of 128 KiB or more.
const LONGEST_COMMAND: usize = 100 * 1024;

const DESCRIPTION: &str = "Runs a command in bash and returns its output (stdout and stderr as they came) and \
its exit code. Each call is a shell of its own in the workspace folder: `cd` and variables don't carry over, so use \
`workdir` or `cd dir && …`. Standard input is empty. Start a server with \
`background` and look after it with `process`.";

/// The `terminal` tool of one session.
pub(crate) struct Terminal {
    spec: ToolSpec,
    /// The same for where a command may ask to run outside the sandbox.
    spec_with_way_out: ToolSpec,
    cwd: PathBuf,
    judge: Arc<Judge>,
    limit: Duration,
    processes: Arc<Processes>,
    /// Who asks the editor for a terminal, where commands are to run in those.
    editor: Option<Asker>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    command: String,
    #[serde(default)]
    workdir: Option<PathBuf>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    outside_sandbox: bool,
}

impl Terminal {
    /// The tool for commands that start in the scope's folder.
    pub(crate) fn new(
        scope: &Scope,
        config: &Config,
        judge: Arc<Judge>,
        processes: Arc<Processes>,
        asker: &Asker,
    ) -> Self {
        let limit = Duration::from_secs(config.terminal.timeout_s).min(LONGEST);
        Self {
            spec: spec(limit, false),
            spec_with_way_out: spec(limit, true),
            cwd: scope.cwd.clone(),
            judge,
            limit,
            processes,
            editor: (config.terminal.backend == TerminalBackend::Client).then(|| asker.clone()),
        }
    }

    fn place(&self, workdir: Option<&Path>) -> Result<Place, ToolError> {
        let path = workdir.map_or_else(|| self.cwd.clone(), |workdir| self.cwd.join(workdir));
        if !path.is_dir() {
            let path = path.display();
            return Err(ToolError::new(format!(
                "workdir `{path}` is not a folder: give one that exists, or leave it out"
            )));
        }
        let real = real(&path);
        Ok(Place { path, real })
    }

    /// The editor's terminal, if commands are to run there and it has some.
    fn has_editor(&self) -> bool {
        self.editor
            .as_ref()
            .is_some_and(|editor| editor.abilities().has_terminals)
    }

    fn way(&self, args: &Args) -> Way {
        if !args.background && self.has_editor() {
            Way::InEditor
        } else if args.outside_sandbox {
            Way::Left
        } else {
            Way::Inside
        }
    }

    fn command_plan(&self, args: &Args) -> Result<CommandPlan, ToolError> {
        if args.command.trim().is_empty() || args.command.contains('\0') {
            return Err(ToolError::new(
                "the command is empty or holds a NUL character: give the text of a shell command",
            ));
        }
        if args.command.len() > LONGEST_COMMAND {
            let length = args.command.len();
            return Err(ToolError::new(format!(
                "the command has {length} bytes, more than {LONGEST_COMMAND}: write it to a file and run that"
            )));
        }
        let cwd = self.place(args.workdir.as_deref())?;
        let mut facts = self
            .judge
            .classify(&args.command, &cwd.real, self.processes.search_path());
        if args.background && facts.read_only {
            facts.read_only = false;
            facts.doubt = Some("it goes on behind the turn and takes input".to_owned());
        }
        let sandbox = self.processes.sandbox().around(self.way(args));
        let sandbox = sandbox.map_err(|why| ToolError::new(format!("the command was not run: {why}")))?;
        Ok(CommandPlan {
            command: args.command.clone(),
            cwd,
            background: args.background,
            sandbox,
            facts,
        })
    }
}

impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        match self.processes.sandbox().may_be_left() {
            true => &self.spec_with_way_out,
            false => &self.spec,
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Execute
    }

    fn title(&self, input: &Value) -> String {
        let command = input.get("command").and_then(Value::as_str).unwrap_or("");
        format!("$ {}", visible::title(command.trim(), TITLE))
    }

    fn only_reads(&self, input: &Value) -> bool {
        // Asked on the turn's thread, which must hear a cancel: it doesn't wait for the login shell.
        if !self.processes.knows_search_path() {
            return false;
        }
        let plan = input::parse::<Args>("terminal", input).and_then(|args| self.command_plan(&args));
        plan.is_ok_and(|plan| plan.facts.read_only && plan.facts.forbidden.is_none())
    }

    fn prints_in(&self, input: &Value) -> Option<String> {
        let args: Args = input::parse("terminal", input).ok()?;
        let cwd = args
            .workdir
            .map_or_else(|| self.cwd.clone(), |workdir| self.cwd.join(workdir));
        (!args.background && !self.has_editor()).then(|| cwd.display().to_string())
    }

    fn limit(&self, input: &Value) -> Limit {
        let args = input::parse::<Args>("terminal", input).ok();
        let asked = args.and_then(|args| seconds(args.timeout?).ok());
        Limit::Own(asked.unwrap_or(self.limit) + MARGIN)
    }

    fn get_ready(&self, cancel: &Cancel, tell: &mut dyn FnMut(Event)) {
        self.processes
            .wait_for_programs(cancel, "The first command waits for it.", tell);
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let args: Args = input::parse("terminal", input)?;
        let limit = args.timeout.map_or(Ok(self.limit), seconds)?;
        let plan = self.command_plan(&args)?;
        Ok(Planned {
            action: action(Arc::clone(&self.processes), self.editor.clone(), plan.clone(), limit),
            plan: Plan::Command(plan),
            locations: Vec::new(),
        })
    }
}

fn spec(limit: Duration, has_way_out: bool) -> ToolSpec {
    let mut spec = ToolSpec {
        name: "terminal".into(),
        description: DESCRIPTION.into(),
        schema: json!({
            "type": "object",
            "properties": {
                "command": { "type": "string" },
                "workdir": { "type": "string", "description": "Default: the workspace folder." },
                "timeout": { "type": "number", "description": format!("Seconds until it is ended; {} if left out.", limit.as_secs()) },
                "background": { "type": "boolean", "description": "Return at once." }
            },
            "required": ["command"]
        }),
    };
    if has_way_out {
        spec.schema["properties"]["outside_sandbox"] =
            json!({ "type": "boolean", "description": "Asks the user first." });
    }
    spec
}

/// A number of seconds from a model as a time that can be waited for.
pub(crate) fn seconds(number: f64) -> Result<Duration, ToolError> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|limit| !limit.is_zero() && *limit <= LONGEST)
        .ok_or_else(|| {
            ToolError::new(format!(
                "timeout is {number}: give seconds, more than 0 and at most {}",
                LONGEST.as_secs()
            ))
        })
}

fn action(processes: Arc<Processes>, editor: Option<Asker>, plan: CommandPlan, limit: Duration) -> Action {
    Box::new(move |run| {
        if real(&plan.cwd.path) != plan.cwd.real {
            let path = plan.cwd.path.display();
            return Err(ToolError::new(format!(
                "`{path}` is another folder now than when the command was shown: plan it again"
            )));
        }
        let editor = editor.filter(|editor| editor.abilities().has_terminals);
        match editor {
            _ if plan.background => start_background(&processes, &plan),
            Some(editor) => in_editor::run(&processes, &editor, &plan, limit, run),
            None => foreground(&processes, &plan, limit, run),
        }
    })
}

fn start_background(processes: &Processes, plan: &CommandPlan) -> Result<ToolOutput, ToolError> {
    let background = processes
        .start_background(&plan.command, &plan.cwd.real, &plan.sandbox)
        .map_err(|error| not_started(plan, &error))?;
    let id = &background.id;
    Ok(ToolOutput {
        raw: Some(json!({ "process": id })),
        display: Display::Instead(format!("started in the background as {id}")),
        ..ToolOutput::text(format!(
            "started in the background as {id}: look at it with process(action=\"poll\", id=\"{id}\")"
        ))
    })
}

fn foreground(
    processes: &Processes,
    plan: &CommandPlan,
    limit: Duration,
    run: &Run<'_>,
) -> Result<ToolOutput, ToolError> {
    let command = processes
        .start(&plan.command, &plan.cwd.real, &plan.sandbox)
        .map_err(|error| not_started(plan, &error))?;
    let running = &command.running;
    let end = running.follow(limit, run.cancel, || {
        (run.report)(Report::Progress(running.output().progress()));
    });
    match end {
        End::Exited(exit) => exited(processes, plan, &command, exit),
        End::TimedOut => {
            running.end(GRACE);
            let status = format!("timed out after {} s", limit.as_secs_f64());
            Err(failed(plan, &status, output(running, &status, Ended::TimedOut)))
        }
        End::Cancelled => {
            running.end(CANCEL_GRACE);
            Err(failed(plan, "cancelled", output(running, "cancelled", Ended::Badly)))
        }
    }
}

fn not_started(plan: &CommandPlan, error: &io::Error) -> ToolError {
    let cwd = plan.cwd.path.display();
    if let Some(fault) = error.get_ref().and_then(|error| error.downcast_ref::<Fault>()) {
        return ToolError::new(format!("the command was not run: {fault}"));
    }
    let advice = if error.kind() == io::ErrorKind::QuotaExceeded {
        "too many commands run in the background: kill one with the process tool first".to_owned()
    } else {
        error.to_string()
    };
    ToolError::new(format!("the shell could not be started in `{cwd}`: {advice}"))
}

fn exited(
    processes: &Processes,
    plan: &CommandPlan,
    command: &Foreground,
    exit: Exit,
) -> Result<ToolOutput, ToolError> {
    let running = &command.running;
    let left = processes.keep_left(running);
    let made = processes.made_by(command);
    let printed = running.output().since(0).text();
    if let Some(error) = walled::not_put_up(&plan.sandbox, exit, &printed) {
        return Err(error);
    }
    let mut status = status_line(exit);
    if left {
        status.push_str("\nprocesses that it started still run; they end with the session");
    }
    if let Some(hint) = walled::hint(plan, exit, &printed, processes.sandbox().may_be_left()) {
        status.push_str(&format!("\n{hint}"));
    }
    if let Some(made) = walled::made(&made) {
        status.push_str(&format!("\n{made}"));
        return match exit.code {
            Some(0) => Ok(output(running, &status, Ended::Noticed)),
            Some(_) | None => Err(failed(plan, &status, output(running, &status, Ended::Badly))),
        };
    }
    if exit.code == Some(0) {
        Ok(output(running, &status, Ended::Well))
    } else {
        Err(failed(plan, &status, output(running, &status, Ended::Badly)))
    }
}

/// How a command ended, as one line.
pub(crate) fn status_line(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code: {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended, but the system did not tell how".to_owned(),
    }
}

/// What a command's end means for its output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    Well,
    /// Well, and with something that the user should see.
    Noticed,
    Badly,
    TimedOut,
}

fn failed(plan: &CommandPlan, status: &str, output: ToolOutput) -> ToolError {
    let command = visible::title(plan.command.trim(), TITLE);
    ToolError {
        message: format!("`{command}`: {}", status.lines().next().unwrap_or(status)),
        output: Some(output),
    }
}

fn output(running: &Running, status: &str, ended: Ended) -> ToolOutput {
    let exit = running.exit();
    let raw = json!({
        "exitCode": exit.and_then(|exit| exit.code),
        "signal": exit.and_then(|exit| exit.signal),
        "timedOut": ended == Ended::TimedOut,
    });
    let excerpt = running.output().since(0);
    let printed = excerpt.text();
    let note = how_it_ended(&printed, status, ended);
    let shown = excerpt.narrowed(SHOWN).text();
    ToolOutput {
        display: Display::Ran(Box::new(Ran {
            shown: if note.is_empty() { shown } else { below(&shown, note) },
            printed: running.output().printed(),
            note: note.to_owned(),
            code: exit.and_then(|exit| exit.code),
            signal: exit.and_then(|exit| exit.signal),
        })),
        text: below(&printed, status),
        images: Vec::new(),
        raw: Some(raw),
    }
}

/// What is shown of how a command ended. A card without any content looks broken, and one that failed without a reason is
/// a riddle.
fn how_it_ended<'s>(printed: &str, status: &'s str, ended: Ended) -> &'s str {
    match ended {
        Ended::Well if !printed.trim().is_empty() => "",
        Ended::Well | Ended::Noticed | Ended::Badly | Ended::TimedOut => status,
    }
}

/// A text with a line below it.
fn below(text: &str, line: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{gap}{line}")
}
