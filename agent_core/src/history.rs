//! The model's view of a session: a fold of its events into a provider's messages.
//!
//! Odd endings are repaired here and never in place: every call gets a result, every turn that ended badly gets one
//! closing message, and no message is empty. So a session can't be bricked by its own past.

mod compaction;

use std::collections::HashMap;

use crate::content::{Content, plain_text};
use crate::event::{CallInput, Envelope, ErrorClass, Event, Failure, StopReason, ToolCall, ToolOutcome, ToolStatus};
use crate::id::{SessionId, ToolCallId, TurnId};
use crate::provider::{Call, Message, Native};
use crate::replay::INTERRUPTED_CALL;
use crate::store::{Store, StoreError};

/// Rows read at a time.
const PAGE: usize = 512;

/// The fold so far.
#[derive(Default)]
pub(crate) struct History {
    messages: Vec<Message>,
    /// The row that each message began with; a reply and the results of its calls share one.
    rows: Vec<u64>,
    /// So many of the messages are in the count of tokens that the service gave last.
    measured: usize,
    draft: Draft,
    /// The turn that has begun and not ended. What belongs to another one is not for the model: the core answered it
    /// itself, or its prompt is hidden.
    turn: Option<TurnId>,
    /// Where its prompt is among the messages.
    turn_start: usize,
    /// The newest row that is in it.
    seq: u64,
    /// The newest [`Event::HistoryMoved`] that it knows of; 0 for none.
    moved: u64,
}

/// What a user asked and what the model answered.
pub(crate) struct Exchange {
    pub(crate) asked: String,
    pub(crate) answered: String,
}

/// The assistant's message that is being put together, with the results of its calls.
#[derive(Default)]
struct Draft {
    text: String,
    thought: String,
    calls: Vec<ToolCall>,
    results: HashMap<ToolCallId, ToolOutcome>,
    native: Option<Native>,
    /// The row that it began with.
    row: u64,
}

impl History {
    /// Folds what is stored of a session.
    pub(crate) fn read(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        Self::default().read_on(store, session)
    }

    /// Folds what was stored since this fold ended. It begins anew if a part of it was taken out meanwhile.
    pub(crate) fn read_on(self, store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        let hidden = store.hidden(session)?;
        let moved = hidden.last().map_or(0, |range| *range.end());
        let mut history = if moved == self.moved { self } else { Self::default() };
        history.moved = moved;
        loop {
            let rows = store.events(session, history.seq, PAGE)?;
            let full = rows.len() == PAGE;
            for row in rows {
                if hidden.iter().any(|range| range.contains(&row.seq)) {
                    history.seq = row.seq;
                } else {
                    history.follow(&row);
                }
            }
            if !full {
                return Ok(history);
            }
        }
    }

    /// The messages as a request needs them: all calls have their results.
    pub(crate) fn messages(&mut self) -> &[Message] {
        self.settle();
        &self.messages
    }

    /// Takes the next event in.
    pub(crate) fn follow(&mut self, envelope: &Envelope) {
        self.seq = self.seq.max(envelope.seq);
        if let Event::Compacted { before, what, .. } = &envelope.event {
            self.compact(*before, what);
        } else if let Event::UserMessage {
            content,
            context,
            command: false,
            ..
        } = &envelope.event
        {
            self.begin_turn(envelope.turn, content, context);
        } else if self.turn.is_some() && envelope.turn == self.turn {
            self.go_on(envelope.seq, &envelope.event);
        }
    }

    /// Tokens of all that is known, roughly: a quarter of the bytes.
    pub(crate) fn estimate(&self) -> u64 {
        let bytes: usize = self.messages.iter().map(size).sum();
        let calls: usize = self.draft.calls.iter().map(|call| call_size(&to_call(call))).sum();
        (bytes + self.draft.text.len() + calls) as u64 / 4
    }

    /// Tokens of what came after the service counted last, roughly.
    pub(crate) fn uncounted(&mut self) -> u64 {
        self.settle();
        let new = self.messages.iter().skip(self.measured);
        new.map(size).sum::<usize>() as u64 / 4
    }

    /// The last prompt and its answer in words.
    pub(crate) fn exchange(&self) -> Option<Exchange> {
        let at = self
            .messages
            .iter()
            .rposition(|message| matches!(message, Message::User(_)))?;
        let Message::User(asked) = &self.messages[at] else {
            return None;
        };
        let asked = plain_text(asked);
        let answered = self.messages[at..].iter().rev().find_map(|message| match message {
            Message::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            Message::User(_) | Message::Assistant { .. } | Message::ToolResult { .. } => None,
        })?;
        Some(Exchange { asked, answered })
    }

    /// What came of the last reply's calls, as one text.
    pub(crate) fn last_results(&mut self) -> String {
        self.settle();
        let results = self.messages.iter().rev().map_while(|message| match message {
            Message::ToolResult { text, .. } => Some(text.as_str()),
            Message::User(_) | Message::Assistant { .. } => None,
        });
        results.collect::<Vec<_>>().join("\n")
    }

    /// Messages by who they are from: user, model, tools.
    pub(crate) fn counts(&mut self) -> (usize, usize, usize) {
        let messages = self.messages();
        let count = |is: fn(&Message) -> bool| messages.iter().filter(|message| is(message)).count();
        (
            count(|message| matches!(message, Message::User(_))),
            count(|message| matches!(message, Message::Assistant { .. })),
            count(|message| matches!(message, Message::ToolResult { .. })),
        )
    }

    fn go_on(&mut self, row: u64, event: &Event) {
        match event {
            Event::AgentText { text, .. } => self.speaking(row).text.push_str(text),
            Event::AgentThought { text, .. } => self.speaking(row).thought.push_str(text),
            Event::StepFinished { native, .. } => {
                self.speaking(row).native.clone_from(native);
                self.measured = self.messages.len() + 1;
            }
            Event::ToolStarted { call } => {
                self.draft.begin(row);
                self.draft.calls.push(call.clone());
            }
            Event::ToolFinished { id, outcome } => {
                self.draft.results.insert(id.clone(), outcome.clone());
            }
            Event::TurnFinished { stop, .. } => self.end_turn(closing(*stop)),
            Event::TurnFailed { failure } => self.fail_turn(failure),
            Event::UserMessage { .. }
            | Event::ToolPlanned { .. }
            | Event::ToolProgress { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::PlanUpdated { .. }
            | Event::Notice { .. }
            | Event::Compacted { .. }
            | Event::HistoryMoved { .. }
            | Event::SessionChanged { .. } => {}
        }
    }

    fn begin_turn(&mut self, turn: Option<TurnId>, content: &[Content], context: &[Content]) {
        if self.turn.is_some() {
            self.end_turn(Some(
                "[This turn was interrupted: the agent ended. What was begun may be partly done.]",
            ));
        }
        self.turn = turn;
        self.turn_start = self.messages.len();
        let content: Vec<Content> = content.iter().chain(context).cloned().collect();
        let content = if content.is_empty() {
            vec![Content::text("(empty)")]
        } else {
            content
        };
        self.push(self.seq, Message::User(content));
    }

    fn push(&mut self, row: u64, message: Message) {
        self.messages.push(message);
        self.rows.push(row);
    }

    /// The draft that the model is speaking into: a new one once the last one's calls have results.
    fn speaking(&mut self, row: u64) -> &mut Draft {
        if !self.draft.calls.is_empty() {
            self.settle();
        }
        self.draft.begin(row);
        &mut self.draft
    }

    /// Turns the draft into messages.
    fn settle(&mut self) {
        let mut draft = std::mem::take(&mut self.draft);
        // Blanks alone are no answer, and services refuse them.
        if draft.text.trim().is_empty() && draft.calls.is_empty() {
            return;
        }
        let row = draft.row;
        let reply = Message::Assistant {
            text: draft.text,
            thought: draft.thought,
            calls: draft.calls.iter().map(to_call).collect(),
            native: draft.native,
        };
        self.push(row, reply);
        for call in draft.calls {
            let outcome = draft.results.remove(&call.id);
            self.push(row, to_result(call, outcome));
        }
    }

    fn fail_turn(&mut self, failure: &Failure) {
        match failure.class {
            // Sent again, they would fail every turn that follows.
            ErrorClass::ImageRejected | ErrorClass::PayloadTooLarge => {
                self.messages.iter_mut().for_each(without_pictures);
            }
            ErrorClass::ContentPolicy => return self.forget_turn(),
            ErrorClass::Auth
            | ErrorClass::Billing
            | ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Timeout
            | ErrorClass::Network
            | ErrorClass::Tls
            | ErrorClass::ContextOverflow
            | ErrorClass::ModelNotFound
            | ErrorClass::BadRequest
            | ErrorClass::Protocol
            | ErrorClass::Config
            | ErrorClass::Held
            | ErrorClass::Internal => {}
        }
        let partly = if self.draft.calls.is_empty() && !self.ends_with_result() {
            ""
        } else {
            " Tools had run before; the work may be partly done."
        };
        let note = format!("[This turn failed: {}.{partly}]", failure.message.trim_end_matches('.'));
        self.end_turn(Some(&note));
    }

    /// Leaves the turn out: the service does not take its prompt.
    fn forget_turn(&mut self) {
        self.turn = None;
        self.draft = Draft::default();
        self.messages.truncate(self.turn_start);
        self.rows.truncate(self.turn_start);
    }

    /// Ends the turn; the model's last word is its own, or the note.
    fn end_turn(&mut self, note: Option<&str>) {
        self.turn = None;
        let cut_short = note.is_some() && self.draft.calls.is_empty() && !self.draft.text.trim().is_empty();
        if let (true, Some(note)) = (cut_short, note) {
            // What was said and the note are one message; the stored item of the service does not have the note.
            self.draft.text.push_str("\n\n");
            self.draft.text.push_str(note);
            self.draft.native = None;
        }
        self.settle();
        if !matches!(self.messages.last(), Some(Message::Assistant { calls, .. }) if calls.is_empty()) {
            self.close_with(note.unwrap_or("[No answer.]"));
        }
    }

    fn close_with(&mut self, note: &str) {
        let closing = Message::Assistant {
            text: note.to_owned(),
            thought: String::new(),
            calls: Vec::new(),
            native: None,
        };
        self.push(self.seq, closing);
    }

    fn ends_with_result(&self) -> bool {
        matches!(self.messages.last(), Some(Message::ToolResult { .. }))
    }
}

impl Draft {
    fn begin(&mut self, row: u64) {
        if self.row == 0 {
            self.row = row;
        }
    }
}

fn without_pictures(message: &mut Message) {
    let content = match message {
        Message::User(content) | Message::ToolResult { images: content, .. } => content,
        Message::Assistant { .. } => return,
    };
    for piece in content {
        if matches!(piece, Content::Image { .. }) {
            *piece = Content::text("[A picture was here; the model's service did not take it.]");
        }
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::User(content) => content.iter().map(content_size).sum(),
        Message::Assistant {
            text, thought, calls, ..
        } => text.len() + thought.len() + calls.iter().map(call_size).sum::<usize>(),
        Message::ToolResult { text, images, .. } => text.len() + images.iter().map(content_size).sum::<usize>(),
    }
}

fn content_size(content: &Content) -> usize {
    /// What services count for a picture, whatever its bytes, in bytes of text.
    const PICTURE: usize = 4 * 1_000;
    match content {
        Content::Text { text } | Content::Resource { text, .. } => text.len(),
        Content::Image { .. } => PICTURE,
        Content::Link { uri, name } => uri.len() + name.len(),
    }
}

fn call_size(call: &Call) -> usize {
    match &call.input {
        CallInput::Json(input) => call.name.len() + input.to_string().len(),
        CallInput::Malformed(text) => call.name.len() + text.len(),
    }
}

fn closing(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::EndTurn | StopReason::Refusal => None,
        StopReason::MaxTokens => Some("[The reply was cut: it reached its length limit.]"),
        StopReason::MaxSteps => Some("[The turn ended: it used up its model calls.]"),
        StopReason::Budget => Some("[The turn ended: going on would have cost more than a turn may.]"),
        StopReason::Cancelled => Some("[The user cancelled this turn.]"),
    }
}

fn to_call(call: &ToolCall) -> Call {
    Call {
        id: call.given_id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
    }
}

fn to_result(call: ToolCall, outcome: Option<ToolOutcome>) -> Message {
    let (text, images, failed) = match outcome {
        Some(ToolOutcome { status, output }) => (output.text, output.images, status != ToolStatus::Completed),
        None => (INTERRUPTED_CALL.to_owned(), Vec::new(), true),
    };
    let text = if text.is_empty() {
        "(no output)".to_owned()
    } else {
        text
    };
    Message::ToolResult {
        id: call.given_id,
        name: call.name,
        text,
        images,
        failed,
    }
}
