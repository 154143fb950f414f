//! An event as a line, with short names for ids.

use std::collections::HashMap;

use agent_core::event::{Display, Event, SessionChange, ToolOutcome};
use agent_core::plan::Plan;

/// Short names for ids, in the order in which they come up.
#[derive(Default)]
pub(super) struct Names(HashMap<String, String>, HashMap<char, usize>);

impl Names {
    pub(super) fn name(&mut self, kind: char, id: &str) -> String {
        let Self(names, counts) = self;
        let next = || {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("{kind}{count}")
        };
        names.entry(id.to_owned()).or_insert_with(next).clone()
    }

    pub(super) fn line(&mut self, event: &Event) -> String {
        match event {
            Event::UserMessage {
                content,
                context,
                command,
                ..
            } => {
                let command = if *command { " (command)" } else { "" };
                let context = if context.is_empty() {
                    String::new()
                } else {
                    format!(" + {} for the model", context.len())
                };
                format!("user: {}{context}{command}", agent_core::content::plain_text(content))
            }
            Event::UserSteered { content, .. } => format!("steer: {}", agent_core::content::plain_text(content)),
            Event::AgentText { id, text } => format!("text {}: {}", self.name('m', id.as_str()), quoted(text)),
            Event::AgentThought { id, text } => format!("thought {}: {}", self.name('m', id.as_str()), quoted(text)),
            Event::ToolStarted { call } => {
                format!(
                    "call {}: {} {:?}",
                    self.name('c', call.id.as_str()),
                    call.name,
                    call.title
                )
            }
            Event::ToolPlanned { id, plan, .. } => format!("plan {}: {}", self.name('c', id.as_str()), plan_line(plan)),
            Event::ToolProgress { id, progress } => {
                format!("progress {}: {}", self.name('c', id.as_str()), quoted(&progress.tail))
            }
            Event::ToolFinished { id, outcome } => {
                format!("end {}: {}", self.name('c', id.as_str()), outcome_line(outcome))
            }
            Event::ApprovalRequested { approval } => {
                let options: Vec<&str> = approval.options.iter().map(|option| option.kind.id()).collect();
                let call = self.name('c', approval.call.as_str());
                format!(
                    "ask {} about {call}: {}",
                    self.name('q', approval.id.as_str()),
                    options.join(" ")
                )
            }
            Event::ApprovalDecided { id, decision, by, .. } => {
                format!("decided {}: {decision:?} by {by:?}", self.name('q', id.as_str()))
            }
            Event::FilesKept { files, .. } => format!("kept {}", files.len()),
            Event::PlanUpdated { entries } => {
                let entries: Vec<&str> = entries.iter().map(|entry| entry.content.as_str()).collect();
                format!("todo: {}", entries.join("; "))
            }
            Event::StepFinished { step, finish, .. } => format!("step {step}: {finish:?}"),
            Event::Notice { severity, title, .. } => format!("notice {severity:?}: {title}"),
            Event::Compacted { before, what, .. } => format!("compacted before {before}: {what:?}"),
            Event::HistoryMoved { why, .. } => format!("history moved: {why:?}"),
            Event::SessionChanged { change } => match change {
                SessionChange::Title(title) => format!("title: {title}"),
                SessionChange::Mode(mode) => format!("mode: {mode}"),
                SessionChange::Thought(level) => format!("thought level: {level:?}"),
                SessionChange::Model(model) => format!("model: {model}"),
                SessionChange::Cwd(_) => "cwd".to_owned(),
                SessionChange::Told(_) => "told".to_owned(),
                SessionChange::Spent(_) => "spent".to_owned(),
                SessionChange::Context(_) => "context".to_owned(),
                SessionChange::Prompted(_) => "prompted anew".to_owned(),
            },
            Event::TurnFinished { stop, .. } => format!("turn: {stop:?}"),
            Event::TurnFailed { failure } => format!("turn failed: {:?}: {}", failure.class, failure.message),
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn plan_line(plan: &Plan) -> String {
    match plan {
        Plan::Inward => "inward".to_owned(),
        Plan::Read { places } => format!("read {}", places.len()),
        Plan::Change { changes } => {
            let change = |change: &agent_core::change::FileChange| {
                let show = |text: &Option<String>| {
                    text.as_deref()
                        .map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"))
                };
                format!("{} -> {}", show(&change.old), show(&change.new))
            };
            let changes: Vec<String> = changes.iter().map(change).collect();
            format!("change {}", changes.join(", "))
        }
        Plan::Command(plan) => format!("command {}", plan.command),
        Plan::Input { text, .. } => format!("input {text}"),
        Plan::Fetch { url, .. } => format!("fetch {url}"),
        Plan::Foreign(tool) => format!("foreign {} of {}", tool.tool, tool.server),
    }
}

fn outcome_line(outcome: &ToolOutcome) -> String {
    let shown = match &outcome.output.display {
        Display::Instead(shown) | Display::Terminal(shown) => shown,
        Display::Ran(ran) => &ran.shown,
        Display::Prose | Display::Verbatim | Display::Json | Display::AsPlanned => &outcome.output.text,
    };
    let shown: String = quoted(shown).chars().take(120).collect();
    format!("{:?} {shown}", outcome.status).trim_end().to_owned()
}
