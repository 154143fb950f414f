//! One client's connection: what each line, and each thing that leaves the core, leads to. Does no input or output and
//! never waits.

mod deliver;
mod signing;

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    CancelNotification, CancelRequestNotification, Error, RequestId, RequestPermissionOutcome,
    RequestPermissionResponse, SessionInfoUpdate, SessionNotification, SessionUpdate,
};
use agent_core::approval::{OptionKind, UserAnswer};
use agent_core::content::Content;
use agent_core::id::{SessionId, TurnId};
use agent_core::outward::CallId;
use agent_core::runtime::Runtime;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::asks::Awaited;
use super::call::Call;
use super::envelope::{self, Incoming};
use super::framer::Line;
use super::handshake::{Client, Gate};
use super::notes::Notes;
use super::outbox::Outbox;
use super::pending::{About, Asked, Cancelled, Inbound, Outbound};
use super::settings::Settings;
use super::silence::Silence;
use super::steering::{Idle, Outcome};
use super::to_acp::Terminals;
use super::{fault, params};

pub(crate) use signing::SignedIn;
use signing::Signing;

/// All the state of a connection.
pub(crate) struct Connection {
    runtime: Runtime,
    settings: Settings,
    gate: Gate,
    inbound: Inbound,
    outbound: Outbound,
    notes: Notes,
    signing: Signing,
    /// Calls whose output is shown as a terminal does, until their ends.
    terminals: Terminals,
    /// The same of each load that is on its way. They become the session's when the load is answered.
    loading: HashMap<CallId, Terminals>,
    pub(crate) silence: Silence,
    pub(crate) outbox: Outbox,
}

impl Connection {
    /// A connection at its beginning. What comes out at the other end of `signed_in` is to be given to
    /// [`Self::signed_in`]; it holds one thing for each request that waits.
    pub(crate) fn new(runtime: Runtime, settings: Settings, signed_in: UnboundedSender<SignedIn>) -> Self {
        Self {
            runtime,
            silence: Silence::new(settings.longest_silence),
            settings,
            gate: Gate::Closed,
            inbound: Inbound::default(),
            outbound: Outbound::default(),
            notes: Notes::default(),
            signing: Signing::new(signed_in),
            terminals: Terminals::default(),
            loading: HashMap::new(),
            outbox: Outbox::default(),
        }
    }

    /// A line from the client.
    pub(crate) fn line(&mut self, line: Line) {
        match envelope::read(line) {
            Ok(None) => {}
            Ok(Some(Incoming::Request { id, method, params })) => self.request(id, &method, params),
            Ok(Some(Incoming::Notification { method, params })) => self.notification(&method, params),
            Ok(Some(Incoming::Response { id, result })) => self.response(&id, result),
            Err(refused) => self.refuse(&refused.id, &refused.error()),
        }
    }

    /// Cancels every turn that a prompt waits for: the client is gone.
    pub(crate) fn cancel_all(&mut self) {
        for session in self.inbound.prompted() {
            self.cancel(&session);
        }
    }

    /// Whether every request has its answer.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.inbound.is_empty()
    }

    /// Whether a request other than a prompt waits for the core.
    pub(crate) fn awaits_calls(&self) -> bool {
        self.inbound.has_calls()
    }

    /// Whether the client has been greeted; before that it can ask the core nothing.
    pub(crate) fn is_greeted(&self) -> bool {
        self.gate.is_greeted()
    }

    fn client(&self) -> Client {
        self.gate.client()
    }

    fn request(&mut self, id: RequestId, method: &str, params: Value) {
        tracing::debug!(%id, method, trace = traceparent(&params), "request");
        if self.inbound.holds(&id) {
            return self.refuse(&id, &fault::invalid_request("a request with this `id` is in flight"));
        }
        if self.inbound.is_full() {
            return self.refuse(&id, &fault::invalid_request("too many requests wait for their answer"));
        }
        let call = self.gate.admit(method).and_then(|()| Call::read(method, params));
        match call.and_then(|call| self.admit(call)) {
            Ok(call) => self.call(id, call),
            Err(error) => self.refuse(&id, &error),
        }
    }

    fn call(&mut self, id: RequestId, call: Call) {
        match call {
            Call::Initialize(client) => self.initialize(&id, client),
            Call::Authenticate { method } => self.authenticate(id, method),
            Call::Logout => self.log_out(id),
            Call::New { folders, instructions } => {
                let call = self.runtime.create(folders, instructions);
                self.inbound.add_call(id, call, Asked::New);
            }
            Call::Open {
                session,
                folders,
                instructions,
                replay,
            } => {
                let call = self.runtime.open(session, Some(folders), instructions, replay);
                let asked = if replay { Asked::Load } else { Asked::Resume };
                self.inbound.add_call(id, call, asked);
            }
            Call::List { cwd, cursor } => {
                let call = self.runtime.list(cwd, cursor);
                self.inbound.add_call(id, call, Asked::List);
            }
            Call::Fork {
                session,
                folders,
                instructions,
            } => {
                let call = self.runtime.fork(session, folders, instructions);
                self.inbound.add_call(id, call, Asked::Fork);
            }
            Call::Close(session) => self.close(id, session),
            Call::Delete(session) => self.delete(id, session),
            Call::Prompt {
                session,
                content,
                joins,
            } => self.prompt(id, session, content, joins),
            Call::Steer { session, content, idle } => self.steer(&id, &session, content, idle),
            Call::SetMode { session, option } => {
                let call = self.runtime.set_option(session, option);
                self.inbound.add_call(id, call, Asked::SetMode);
            }
            Call::SetModel { session, option } => {
                let call = self.runtime.set_option(session, option);
                self.inbound.add_call(id, call, Asked::SetModel);
            }
            Call::SetOption { session, option } => {
                let call = self.runtime.set_option(session, option);
                self.inbound.add_call(id, call, Asked::SetOption);
            }
        }
    }

    fn initialize(&mut self, id: &RequestId, client: Client) {
        self.respond(id, self.settings.greeting(&client));
        self.runtime.set_abilities(client.abilities);
        self.gate.greet(client);
    }

    fn close(&mut self, id: RequestId, session: SessionId) {
        self.withdraw(&session, None);
        let call = self.runtime.close(session.clone());
        self.inbound.add_call(id, call, Asked::Close { session });
    }

    fn delete(&mut self, id: RequestId, session: SessionId) {
        self.withdraw(&session, None);
        let call = self.runtime.delete(session.clone());
        self.inbound.add_call(id, call, Asked::Delete { session });
    }

    fn prompt(&mut self, id: RequestId, session: SessionId, content: Vec<Content>, joins: bool) {
        let turn = if joins {
            self.runtime.steer(&session, content).map(|steered| steered.turn)
        } else {
            self.runtime.prompt(&session, content)
        };
        match turn {
            Ok(turn) => {
                self.silence.begin(&session);
                self.inbound.add_turn(id, session, turn);
            }
            Err(error) => self.fail(&id, &error, "prompt"),
        }
    }

    /// Answered at once: what joins a turn is that turn's, and nobody waits for its own end.
    fn steer(&mut self, id: &RequestId, session: &SessionId, content: Vec<Content>, idle: Idle) {
        let outcome = match idle {
            Idle::GivesBack => self.runtime.join(session, content).map(|turn| match turn {
                Some(_) => Outcome::Injected,
                None => Outcome::PromptRequired,
            }),
            Idle::Prompts => self.runtime.steer(session, content).map(|steered| match steered.joins {
                true => Outcome::Injected,
                false => Outcome::Started,
            }),
        };
        match outcome {
            Ok(outcome) => self.respond(id, outcome.answer()),
            Err(error) => self.fail(id, &error, "prompt"),
        }
    }

    fn notification(&mut self, method: &str, params: Value) {
        match method {
            "session/cancel" => match params::read::<CancelNotification>(params) {
                Ok(cancel) => self.cancel(&SessionId::from(&*cancel.session_id.0)),
                Err(error) => tracing::debug!(%error, "a cancel that can't be read"),
            },
            "$/cancel_request" => match params::read::<CancelRequestNotification>(params) {
                Ok(cancel) => self.cancel_request(&cancel.request_id),
                Err(error) => tracing::debug!(%error, "a cancel that can't be read"),
            },
            _ => tracing::debug!(method, "a notification that is not known"),
        }
    }

    fn cancel(&mut self, session: &SessionId) {
        self.runtime.cancel(session);
        self.withdraw(session, None);
    }

    fn cancel_request(&mut self, id: &RequestId) {
        match self.inbound.cancel(id) {
            Some(Cancelled::Turn(session, turn)) => {
                self.runtime.cancel_turn(&session, turn);
                self.withdraw(&session, Some(turn));
            }
            Some(Cancelled::Call) => self.refuse(id, &fault::cancelled()),
            None => tracing::debug!(%id, "a cancel of a request that does not wait"),
        }
    }

    /// Takes our questions back. The core has closed them; what the client still says to them is not heard.
    fn withdraw(&mut self, session: &SessionId, turn: Option<TurnId>) {
        for id in self.outbound.withdraw(session, turn) {
            self.take_back(id);
        }
    }

    fn take_back(&mut self, id: RequestId) {
        let cancel = CancelRequestNotification::new(id);
        self.outbox.line(envelope::notification("$/cancel_request", cancel));
    }

    fn response(&mut self, id: &RequestId, result: Result<Value, String>) {
        match self.outbound.answered(id) {
            Some((session, About::Approval(_, approval))) => {
                self.runtime.decide(&session, &approval, user_answer(result.ok()));
            }
            Some((session, About::Ask(ask, awaited))) => self.runtime.reply(&session, ask, awaited.read(result)),
            Some((session, About::Late(ask))) => {
                self.runtime.reply(&session, ask, Awaited::Terminal.read(result));
            }
            None => tracing::debug!(%id, "a response that nobody waits for"),
        }
    }

    /// Shows the client that turns which have been silent for long go on.
    pub(crate) fn break_silence(&mut self) {
        for session in self.silence.too_long() {
            self.update(&session, SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new()));
        }
    }

    fn update(&mut self, session: &SessionId, update: SessionUpdate) {
        self.silence.heard(session);
        self.outbox
            .update(SessionNotification::new(session.as_str().to_owned(), update));
    }

    fn respond(&mut self, id: &RequestId, result: impl Serialize) {
        self.outbox.line(envelope::result(id, result));
    }

    fn refuse(&mut self, id: &RequestId, error: &Error) {
        tracing::debug!(%id, code = i32::from(error.code), message = error.message, "error answer");
        self.outbox.line(envelope::error(id, error));
    }
}

/// The answer to a question. An error, and whatever can't be understood, allows nothing.
fn user_answer(result: Option<Value>) -> UserAnswer {
    let answer = result.and_then(|result| serde_json::from_value::<RequestPermissionResponse>(result).ok());
    match answer.map(|answer| answer.outcome) {
        Some(RequestPermissionOutcome::Cancelled) => UserAnswer::Cancelled,
        Some(RequestPermissionOutcome::Selected(selected)) => {
            let kinds = [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce];
            let chosen = kinds.into_iter().find(|kind| kind.id() == &*selected.option_id.0);
            chosen.map_or(UserAnswer::Invalid, UserAnswer::Chose)
        }
        Some(_) | None => UserAnswer::Invalid,
    }
}

/// The trace that a request belongs to, for the log.
fn traceparent(params: &Value) -> Option<&str> {
    params.get("_meta")?.get("traceparent")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_option_by_its_id_is_a_choice() {
        let check = |result: Option<Value>, expect: UserAnswer| assert_eq!(user_answer(result), expect);
        let selected = |id: &str| Some(json!({ "outcome": { "outcome": "selected", "optionId": id } }));
        check(selected("allow_once"), UserAnswer::Chose(OptionKind::AllowOnce));
        check(selected("allow_always"), UserAnswer::Chose(OptionKind::AllowAlways));
        check(selected("reject_once"), UserAnswer::Chose(OptionKind::RejectOnce));
        check(selected("Allow"), UserAnswer::Invalid);
        check(
            Some(json!({ "outcome": { "outcome": "cancelled" } })),
            UserAnswer::Cancelled,
        );
        check(
            Some(json!({ "outcome": { "outcome": "allowed" } })),
            UserAnswer::Invalid,
        );
        check(
            Some(json!({ "outcome": "selected", "optionId": "allow_once" })),
            UserAnswer::Invalid,
        );
        check(Some(Value::Null), UserAnswer::Invalid);
        check(None, UserAnswer::Invalid);
    }
}
