//! What the model asked for, made known: each call with a title and an end that it can't miss.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::guard::CallGuard;
use crate::event::{CallInput, Event, ToolCall, ToolKind};
use crate::id::ToolCallId;
use crate::provider::Call;
use crate::tool::Tool;
use crate::turn::Turn;
use crate::visible;

/// The most characters of a name that the model made up, wherever it is told.
const MADE_UP: usize = 190;

/// An announced call that is to be run, or the reason why it can't be.
pub(super) struct Announced {
    pub(super) guard: CallGuard,
    pub(super) call: ToolCall,
    pub(super) work: Result<(Arc<dyn Tool>, Value), String>,
}

impl Announced {
    /// Whether it may run beside others.
    pub(super) fn only_reads(&self) -> bool {
        match &self.work {
            Ok((tool, input)) => tool.only_reads(input),
            Err(_) => true,
        }
    }
}

/// Announces a call; from here on it will have an end.
pub(super) fn announce(turn: &mut Turn<'_>, tools: &[Arc<dyn Tool>], call: Call) -> Announced {
    let tool = tools.iter().find(|tool| tool.spec().name == call.name);
    let title = match (tool, &call.input) {
        (Some(tool), CallInput::Json(input)) => tool.title(input),
        (Some(_), CallInput::Malformed(_)) | (None, _) => visible::title(&call.name, MADE_UP),
    };
    let work = match (tool, &call.input) {
        (None, _) => Err(unknown_tool(tools, &call.name)),
        (Some(_), CallInput::Malformed(text)) => Err(malformed(&call.name, text)),
        (Some(tool), CallInput::Json(input)) => Ok((tool.clone(), input.clone())),
    };
    let prints_in = match &work {
        Ok((tool, input)) => tool.prints_in(input),
        Err(_) => None,
    };
    let call = ToolCall {
        id: ToolCallId::new(),
        given_id: call.id,
        name: call.name,
        title,
        kind: tool.map_or(ToolKind::Other, |tool| tool.kind()),
        input: call.input,
        prints_in,
    };
    turn.emit(Event::ToolStarted { call: call.clone() });
    let guard = CallGuard::new(turn, call.id.clone());
    Announced { guard, call, work }
}

fn unknown_tool(tools: &[Arc<dyn Tool>], name: &str) -> String {
    let name = visible::title(name, MADE_UP);
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    format!(
        "There is no tool `{name}` in this session. The tools are: {}.",
        names.join(", ")
    )
}

fn malformed(name: &str, text: &str) -> String {
    // Nothing of it is kept, so that a long one takes no more than it is.
    let error = serde_json::from_str::<IgnoredAny>(text).err();
    let why = error.map_or_else(String::new, |error| format!(" ({error})"));
    format!("The arguments of `{name}` are not valid JSON{why}, so it was not run. Call it again with valid arguments.")
}
