//! The other half of a [`Connection`]: what each thing that leaves the core leads to.

use agent_client_protocol_schema::v1::{
    CloseSessionResponse, DeleteSessionResponse, Error, PromptResponse, RequestId, SetSessionModeResponse,
};
use agent_core::event::{Envelope, SessionChange};
use agent_core::id::{SessionId, TurnId};
use agent_core::outward::{Answer, CallError, CallId, Outward, Parcel, SessionView};
use serde_json::json;

use super::Connection;
use crate::agent::pending::Asked;
use crate::agent::to_acp::{Effect, view};
use crate::agent::{asks, envelope};

impl Connection {
    /// Something from the core. It keeps its room there until what it led to is written.
    pub(crate) fn parcel(&mut self, mut parcel: Parcel) {
        match parcel.take() {
            Some(Outward::Live(envelope)) => self.live(envelope),
            Some(Outward::Replay { call, envelope }) => self.replay(call, envelope),
            Some(Outward::OptionChanged { change, view }) => self.option_changed(&change, &view),
            Some(Outward::ContextChanged { session, context }) => {
                if let Some(usage) = view::usage(context) {
                    self.update(&session, usage);
                }
            }
            Some(Outward::Ask(ask)) => {
                let id = self.outbound.ask_for(&ask);
                self.outbox.line(asks::line(id, ask));
            }
            Some(Outward::TakeBack(ask)) => {
                if let Some(id) = self.outbound.given_up(ask) {
                    self.take_back(id);
                }
            }
            Some(Outward::Answer { call, result }) => self.answer(call, result),
            None => {}
        }
        self.outbox.keep(parcel);
    }

    fn live(&mut self, envelope: Envelope) {
        let (session, turn) = (envelope.session.clone(), envelope.turn);
        for note in self.notes.before(&session, turn, &envelope.event) {
            self.update(&session, note);
        }
        for effect in self.terminals.live(envelope, &self.client()) {
            self.effect(&session, turn, effect);
        }
    }

    fn replay(&mut self, call: CallId, envelope: Envelope) {
        let (session, turn) = (envelope.session.clone(), envelope.turn);
        // A load that has been cancelled has been answered, and nothing may follow for it.
        if !self.inbound.awaits(call) {
            self.loading.remove(&call);
            return;
        }
        let client = self.client();
        let effects = self.loading.entry(call).or_default().replay(envelope, &client);
        for effect in effects {
            self.effect(&session, turn, effect);
        }
    }

    fn effect(&mut self, session: &SessionId, turn: Option<TurnId>, effect: Effect) {
        match effect {
            Effect::Update(update) => self.update(session, update),
            Effect::Note(note) => {
                if let Some(note) = self.notes.place(session, note) {
                    self.update(session, note);
                }
            }
            Effect::Ask { approval, request } => {
                let id = self.outbound.ask(session.clone(), turn, approval);
                self.outbox
                    .line(envelope::request(&id, "session/request_permission", request));
            }
            Effect::Decided(approval) => {
                if let Some(id) = self.outbound.decided(&approval) {
                    self.take_back(id);
                }
            }
            Effect::EndTurn(end) => self.end_turn(session, turn, end),
        }
    }

    fn end_turn(&mut self, session: &SessionId, turn: Option<TurnId>, end: Result<PromptResponse, Error>) {
        let Some(id) = turn.and_then(|turn| self.inbound.take_turn(session, turn)) else {
            // What joined another turn has been answered before.
            return tracing::debug!(%session, ?turn, "a turn has ended that no prompt waits for");
        };
        self.withdraw(session, turn);
        if !self.inbound.prompted().contains(session) {
            self.silence.end(session);
        }
        match end {
            Ok(response) => self.respond(&id, response),
            Err(error) => self.refuse_turn(&id, error),
        }
    }

    fn answer(&mut self, call: CallId, result: Result<Answer, CallError>) {
        let (id, asked) = self.inbound.take_call(call).unzip();
        if let (Some(Asked::Close { session } | Asked::Delete { session }), Ok(Answer::Closed | Answer::Deleted)) =
            (&asked, &result)
        {
            self.notes.forget(session);
        }
        let (id, loaded) = (id.flatten(), self.loading.remove(&call));
        if let (Some(_), Some(loaded), Ok(_)) = (&id, loaded, &result) {
            self.terminals.take_over(loaded);
        }
        match (id, asked, result) {
            (Some(id), Some(asked), Ok(answer)) => self.answered(&id, &asked, &answer),
            (Some(id), Some(asked), Err(error)) => self.fail(&id, &error, asked.option_field()),
            (_, _, Ok(answer)) => self.unheard(answer),
            (_, _, Err(error)) => tracing::debug!(%error, "a call has failed that nobody waits for"),
        }
    }

    fn answered(&mut self, id: &RequestId, asked: &Asked, answer: &Answer) {
        match answer {
            Answer::Created(view) if matches!(asked, Asked::Fork) => {
                self.respond(id, view::forked(view));
                self.announce(view);
                if let Some(title) = view::title(view) {
                    self.update(&view.id, title);
                }
            }
            Answer::Created(view) => {
                self.respond(id, view::created(view));
                self.announce(view);
            }
            Answer::Opened(view) => {
                self.respond(id, view::opened(view));
                self.announce(view);
            }
            Answer::Listed(page) => self.respond(id, view::listed(page)),
            Answer::Closed => self.respond(id, CloseSessionResponse::new()),
            Answer::Deleted => self.respond(id, DeleteSessionResponse::new()),
            // It had a result without fields, when there was such a method.
            Answer::OptionSet(_) if *asked == Asked::SetModel => self.respond(id, json!({})),
            Answer::OptionSet(_) if *asked == Asked::SetMode => self.respond(id, SetSessionModeResponse::new()),
            Answer::OptionSet(view) => self.respond(id, view::option_set(view)),
        }
    }

    /// The mode is shown in two places, which are kept in step.
    fn option_changed(&mut self, change: &SessionChange, view: &SessionView) {
        match change {
            SessionChange::Mode(mode) => self.update(&view.id, view::mode_changed(*mode)),
            SessionChange::Model(_)
            | SessionChange::Thought(_)
            | SessionChange::Title(_)
            | SessionChange::Cwd(_)
            | SessionChange::Told(_)
            | SessionChange::Spent(_)
            | SessionChange::Context(_)
            | SessionChange::Prompted(_) => {}
        }
        self.update(&view.id, view::options_changed(view));
    }

    /// A result whose request was cancelled.
    fn unheard(&mut self, answer: Answer) {
        match answer {
            // Nobody knows this session's id, so that nobody could close it or take a fork away.
            Answer::Created(view) => {
                self.runtime.delete(view.id);
            }
            Answer::OptionSet(_) | Answer::Opened(_) | Answer::Listed(_) | Answer::Closed | Answer::Deleted => {}
        }
    }

    /// What follows the answer that opens a session.
    fn announce(&mut self, view: &SessionView) {
        for update in view::announced(view) {
            self.update(&view.id, update);
        }
    }
}
