//! From the core's events to the protocol's messages: total, one function for what happens now and one for what a load
//! replays. [`Terminals`] stands before both: all the state there is, how much of each command's output was sent.

mod compaction;
mod content;
mod json;
mod plan;
pub use terminal::Terminals;
pub(crate) use text::{PIECE, cut_to};

mod terminal;
mod text;
mod tool;
pub mod view;

use agent_client_protocol_schema::v1::{
    ContentChunk, Error, MessageId as WireMessageId, Notice, NoticeSeverity, PromptResponse, RequestPermissionRequest,
    SessionInfoUpdate, SessionUpdate, StopReason as WireStopReason, Usage as WireUsage,
};
use agent_core::approval::Decision;
use agent_core::content::Content;
use agent_core::event::{Compaction, ContextUse, Envelope, Event, Failure, SessionChange, Severity, StopReason};
use agent_core::id::{ApprovalId, MessageId, ToolCallId};
use agent_core::provider::Usage;

use super::fault;
use super::handshake::Client;

/// What an event does to the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The client is told.
    Update(SessionUpdate),
    /// The client is told as soon as no message of the model is open.
    Note(SessionUpdate),
    /// The client is asked.
    Ask {
        /// The core's question.
        approval: ApprovalId,
        /// The question as the client gets it.
        request: RequestPermissionRequest,
    },
    /// A question needs no answer any more.
    Decided(ApprovalId),
    /// The turn's prompt is answered.
    EndTurn(Result<PromptResponse, Error>),
}

/// Translates what happens now.
pub fn live(envelope: Envelope, client: &Client) -> Vec<Effect> {
    match envelope.event {
        // The client shows what its user says by itself.
        Event::UserMessage { .. }
        | Event::UserSteered { .. }
        | Event::FilesKept { .. }
        | Event::HistoryMoved { .. } => Vec::new(),
        Event::AgentText { id, text } => said(&id, &text, SessionUpdate::AgentMessageChunk),
        Event::AgentThought { id, text } => said(&id, &text, SessionUpdate::AgentThoughtChunk),
        Event::ToolStarted { call } => update(tool::started(&call)),
        Event::ToolPlanned {
            id,
            plan,
            locations,
            runs,
        } => update(tool::planned(&id, &plan, &locations, runs)),
        Event::ToolProgress { id, progress } => update(tool::progress(&id, &progress)),
        Event::ToolFinished { id, outcome } => update(tool::finished(&id, &outcome)),
        Event::ApprovalRequested { approval } => vec![Effect::Ask {
            request: tool::question(&envelope.session, &approval),
            approval: approval.id,
        }],
        Event::ApprovalDecided { id, call, decision, .. } => decided(id, &call, decision),
        Event::PlanUpdated { entries } => update(plan::shown(&entries, client)),
        Event::StepFinished { context, .. } => used(context),
        Event::Compacted { what, context, .. } => {
            let mut effects = compacted(envelope.seq, &what, client);
            effects.extend(used(context));
            effects
        }
        Event::Notice {
            severity,
            title,
            detail,
        } => notice(severity, &title, detail.as_deref(), client),
        Event::SessionChanged { change } => changed(change),
        Event::TurnFinished { stop, usage } => vec![Effect::EndTurn(Ok(ended(stop, usage)))],
        Event::TurnFailed { failure } => vec![Effect::EndTurn(Err(fault::of_failure(&failure)))],
    }
}

/// Translates what happened before. Only what a person would see on the screen; the answer to the load says how the
/// session is now.
pub fn replay(envelope: Envelope, client: &Client) -> Vec<Effect> {
    match envelope.event {
        Event::UserMessage { id, content, .. } | Event::UserSteered { id, content, .. } => {
            content.iter().flat_map(|piece| asked(&id, piece)).collect()
        }
        Event::AgentText { id, text } => said(&id, &text, SessionUpdate::AgentMessageChunk),
        Event::AgentThought { id, text } => said(&id, &text, SessionUpdate::AgentThoughtChunk),
        Event::ToolStarted { call } => update(tool::started(&call)),
        // What ran has an end, which follows; what has not run never did.
        Event::ToolPlanned {
            id,
            plan,
            locations,
            runs,
        } => update(tool::planned(&id, &plan, &locations, runs)),
        Event::ToolFinished { id, outcome } => update(tool::finished_before(&id, outcome)),
        Event::PlanUpdated { entries } => update(plan::shown(&entries, client)),
        Event::Compacted { what, .. } => compacted(envelope.seq, &what, client),
        Event::TurnFailed { failure } => failed_before(envelope.seq, &failure),
        Event::SessionChanged {
            change: SessionChange::Title(title),
        } => update(titled(title)),
        Event::SessionChanged {
            change:
                SessionChange::Mode(_)
                | SessionChange::Model(_)
                | SessionChange::Thought(_)
                | SessionChange::Cwd(_)
                | SessionChange::Told(_)
                | SessionChange::Spent(_)
                | SessionChange::Context(_)
                | SessionChange::Prompted(_),
        }
        | Event::ToolProgress { .. }
        | Event::FilesKept { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalDecided { .. }
        | Event::StepFinished { .. }
        | Event::Notice { .. }
        | Event::HistoryMoved { .. }
        | Event::TurnFinished { .. } => Vec::new(),
    }
}

fn update(update: SessionUpdate) -> Vec<Effect> {
    vec![Effect::Update(update)]
}

fn used(context: ContextUse) -> Vec<Effect> {
    view::usage(context).into_iter().map(Effect::Update).collect()
}

/// Other clients learn of it by the notice that follows.
fn compacted(seq: u64, what: &Compaction, client: &Client) -> Vec<Effect> {
    if client.compaction {
        compaction::shown(seq, what).into_iter().map(Effect::Update).collect()
    } else {
        Vec::new()
    }
}

fn decided(approval: ApprovalId, call: &ToolCallId, decision: Decision) -> Vec<Effect> {
    let over = Effect::Decided(approval);
    match decision {
        Decision::Allowed | Decision::AllowedAlways => vec![over, Effect::Update(tool::running(call))],
        Decision::Rejected | Decision::Unanswered | Decision::Cancelled => vec![over],
    }
}

fn said(id: &MessageId, text: &str, kind: fn(ContentChunk) -> SessionUpdate) -> Vec<Effect> {
    text::pieces(text)
        .map(|piece| Effect::Update(kind(chunk(id.as_str(), piece.into()))))
        .collect()
}

fn asked(id: &MessageId, piece: &Content) -> Vec<Effect> {
    match piece {
        Content::Text { text } => said(id, text, SessionUpdate::UserMessageChunk),
        Content::Image { .. } | Content::Resource { .. } | Content::Link { .. } => {
            let chunk = chunk(id.as_str(), content::block(piece));
            update(SessionUpdate::UserMessageChunk(chunk))
        }
    }
}

fn chunk(id: &str, content: agent_client_protocol_schema::v1::ContentBlock) -> ContentChunk {
    ContentChunk::new(content).message_id(WireMessageId::new(id))
}

fn failed_before(seq: u64, failure: &Failure) -> Vec<Effect> {
    let text = format!("This turn failed: {}", failure.message);
    let chunk = chunk(&format!("failure-{seq}"), text::cut(&text).into());
    update(SessionUpdate::AgentMessageChunk(chunk))
}

fn notice(severity: Severity, title: &str, detail: Option<&str>, client: &Client) -> Vec<Effect> {
    if client.notices {
        let severity = match severity {
            Severity::Info => NoticeSeverity::Info,
            Severity::Warning => NoticeSeverity::Warning,
            Severity::Error => NoticeSeverity::Error,
        };
        // The protocol wants a title that is not empty.
        let title = if title.is_empty() { "Notice" } else { title };
        let notice = Notice::new(severity, text::cut(title)).description(detail.map(text::cut));
        return vec![Effect::Update(SessionUpdate::Notice(notice))];
    }
    match severity {
        Severity::Info => {
            tracing::info!(title, detail, "a notice that this client has no place for");
            Vec::new()
        }
        Severity::Warning | Severity::Error => vec![Effect::Note(note(title, detail))],
    }
}

/// A notice as a message of its own, one line.
fn note(title: &str, detail: Option<&str>) -> SessionUpdate {
    let text = match detail {
        Some(detail) => format!("Note: {title}: {detail}"),
        None => format!("Note: {title}"),
    };
    let chunk = chunk(MessageId::new().as_str(), text::one_line(&text).into());
    SessionUpdate::AgentMessageChunk(chunk)
}

fn changed(change: SessionChange) -> Vec<Effect> {
    match change {
        SessionChange::Title(title) => update(titled(title)),
        // Options are shown by what the core says of the whole session; the folder has no update.
        SessionChange::Mode(_)
        | SessionChange::Model(_)
        | SessionChange::Thought(_)
        | SessionChange::Cwd(_)
        | SessionChange::Told(_)
        | SessionChange::Spent(_)
        | SessionChange::Context(_)
        | SessionChange::Prompted(_) => Vec::new(),
    }
}

fn titled(title: String) -> SessionUpdate {
    SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))
}

/// The answer to a prompt, with what its turn took where the service has said both.
fn ended(stop: StopReason, usage: Usage) -> PromptResponse {
    let tokens = usage.input.zip(usage.output).map(|(input, output)| {
        WireUsage::new(input.saturating_add(output), input, output)
            .thought_tokens(usage.reasoning)
            .cached_read_tokens(usage.cached_read)
            .cached_write_tokens(usage.cached_write)
    });
    PromptResponse::new(stop_reason(stop)).usage(tokens)
}

fn stop_reason(stop: StopReason) -> WireStopReason {
    match stop {
        // The protocol has no word for a command that was not done; the answer says it.
        StopReason::EndTurn | StopReason::NotDone => WireStopReason::EndTurn,
        StopReason::MaxTokens => WireStopReason::MaxTokens,
        StopReason::MaxSteps | StopReason::Budget => WireStopReason::MaxTurnRequests,
        StopReason::Refusal => WireStopReason::Refusal,
        StopReason::Cancelled => WireStopReason::Cancelled,
    }
}
