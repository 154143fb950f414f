//! The model's view of a session: a fold of its events into a provider's messages.
//!
//! Odd endings are repaired here and never in place: every call gets a result, every turn that ended badly gets one
//! closing message, and no message is empty. So a session can't be bricked by its own past.

mod compaction;
mod draft;

use std::ops::RangeInclusive;

use crate::content::{Content, is_blank, plain_text};
use crate::event::{Envelope, ErrorClass, Event, Failure, PlanEntry, SessionChange, StopReason};
use crate::id::{SessionId, TurnId};
use crate::provider::{self, Counted, Message};
use crate::store::{Store, StoreError};

pub(crate) use compaction::note_all;
use draft::{Draft, to_call, to_result};

/// Rows read at a time.
const PAGE: usize = 512;

/// The fold so far.
#[derive(Default)]
pub(crate) struct History {
    messages: Vec<Message>,
    /// The row that each message began with; a reply and the results of its calls share one.
    rows: Vec<u64>,
    /// Bytes that the messages take of a request.
    bytes: usize,
    /// So many of the messages the model has seen or said.
    seen: usize,
    /// What the service counted last, and of how many bytes of messages.
    counted: Option<Counted>,
    draft: Draft,
    /// The model's to-do list.
    plan: Vec<PlanEntry>,
    /// The turn that has begun and not ended. What belongs to another one is not for the model: the core answered it
    /// itself, or its prompt is hidden.
    turn: Option<TurnId>,
    /// Where its prompt is among the messages.
    turn_start: usize,
    /// The newest row that is in it.
    seq: u64,
    /// The rows that are left out of it.
    hidden: Vec<RangeInclusive<u64>>,
}

/// What a user asked and what the model answered.
pub(crate) struct Exchange {
    pub(crate) asked: String,
    pub(crate) answered: String,
}

impl History {
    /// Folds what is stored of a session.
    pub(crate) fn read(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        Self::default().read_on(store, session)
    }

    /// Folds what was stored since this fold ended. It begins anew if a part of it was taken out meanwhile.
    pub(crate) fn read_on(self, store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        let hidden = match store.hidden(session) {
            Err(StoreError::Damaged { .. }) if self.seq > 0 => return Ok(self.kept_beside_damage(session)),
            hidden => hidden?,
        };
        let mut history = if hidden == self.hidden { self } else { Self::default() };
        loop {
            let rows = match store.events(session, history.seq, PAGE) {
                Err(StoreError::Damaged { .. }) if history.seq > 0 => return Ok(history.kept_beside_damage(session)),
                rows => rows?,
            };
            let full = rows.len() == PAGE;
            for row in rows {
                if hidden.iter().any(|range| range.contains(&row.seq)) {
                    history.seq = row.seq;
                } else {
                    history.follow(&row);
                }
            }
            if !full {
                history.hidden = hidden;
                return Ok(history);
            }
        }
    }

    /// What this process knows of a session, where the store is damaged: all that was said here is in it.
    fn kept_beside_damage(self, session: &SessionId) -> Self {
        tracing::warn!(%session, "the history is damaged, and the session goes on with what is known of it here");
        self
    }

    /// The messages as a request needs them: all calls have their results.
    pub(crate) fn messages(&mut self) -> &[Message] {
        self.settle();
        &self.messages
    }

    /// Whether there is a picture in them.
    pub(crate) fn has_pictures(&mut self) -> bool {
        self.messages().iter().any(compaction::has_pictures)
    }

    /// Whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The model's to-do list.
    pub(crate) fn plan(&self) -> &[PlanEntry] {
        &self.plan
    }

    /// Takes the next event in.
    pub(crate) fn follow(&mut self, envelope: &Envelope) {
        self.seq = self.seq.max(envelope.seq);
        if let Event::SessionChanged {
            change: SessionChange::Model(_),
        } = &envelope.event
        {
            self.counted = self.counted.map(Counted::by_another);
        } else if let Event::PlanUpdated { entries } = &envelope.event {
            self.plan.clone_from(entries);
        } else if let Event::Compacted { before, what, .. } = &envelope.event {
            self.compact(*before, what);
        } else if let Event::UserMessage {
            content,
            context,
            command: false,
            ..
        } = &envelope.event
        {
            // The model was not asked, and is told nothing of it.
            if is_blank(content) && context.is_empty() {
                return;
            }
            self.begin_turn(envelope.turn, content, context);
        } else if self.turn.is_some() && envelope.turn == self.turn {
            self.go_on(envelope.seq, &envelope.event);
        }
    }

    /// Whether its last turn has no end, though none runs.
    pub(crate) fn breaks_off(&self) -> bool {
        self.turn.is_some()
    }

    /// Tokens of all that is known, about, where `fixed` is what each request has beside the messages, in bytes.
    pub(crate) fn tokens(&self, fixed: usize) -> u64 {
        let calls = self.draft.calls.iter().map(|call| to_call(call).size());
        let draft = self.draft.text.len() + calls.sum::<usize>();
        provider::tokens(fixed + self.bytes + draft, self.counted(fixed))
    }

    /// What the service counted last, of a request that had `fixed` beside the messages.
    pub(crate) fn counted(&self, fixed: usize) -> Option<Counted> {
        self.counted.map(|counted| counted.beside(fixed))
    }

    /// Bytes that the messages take of a request.
    pub(crate) fn bytes(&mut self) -> usize {
        self.settle();
        self.bytes
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
            Event::UserSteered { content, context, .. } => self.steer(row, content, context),
            Event::AgentText { text, .. } => self.speaking(row).text.push_str(text),
            Event::AgentThought { text, .. } => self.speaking(row).thought.push_str(text),
            Event::StepFinished { native, usage, .. } => {
                self.speaking(row).native.clone_from(native);
                self.seen = self.messages.len() + 1;
                // Now the messages are those of the request.
                if let Some(tokens) = usage.input.filter(|tokens| *tokens > 0) {
                    self.counted = Some(Counted::new(tokens, self.bytes));
                }
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
            | Event::FilesKept { .. }
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
        let content = content.iter().chain(context).cloned().collect();
        self.push(self.seq, Message::User(content));
    }

    /// The user has said more while the turn runs. What follows a message of theirs goes with it: who speaks changes
    /// with each message.
    fn steer(&mut self, row: u64, content: &[Content], context: &[Content]) {
        self.settle();
        let more = content.iter().chain(context).cloned();
        if let Some(Message::User(said)) = self.messages.last_mut() {
            said.extend(more);
        } else {
            self.push(row, Message::User(more.collect()));
        }
    }

    fn push(&mut self, row: u64, message: Message) {
        self.bytes += message.size();
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
                let note = "[A picture was here; the model's service did not take it.]";
                let messages = self.messages.iter_mut();
                messages.for_each(|message| compaction::take_pictures(message, note));
                self.weigh();
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
        self.weigh();
    }

    /// Counts its bytes anew, once messages have changed.
    fn weigh(&mut self) {
        self.bytes = self.messages.iter().map(Message::size).sum();
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

fn closing(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::EndTurn | StopReason::Refusal | StopReason::NotDone => None,
        StopReason::MaxTokens => Some("[The reply was cut: it reached its length limit.]"),
        StopReason::MaxSteps => Some("[The turn ended: it used up its model calls.]"),
        StopReason::Budget => Some("[The turn ended: going on would have cost more than a turn may.]"),
        StopReason::Cancelled => Some("[The user cancelled this turn.]"),
    }
}
