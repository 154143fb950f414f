//! What a command prints, for clients that show it as a terminal does: the terminal is named with its call, each update
//! brings what is new, and the last one how the command ended. The protocol has no words for it; these are those that
//! editors and other agents use in `_meta`.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    Meta, SessionUpdate, Terminal, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use agent_core::approval::Decision;
use agent_core::event::{Display, Envelope, Event, Progress, Ran, ToolCall, ToolOutcome};
use agent_core::id::ToolCallId;
use serde_json::{Value, json};

use super::{Effect, tool};
use crate::agent::handshake::Client;

/// The terminals that are open, by their calls: how much of the output of each was sent. An entry is there from a call's
/// beginning to its end.
#[derive(Debug, Default)]
pub struct Terminals(HashMap<ToolCallId, u64>);

impl Terminals {
    /// Translates what happens now.
    pub fn live(&mut self, envelope: Envelope, client: &Client) -> Vec<Effect> {
        if let Event::ApprovalDecided { id, call, decision, .. } = &envelope.event
            && matches!(decision, Decision::Allowed | Decision::AllowedAlways)
            && self.0.contains_key(call)
        {
            return vec![Effect::Decided(id.clone()), Effect::Update(runs(call))];
        }
        match self.shown(&envelope.event, client) {
            Some(update) => vec![Effect::Update(update)],
            None => super::live(envelope, client),
        }
    }

    /// Translates what happened before.
    pub fn replay(&mut self, envelope: Envelope, client: &Client) -> Vec<Effect> {
        match self.shown(&envelope.event, client) {
            Some(update) => vec![Effect::Update(update)],
            None => super::replay(envelope, client),
        }
    }

    /// Takes over what a load has shown anew: a call that still runs has as much of its output as the load sent.
    pub fn take_over(&mut self, loaded: Self) {
        self.0.extend(loaded.0);
    }

    /// Whether no terminal is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What opens a terminal, and what concerns one that is open.
    fn shown(&mut self, event: &Event, client: &Client) -> Option<SessionUpdate> {
        if !client.terminals {
            return None;
        }
        match event {
            Event::ToolStarted { call } => self.opened(call),
            Event::ToolPlanned { id, runs: true, .. } => self.0.contains_key(id).then(|| runs(id)),
            Event::ToolProgress { id, progress } => self.printed(id, progress),
            Event::ToolFinished { id, outcome } => self.ended(id, outcome),
            Event::UserMessage { .. }
            | Event::UserSteered { .. }
            | Event::AgentText { .. }
            | Event::AgentThought { .. }
            | Event::ToolPlanned { runs: false, .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::StepFinished { .. }
            | Event::Notice { .. }
            | Event::Compacted { .. }
            | Event::HistoryMoved { .. }
            | Event::FilesKept { .. }
            | Event::SessionChanged { .. }
            | Event::TurnFinished { .. }
            | Event::TurnFailed { .. } => None,
        }
    }

    fn opened(&mut self, call: &ToolCall) -> Option<SessionUpdate> {
        let cwd = call.prints_in.as_ref()?;
        let SessionUpdate::ToolCall(wire) = tool::started(call) else {
            return None;
        };
        self.0.insert(call.id.clone(), 0);
        let info = json!({ "terminal_id": call.id.as_str(), "cwd": cwd });
        let wire = wire.content(vec![embedded(&call.id)]).meta(meta("terminal_info", info));
        Some(SessionUpdate::ToolCall(wire))
    }

    fn printed(&mut self, id: &ToolCallId, progress: &Progress) -> Option<SessionUpdate> {
        let sent = self.0.get_mut(id)?;
        let data = progress.printed.since(*sent);
        *sent = progress.printed.total().max(*sent);
        let mut update = ToolCallUpdate::new(id.as_str().to_owned(), in_progress());
        if !data.is_empty() {
            update = update.meta(meta("terminal_output", output(id, &data)));
        }
        Some(SessionUpdate::ToolCallUpdate(update))
    }

    fn ended(&mut self, id: &ToolCallId, outcome: &ToolOutcome) -> Option<SessionUpdate> {
        let sent = self.0.remove(id)?;
        let SessionUpdate::ToolCallUpdate(mut update) = tool::finished(id, outcome) else {
            return None;
        };
        let ran = match &outcome.output.display {
            Display::Ran(ran) => Some(ran),
            Display::Prose
            | Display::Verbatim
            | Display::Json
            | Display::Instead(_)
            | Display::Terminal(_)
            | Display::AsPlanned => None,
        };
        let data = match ran {
            Some(ran) => last_words(ran, sent),
            // It was left behind, or ended by a fault: what it printed stays, and why it ended is below.
            None if sent > 0 => format!("\u{1b}[0m\n{}\n", outcome.output.text),
            // It never ran or printed nothing, and the text that says so takes the terminal's place.
            None => String::new(),
        };
        if ran.is_some() || sent > 0 {
            update.fields.content = Some(vec![embedded(id)]);
        }
        let (code, signal) = ran.map_or((None, None), |ran| (ran.code, ran.signal.map(signal_name)));
        let exit = json!({ "terminal_id": id.as_str(), "exit_code": code, "signal": signal });
        let mut meta = meta("terminal_exit", exit);
        if !data.is_empty() {
            meta.insert("terminal_output".into(), output(id, &data));
        }
        Some(SessionUpdate::ToolCallUpdate(update.meta(meta)))
    }
}

/// The call begins to run, and its terminal takes the place of what it will do.
fn runs(id: &ToolCallId) -> SessionUpdate {
    let fields = in_progress().content(vec![embedded(id)]);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.as_str().to_owned(), fields))
}

fn in_progress() -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::InProgress)
}

fn embedded(id: &ToolCallId) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(id.as_str().to_owned()))
}

fn meta(key: &str, value: Value) -> Meta {
    Meta::from_iter([(key.to_owned(), value)])
}

fn output(id: &ToolCallId, data: &str) -> Value {
    json!({ "terminal_id": id.as_str(), "data": data })
}

/// What was not sent yet, and how the command ended below it.
fn last_words(ran: &Ran, sent: u64) -> String {
    let rest = ran.printed.since(sent);
    if ran.note.is_empty() {
        return rest;
    }
    let [head, tail] = [&ran.printed.head, &ran.printed.tail];
    let end = if tail.is_empty() { head } else { tail };
    let gap = if end.is_empty() || end.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let plain = if head.contains('\u{1b}') || tail.contains('\u{1b}') {
        "\u{1b}[0m"
    } else {
        ""
    };
    format!("{rest}{plain}{gap}{}\n", ran.note)
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
