//! What leaves the core: events and answers, in one order, on one channel bounded in bytes.
//!
//! The channel itself never blocks a sender. Whoever streams waits in [`Outlet::wait_for_room`] *before* it takes any
//! lock, and a cancel ends that wait; so a surface that does not read slows its turn down and can still cancel it.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use crate::approval::Mode;
use crate::cancel::Cancel;
use crate::content::Content;
use crate::event::{CallInput, ContextUse, Envelope, Event, SessionChange, ToolOutput};
use crate::id::SessionId;
use crate::plan::Plan;
use crate::provider::ModelRef;
use crate::slash::CommandInfo;

/// One thing that leaves the core.
#[derive(Clone, Debug, PartialEq)]
pub enum Outward {
    /// Something happens now.
    Live(Envelope),
    /// Something that happened before; part of the answer to a load, and comes before it.
    Replay(Envelope),
    /// An option of an open session has another value, whoever set it.
    OptionChanged {
        /// The option and its value.
        change: SessionChange,
        /// The session as it is now.
        view: SessionView,
    },
    /// A call has its result.
    Answer {
        /// The call.
        call: CallId,
        /// Its result.
        result: Result<Answer, CallError>,
    },
}

/// A call into the core whose result comes as an [`Outward::Answer`]. Unique within a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A session was created.
    Created(SessionView),
    /// A session was opened; its replay, if one was asked for, has been sent.
    Opened(SessionView),
    /// A page of the stored sessions.
    Listed(SessionPage),
    /// The session was closed; its turn, if one ran, has ended before.
    Closed,
    /// An option was set; the session as it is now.
    OptionSet(SessionView),
}

/// What a surface shows of an open session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionView {
    /// The session.
    pub id: SessionId,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its mode.
    pub mode: Mode,
    /// Its model; always one of `models`.
    pub model: ModelRef,
    /// The models it can be given now.
    pub models: Vec<ModelRef>,
    /// The slash commands it takes.
    pub commands: Vec<CommandInfo>,
    /// How full the model's context is, once that is known.
    pub context: Option<ContextUse>,
}

/// A page of stored sessions, newest activity first.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; none on the last one.
    pub next: Option<String>,
}

/// A stored session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// Its folder.
    pub cwd: PathBuf,
    /// Its further folders.
    pub extra_roots: Vec<PathBuf>,
    /// Its title.
    pub title: Option<String>,
    /// Where it was begun: `acp` or `run`.
    pub source: String,
    /// Its model.
    pub model: ModelRef,
    /// When it was begun, in Unix ms.
    pub created_ms: i64,
    /// Its last activity, in Unix ms.
    pub updated_ms: i64,
    /// Messages of user and model.
    pub messages: u64,
}

/// Why a call has no result. Each message is a sentence for a person.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// No session of this id is open, or none is stored.
    #[error("there is no session {0}")]
    UnknownSession(SessionId),
    /// A folder is relative, missing, or no folder.
    #[error("{message}")]
    BadFolder {
        /// Which argument it was: `cwd` or `additionalDirectories`.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// An option's id or value is not one of those offered.
    #[error("{message}")]
    BadOption {
        /// Which argument it was: `mode`, `model`.
        field: &'static str,
        /// What is wrong with it, and what could be chosen.
        message: String,
    },
    /// The cursor is not one of ours.
    #[error("this cursor does not belong to this list; begin again without one")]
    BadCursor,
    /// The model's key is missing.
    #[error("{message}")]
    NoCredentials {
        /// The provider's name in the configuration.
        provider: String,
        /// What is missing and how to give it.
        message: String,
    },
    /// The configuration can't be used.
    #[error("{0}")]
    Config(String),
    /// The store can't answer.
    #[error("{0}")]
    Store(String),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

/// The bytes that may wait for a surface before whoever streams has to wait.
pub const ROOM: usize = 1024 * 1024;

/// The core's end of the channel. Clones share it.
#[derive(Clone)]
pub struct Outlet {
    parcels: Sender<Parcel>,
    gauge: Arc<Gauge>,
}

/// One thing on its way; its room is free again when it is dropped.
pub struct Parcel {
    outward: Option<Outward>,
    size: usize,
    gauge: Arc<Gauge>,
}

#[derive(Default)]
struct Gauge {
    state: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: usize,
    /// Of them: bytes of parcels that are held back behind a replay.
    held: usize,
    /// Threads in [`Gauge::wait`], so that a parcel's end needs to wake nobody in the common case.
    waiters: usize,
}

/// Makes the channel. Ends when either side is dropped: what is still on its way then frees its room.
pub fn outlet() -> (Outlet, Receiver<Parcel>) {
    let (parcels, inlet) = unbounded();
    let gauge = Arc::default();
    (Outlet { parcels, gauge }, inlet)
}

impl Outlet {
    /// Puts something on its way. Never blocks; at a surface that is gone it is dropped.
    pub fn send(&self, outward: Outward) {
        self.deliver(self.pack(outward));
    }

    /// Takes the room for something that will be delivered later.
    pub(crate) fn pack(&self, outward: Outward) -> Parcel {
        let size = weight(&outward);
        self.gauge.state.lock().bytes += size;
        Parcel {
            outward: Some(outward),
            size,
            gauge: self.gauge.clone(),
        }
    }

    /// Puts something packed on its way.
    pub(crate) fn deliver(&self, parcel: Parcel) {
        // An error means that the surface is gone; the parcel comes back in it and frees its room.
        let _ = self.parcels.send(parcel);
    }

    /// Waits until less than [`ROOM`] bytes wait, or until a cancel.
    pub fn wait_for_room(&self, cancel: &Cancel) {
        self.wait(|waiting| waiting.bytes < ROOM, cancel);
    }

    /// The same for a replay: what is held back behind it can't leave before it, and so does not count.
    pub(crate) fn wait_for_replay(&self) {
        self.wait(|waiting| waiting.bytes < ROOM + waiting.held, &Cancel::new());
    }

    /// Counts a parcel as held back.
    pub(crate) fn hold(&self, parcel: &Parcel) {
        self.gauge.state.lock().held += parcel.size;
        self.gauge.room.notify_all();
    }

    /// Puts a parcel on its way that was held back.
    pub(crate) fn release(&self, parcel: Parcel) {
        self.gauge.state.lock().held -= parcel.size;
        self.deliver(parcel);
    }

    fn wait(&self, has_room: impl Fn(&Waiting) -> bool, cancel: &Cancel) {
        let is_full = !has_room(&self.gauge.state.lock());
        if is_full {
            let gauge = self.gauge.clone();
            let _wake_up = cancel.on_cancel(move || gauge.wake());
            self.gauge.wait(has_room, cancel);
        }
    }
}

impl Gauge {
    fn wait(&self, has_room: impl Fn(&Waiting) -> bool, cancel: &Cancel) {
        let mut state = self.state.lock();
        state.waiters += 1;
        while !has_room(&state) && !cancel.is_set() {
            self.room.wait(&mut state);
        }
        state.waiters -= 1;
    }

    /// Takes the lock first, so that a waiter has either seen the cancel or hears this.
    fn wake(&self) {
        let _state = self.state.lock();
        self.room.notify_all();
    }
}

impl Parcel {
    /// Takes the content out; its room stays taken until the parcel is dropped.
    pub fn take(&mut self) -> Option<Outward> {
        self.outward.take()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let mut state = self.gauge.state.lock();
        state.bytes -= self.size;
        if state.waiters > 0 {
            self.gauge.room.notify_all();
        }
    }
}

/// Roughly the bytes that something takes: exact for what can be large, a flat sum for the rest.
fn weight(outward: &Outward) -> usize {
    const FLAT: usize = 256;
    match outward {
        Outward::Live(envelope) | Outward::Replay(envelope) => FLAT + event_weight(&envelope.event),
        Outward::OptionChanged { .. } | Outward::Answer { .. } => FLAT,
    }
}

fn event_weight(event: &Event) -> usize {
    match event {
        Event::AgentText { text, .. } | Event::AgentThought { text, .. } => text.len(),
        Event::UserMessage { content, context, .. } => content.iter().chain(context).map(content_weight).sum(),
        Event::ToolStarted { call } => match &call.input {
            CallInput::Json(input) => value_weight(input),
            CallInput::Malformed(text) => text.len(),
        },
        Event::ToolPlanned { plan, .. } => plan_weight(plan),
        Event::ToolProgress { progress, .. } => progress.tail.len(),
        Event::ToolFinished { outcome, .. } => output_weight(&outcome.output),
        Event::ApprovalRequested { approval } => approval.shown.as_ref().map_or(0, |shown| plan_weight(&shown.plan)),
        Event::StepFinished { native, .. } => native.as_ref().map_or(0, |native| native.item.len()),
        Event::PlanUpdated { entries } => entries.iter().map(|entry| entry.content.len()).sum(),
        Event::ApprovalDecided { .. }
        | Event::Notice { .. }
        | Event::HistoryMoved { .. }
        | Event::SessionChanged { .. }
        | Event::TurnFinished { .. }
        | Event::TurnFailed { .. } => 0,
    }
}

fn content_weight(content: &Content) -> usize {
    match content {
        Content::Text { text } | Content::Resource { text, .. } => text.len(),
        Content::Image { data, .. } => data.bytes().len(),
        Content::Link { uri, .. } => uri.len(),
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
        Plan::Inward | Plan::Read { .. } => 0,
    }
}

fn output_weight(output: &ToolOutput) -> usize {
    output.text.len() + output.images.iter().map(content_weight).sum::<usize>()
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + value_weight(value)).sum(),
    }
}
