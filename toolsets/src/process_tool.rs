//! The tool that looks after commands in the background: what they printed, how they are, input for them, their end.
#![allow(
    clippy::result_large_err,
    reason = "a tool's error carries its output by contract, once a call"
)]

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::event::{Display, ToolKind, ToolOutput};
use agent_core::plan::Plan;
use agent_core::provider::ToolSpec;
use agent_core::tool::{Action, Limit, Planned, Report, Tool, ToolError};
use agent_core::visible;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::Judge;
use crate::process::{Background, End, Processes, State};
use crate::terminal::{GRACE, MARGIN, made, seconds, status_line};
use crate::{input, title};

#[cfg(test)]
mod tests;

const DESCRIPTION: &str = "Looks after commands that `terminal` started in the background. list: all; poll: what \
one printed since the last poll, and whether it runs; wait: the same, at its end or after `timeout` seconds; write: text \
for its standard input (a line break presses Enter); kill: ends it.";

/// `wait` without a timeout.
const WAIT: Duration = Duration::from_secs(30);

/// The `process` tool of one session.
pub(crate) struct Process {
    spec: ToolSpec,
    processes: Arc<Processes>,
    judge: Arc<Judge>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    action: Verb,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verb {
    List,
    Poll,
    Wait,
    Write,
    Kill,
}

impl Process {
    /// The tool for the background commands of `processes`, whose input is judged as a command is.
    pub(crate) fn new(processes: Arc<Processes>, judge: Arc<Judge>) -> Self {
        Self {
            spec: spec(),
            processes,
            judge,
        }
    }

    fn background(&self, id: Option<&str>) -> Result<Arc<Background>, ToolError> {
        let known = self.processes.background();
        let id = id.ok_or_else(|| ToolError::new("`id` is missing: give the name of a process, such as p1"))?;
        known
            .iter()
            .find(|background| background.id == id)
            .cloned()
            .ok_or_else(|| {
                let ids: Vec<&str> = known.iter().map(|background| background.id.as_str()).collect();
                let there = if ids.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("there are {}", ids.join(", "))
                };
                ToolError::new(format!("no process `{id}` in this session: {there}"))
            })
    }

    fn list(&self) -> Action {
        let processes = Arc::clone(&self.processes);
        Box::new(move |_| {
            let lines: Vec<String> = processes
                .background()
                .iter()
                .map(|background| line(background))
                .collect();
            let text = if lines.is_empty() {
                "no commands in the background".to_owned()
            } else {
                lines.join("\n")
            };
            Ok(ToolOutput {
                display: Display::Verbatim,
                ..ToolOutput::text(text)
            })
        })
    }
}

impl Tool for Process {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Execute
    }

    fn title(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or("");
        title::line(format!("Process {} {}", field("action"), field("id")).trim())
    }

    fn only_reads(&self, input: &Value) -> bool {
        input::parse::<Args>("process", input).is_ok_and(|args| match args.action {
            Verb::List | Verb::Poll | Verb::Wait => true,
            Verb::Write | Verb::Kill => false,
        })
    }

    fn may_repeat(&self, input: &Value) -> bool {
        self.only_reads(input)
    }

    fn limit(&self, input: &Value) -> Limit {
        match input::parse::<Args>("process", input) {
            Ok(args) if matches!(args.action, Verb::Wait) => {
                let asked = args.timeout.and_then(|timeout| seconds(timeout).ok());
                Limit::Own(asked.unwrap_or(WAIT) + MARGIN)
            }
            Ok(_) | Err(_) => Limit::Usual,
        }
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let args: Args = input::parse("process", input)?;
        let background = || self.background(args.id.as_deref());
        match args.action {
            Verb::List => Ok(inward(self.list())),
            Verb::Poll => Ok(inward(poll(self.processes.clone(), background()?))),
            Verb::Wait => Ok(inward(wait(
                self.processes.clone(),
                background()?,
                args.timeout.map_or(Ok(WAIT), seconds)?,
            ))),
            Verb::Kill => Ok(inward(kill(self.processes.clone(), background()?))),
            Verb::Write => {
                let text = args.text.filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| ToolError::new("`text` is missing: give what to write"))?;
                let background = background()?;
                let forbidden = self.judge.forbidden(&text, &background.cwd);
                write(background, text, forbidden)
            }
        }
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "process".into(),
        description: DESCRIPTION.into(),
        schema: json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["list", "poll", "wait", "write", "kill"] },
                "id": { "type": "string", "description": "Such as p1." },
                "text": { "type": "string", "description": "For write." },
                "timeout": { "type": "number", "description": "For wait: seconds, 30 if left out." }
            },
            "required": ["action"]
        }),
    }
}

fn inward(action: Action) -> Planned {
    Planned {
        plan: Plan::Inward,
        locations: Vec::new(),
        action,
    }
}

fn poll(processes: Arc<Processes>, background: Arc<Background>) -> Action {
    Box::new(move |_| Ok(told(&processes, &background)))
}

fn wait(processes: Arc<Processes>, background: Arc<Background>, limit: Duration) -> Action {
    Box::new(move |run| {
        let end = background.follow(limit, run.cancel, || {
            (run.report)(Report::Progress(background.progress()));
        });
        match end {
            End::Exited(_) | End::TimedOut => Ok(told(&processes, &background)),
            End::Cancelled => Err(ToolError::new(format!("cancelled; {} goes on", background.id))),
        }
    })
}

fn kill(processes: Arc<Processes>, background: Arc<Background>) -> Action {
    Box::new(move |_| {
        background.end(GRACE);
        Ok(told(&processes, &background))
    })
}

fn write(background: Arc<Background>, text: String, forbidden: Option<String>) -> Result<Planned, ToolError> {
    if let State::Ended(exit) = background.state() {
        return Err(ToolError::new(format!(
            "{} has ended ({}): nothing can be written to it",
            background.id,
            status_line(exit)
        )));
    }
    Ok(Planned {
        plan: Plan::Input {
            process: background.id.clone(),
            command: background.command.clone(),
            text: text.clone(),
            forbidden,
        },
        locations: Vec::new(),
        action: Box::new(move |run| match background.write(&text, run.cancel) {
            Ok(()) => Ok(ToolOutput {
                display: Display::Instead(format!("written to {}", background.id)),
                ..ToolOutput::text(format!("written to {}; poll it for what it says", background.id))
            }),
            Err(error) => Err(not_written(&background, &error)),
        }),
    })
}

fn not_written(background: &Background, error: &io::Error) -> ToolError {
    let why = if error.kind() == io::ErrorKind::BrokenPipe {
        "it reads its input no more".to_owned()
    } else if error.kind() == io::ErrorKind::TimedOut {
        "it does not read; a part may have been taken".to_owned()
    } else {
        error.to_string()
    };
    ToolError::new(format!(
        "the text was not written to {}: {why}; poll it to see how it is",
        background.id
    ))
}

/// What is new of a background command, and how it is.
fn told(processes: &Processes, background: &Background) -> ToolOutput {
    // The state comes first: what it printed before its end is then surely in the excerpt.
    let state = background.state();
    let printed = background.news().text();
    let gap = if printed.is_empty() || printed.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let (status, raw) = match state {
        State::Running => (format!("{} runs", background.id), json!({ "running": true })),
        State::Ended(exit) => (
            format!("{} has ended; {}", background.id, status_line(exit)),
            json!({ "running": false, "exitCode": exit.code, "signal": exit.signal }),
        ),
    };
    let made = match state {
        State::Running => None,
        State::Ended(_) => made(&processes.made_in_background(background)),
    };
    let made = made.map(|made| format!("\n{made}")).unwrap_or_default();
    ToolOutput {
        display: Display::Verbatim,
        raw: Some(raw),
        ..ToolOutput::text(format!("{printed}{gap}{status}{made}"))
    }
}

fn line(background: &Background) -> String {
    let state = match background.state() {
        State::Running => "runs".to_owned(),
        State::Ended(exit) => status_line(exit),
    };
    format!(
        "{}  {state}  $ {}",
        background.id,
        visible::title(background.command.trim(), 120)
    )
}
