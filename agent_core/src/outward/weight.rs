//! What a thing that leaves the core costs of the channel's room.

use serde_json::Value;

use super::Outward;
use crate::content::Content;
use crate::event::{CallInput, Compaction, Display, Event, Printed, ToolOutput};
use crate::plan::Plan;
use crate::surface::Request;

/// Roughly the bytes that something takes: exact for what can be large, a flat sum for the rest.
pub(super) fn weight(outward: &Outward) -> usize {
    const FLAT: usize = 256;
    match outward {
        Outward::Live(envelope) | Outward::Replay { envelope, .. } => FLAT + event_weight(&envelope.event),
        Outward::Ask(ask) => FLAT + request_weight(&ask.request),
        Outward::OptionChanged { .. }
        | Outward::ContextChanged { .. }
        | Outward::TakeBack(_)
        | Outward::Answer { .. } => FLAT,
    }
}

fn request_weight(request: &Request) -> usize {
    match request {
        Request::WriteFile { content, .. } => content.len(),
        Request::CreateTerminal(terminal) => terminal.args.iter().map(String::len).sum(),
        Request::Form(form) => form.question.len() + form.choices.iter().map(String::len).sum::<usize>(),
        Request::ReadFile { .. }
        | Request::TerminalOutput(_)
        | Request::WaitForExit(_)
        | Request::KillTerminal(_)
        | Request::ReleaseTerminal(_) => 0,
    }
}

fn event_weight(event: &Event) -> usize {
    match event {
        Event::AgentText { text, .. } | Event::AgentThought { text, .. } => text.len(),
        Event::UserMessage { content, context, .. } | Event::UserSteered { content, context, .. } => {
            content.iter().chain(context).map(Content::size).sum()
        }
        Event::ToolStarted { call } => match &call.input {
            CallInput::Json(input) => value_weight(input),
            CallInput::Malformed(text) => text.len(),
        },
        Event::ToolPlanned { plan, .. } => plan_weight(plan),
        Event::ToolProgress { progress, .. } => progress.tail.len() + printed_weight(&progress.printed),
        Event::ToolFinished { outcome, .. } => output_weight(&outcome.output),
        Event::ApprovalRequested { approval } => approval.shown.as_ref().map_or(0, |shown| plan_weight(&shown.plan)),
        Event::StepFinished { native, .. } => native.as_ref().map_or(0, |native| native.item.len()),
        Event::Compacted { what, .. } => match what {
            Compaction::Summary { text } => text.len(),
            Compaction::Outputs | Compaction::Pictures => 0,
        },
        Event::PlanUpdated { entries } => entries.iter().map(|entry| entry.content.len()).sum(),
        Event::FilesKept { .. }
        | Event::ApprovalDecided { .. }
        | Event::Notice { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => 0,
    }
}

fn plan_weight(plan: &Plan) -> usize {
    match plan {
        Plan::Change { changes } => changes
            .iter()
            .map(|change| change.old.as_ref().map_or(0, String::len) + change.new.as_ref().map_or(0, String::len))
            .sum(),
        Plan::Command(plan) => plan.command.len(),
        Plan::Input { text, .. } => text.len(),
        Plan::Fetch { url, .. } => url.len(),
        Plan::Inward | Plan::Read { .. } | Plan::Foreign(_) => 0,
    }
}

fn output_weight(output: &ToolOutput) -> usize {
    let ran = match &output.display {
        Display::Ran(ran) => ran.shown.len() + printed_weight(&ran.printed),
        Display::Instead(text) | Display::Terminal(text) => text.len(),
        Display::Prose | Display::Verbatim | Display::Json | Display::AsPlanned => 0,
    };
    output.text.len() + ran + output.images.iter().map(Content::size).sum::<usize>()
}

fn printed_weight(printed: &Printed) -> usize {
    printed.head.len() + printed.tail.len()
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + value_weight(value)).sum(),
    }
}
