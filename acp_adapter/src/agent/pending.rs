//! Who waits for whom: the client's requests that have no answer yet, and ours to the client.

use agent_client_protocol_schema::v1::RequestId;
use agent_core::id::{ApprovalId, AskId, SessionId, TurnId};
use agent_core::outward::CallId;
use agent_core::surface::Ask;

use super::asks::Awaited;

/// Requests that may wait at once; a client that asks more without end is refused.
pub(crate) const MOST: usize = 4096;

/// The client's requests that wait for their answer. Empty at rest. A handful, so that a list is the right shape.
#[derive(Default)]
pub(crate) struct Inbound {
    entries: Vec<Entry>,
    sign_ins: u64,
}

struct Entry {
    /// None once the request has been answered as cancelled; what the core says later has nowhere to go.
    id: Option<RequestId>,
    waits: Waits,
}

/// What will answer a request.
enum Waits {
    Turn(SessionId, TurnId),
    Call(CallId, Asked),
    SignIn(u64),
}

/// What a call was asked for by, where that decides how its result is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    New,
    Load,
    Resume,
    Fork,
    List,
    Close { session: SessionId },
    Delete { session: SessionId },
    SetMode,
    SetModel,
    SetOption,
}

impl Asked {
    /// What the request calls the value of an option.
    pub(crate) fn option_field(&self) -> &'static str {
        match self {
            Self::SetMode => "modeId",
            Self::SetModel => "modelId",
            Self::SetOption
            | Self::New
            | Self::Load
            | Self::Resume
            | Self::Fork
            | Self::List
            | Self::Close { .. }
            | Self::Delete { .. } => "value",
        }
    }
}

/// What a cancelled request was.
#[derive(Debug, PartialEq)]
pub(crate) enum Cancelled {
    /// A prompt: the core ends its turn, and that answers it.
    Turn(SessionId, TurnId),
    /// Anything else: it is to be answered now.
    Call,
}

impl Inbound {
    pub(crate) fn add_turn(&mut self, id: RequestId, session: SessionId, turn: TurnId) {
        self.add(id, Waits::Turn(session, turn));
    }

    pub(crate) fn add_call(&mut self, id: RequestId, call: CallId, asked: Asked) {
        self.add(id, Waits::Call(call, asked));
    }

    /// Notes an `authenticate` or a `logout`, and numbers it.
    pub(crate) fn add_sign_in(&mut self, id: RequestId) -> u64 {
        self.sign_ins += 1;
        self.add(id, Waits::SignIn(self.sign_ins));
        self.sign_ins
    }

    /// The one of this number; none if it has been answered as cancelled.
    pub(crate) fn take_sign_in(&mut self, number: u64) -> Option<RequestId> {
        self.take(|waits| matches!(waits, Waits::SignIn(n) if *n == number))?.id
    }

    fn add(&mut self, id: RequestId, waits: Waits) {
        self.entries.push(Entry { id: Some(id), waits });
    }

    /// Whether a request of this id waits.
    pub(crate) fn holds(&self, id: &RequestId) -> bool {
        self.entries.iter().any(|entry| entry.id.as_ref() == Some(id))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= MOST
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether anything but prompts waits.
    pub(crate) fn has_calls(&self) -> bool {
        self.entries.iter().any(|entry| !matches!(entry.waits, Waits::Turn(..)))
    }

    /// The sessions in which a prompt waits.
    pub(crate) fn prompted(&self) -> Vec<SessionId> {
        let sessions = self.entries.iter().filter_map(|entry| match &entry.waits {
            Waits::Turn(session, _) => Some(session.clone()),
            Waits::Call(..) | Waits::SignIn(_) => None,
        });
        sessions.collect()
    }

    /// Whether a call's request still waits for what the call sends.
    pub(crate) fn awaits(&self, call: CallId) -> bool {
        let is_meant = |entry: &Entry| matches!(entry.waits, Waits::Call(other, _) if other == call);
        self.entries.iter().any(|entry| is_meant(entry) && entry.id.is_some())
    }

    /// The prompt that a turn answers.
    pub(crate) fn take_turn(&mut self, session: &SessionId, turn: TurnId) -> Option<RequestId> {
        let answers = |waits: &Waits| matches!(waits, Waits::Turn(s, t) if s == session && *t == turn);
        self.take(answers)?.id
    }

    /// The request that a call's result answers; its id is none if it has been answered as cancelled.
    pub(crate) fn take_call(&mut self, call: CallId) -> Option<(Option<RequestId>, Asked)> {
        let entry = self.take(|waits| matches!(waits, Waits::Call(c, _) if *c == call))?;
        match entry.waits {
            Waits::Call(_, asked) => Some((entry.id, asked)),
            Waits::Turn(..) | Waits::SignIn(_) => None,
        }
    }

    fn take(&mut self, answers: impl Fn(&Waits) -> bool) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| answers(&entry.waits))?;
        Some(self.entries.remove(index))
    }

    /// Cancels a request; none if none of this id waits.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<Cancelled> {
        let entry = self.entries.iter_mut().find(|entry| entry.id.as_ref() == Some(id))?;
        match &entry.waits {
            Waits::Turn(session, turn) => Some(Cancelled::Turn(session.clone(), *turn)),
            Waits::Call(..) | Waits::SignIn(_) => {
                entry.id = None;
                Some(Cancelled::Call)
            }
        }
    }
}

/// Terminals that were asked for in vain and may still come; of more, the last.
const MOST_LATE: usize = 64;

/// Our requests that wait for the client. Empty at rest.
#[derive(Default)]
pub(crate) struct Outbound {
    last: i64,
    questions: Vec<Question>,
}

struct Question {
    id: i64,
    session: SessionId,
    about: About,
}

/// What a request of ours is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum About {
    /// Whether a call of this turn may run.
    Approval(Option<TurnId>, ApprovalId),
    /// What a tool waits for.
    Ask(AskId, Awaited),
    /// A terminal that nobody waits for any more. It has to go back if it comes.
    Late(AskId),
}

impl Outbound {
    /// Notes a question and numbers it.
    pub(crate) fn ask(&mut self, session: SessionId, turn: Option<TurnId>, approval: ApprovalId) -> RequestId {
        self.add(session, About::Approval(turn, approval))
    }

    /// Numbers what a tool asks for, and notes it if somebody waits for the answer.
    pub(crate) fn ask_for(&mut self, ask: &Ask) -> i64 {
        match Awaited::by(&ask.request) {
            Some(awaited) => self.add(ask.session.clone(), About::Ask(ask.id, awaited)),
            None => self.next_id(),
        };
        self.last
    }

    fn add(&mut self, session: SessionId, about: About) -> RequestId {
        let id = self.next_id();
        self.questions.push(Question {
            id: self.last,
            session,
            about,
        });
        id
    }

    fn next_id(&mut self) -> RequestId {
        self.last += 1;
        RequestId::Number(self.last)
    }

    /// What a response answers; none for a response that nobody waits for.
    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<(SessionId, About)> {
        let question = self.take(|question| RequestId::Number(question.id) == *id)?;
        Some((question.session, question.about))
    }

    /// The request of a question that was decided without its answer.
    pub(crate) fn decided(&mut self, approval: &ApprovalId) -> Option<RequestId> {
        let is_meant = |question: &Question| matches!(&question.about, About::Approval(_, a) if a == approval);
        Some(RequestId::Number(self.take(is_meant)?.id))
    }

    /// The request of what nobody waits for any more. A terminal that may still come is remembered.
    pub(crate) fn given_up(&mut self, ask: AskId) -> Option<RequestId> {
        let is_meant = |question: &Question| matches!(question.about, About::Ask(a, _) if a == ask);
        let question = self.take(is_meant)?;
        let id = RequestId::Number(question.id);
        if question.about == About::Ask(ask, Awaited::Terminal) {
            let is_late = |question: &Question| matches!(question.about, About::Late(_));
            if self.questions.iter().filter(|question| is_late(question)).count() >= MOST_LATE {
                self.take(is_late);
            }
            self.questions.push(Question {
                about: About::Late(ask),
                ..question
            });
        }
        Some(id)
    }

    /// Takes back the questions of a session, or of one of its turns. What tools ask for is taken back by them.
    pub(crate) fn withdraw(&mut self, session: &SessionId, turn: Option<TurnId>) -> Vec<RequestId> {
        let is_meant = |question: &mut Question| {
            let of_turn = matches!(question.about, About::Approval(asked, _) if turn.is_none() || asked == turn);
            question.session == *session && of_turn
        };
        self.questions
            .extract_if(.., is_meant)
            .map(|question| RequestId::Number(question.id))
            .collect()
    }

    fn take(&mut self, is_meant: impl Fn(&Question) -> bool) -> Option<Question> {
        let index = self.questions.iter().position(is_meant)?;
        Some(self.questions.remove(index))
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use agent_core::surface::{NewTerminal, Request};

    use super::*;

    fn id(id: i64) -> RequestId {
        RequestId::Number(id)
    }

    #[test]
    fn an_id_is_in_flight_until_its_answer() {
        let mut inbound = Inbound::default();
        inbound.add_turn(id(1), "s".into(), TurnId(1));
        inbound.add_call(id(2), CallId(7), Asked::List);
        assert!(inbound.holds(&id(1)) && inbound.holds(&id(2)) && !inbound.holds(&RequestId::Str("1".into())));
        assert_eq!(inbound.take_turn(&"s".into(), TurnId(2)), None);
        assert_eq!(inbound.take_turn(&"s".into(), TurnId(1)), Some(id(1)));
        assert_eq!(inbound.take_call(CallId(7)), Some((Some(id(2)), Asked::List)));
        assert_eq!(inbound.take_call(CallId(7)), None);
        assert!(inbound.is_empty());
    }

    #[test]
    fn a_cancelled_prompt_waits_for_its_turn_and_other_requests_do_not() {
        let mut inbound = Inbound::default();
        inbound.add_turn(id(1), "s".into(), TurnId(1));
        inbound.add_call(id(2), CallId(7), Asked::Load);
        inbound.add_call(id(4), CallId(8), Asked::Load);
        assert!(inbound.awaits(CallId(7)));
        assert_eq!(inbound.cancel(&id(3)), None);
        assert_eq!(inbound.cancel(&id(1)), Some(Cancelled::Turn("s".into(), TurnId(1))));
        assert!(inbound.holds(&id(1)));
        assert_eq!(inbound.cancel(&id(2)), Some(Cancelled::Call));
        assert!(!inbound.holds(&id(2)) && !inbound.awaits(CallId(7)) && inbound.awaits(CallId(8)));
        assert_eq!(inbound.cancel(&id(2)), None);
        assert_eq!(inbound.take_call(CallId(7)).unwrap().0, None);
    }

    #[test]
    fn a_question_is_answered_once_and_late_or_foreign_answers_are_nothing() {
        let mut outbound = Outbound::default();
        let first = outbound.ask("s".into(), Some(TurnId(1)), "a".into());
        assert_eq!(outbound.answered(&id(99)), None);
        assert_eq!(outbound.answered(&RequestId::Str("1".into())), None);
        let about = About::Approval(Some(TurnId(1)), "a".into());
        assert_eq!(outbound.answered(&first), Some(("s".into(), about)));
        assert_eq!(outbound.answered(&first), None);
        let second = outbound.ask("s".into(), Some(TurnId(1)), "b".into());
        assert_ne!(first, second);
        assert_eq!(outbound.decided(&"b".into()), Some(second.clone()));
        assert_eq!(outbound.answered(&second), None);
        assert!(outbound.is_empty());
    }

    #[test]
    fn a_cancel_takes_back_the_questions_of_its_session_or_turn() {
        let mut outbound = Outbound::default();
        let ids = [("s", 1, "a"), ("s", 2, "b"), ("t", 1, "c")]
            .map(|(session, turn, approval)| outbound.ask(session.into(), Some(TurnId(turn)), approval.into()));
        assert_eq!(outbound.withdraw(&"s".into(), Some(TurnId(2))), [ids[1].clone()]);
        assert_eq!(outbound.withdraw(&"s".into(), None), [ids[0].clone()]);
        assert_eq!(outbound.withdraw(&"s".into(), None), []);
        let about = About::Approval(Some(TurnId(1)), "c".into());
        assert_eq!(outbound.answered(&ids[2]), Some(("t".into(), about)));
    }

    #[test]
    fn what_a_tool_asks_for_is_noted_until_its_answer_or_until_it_is_given_up() {
        let mut outbound = Outbound::default();
        let mut ask = |id, request| {
            let session = "s".into();
            let id = AskId(id);
            RequestId::Number(outbound.ask_for(&Ask { id, session, request }))
        };
        let read = |path: &str| Request::ReadFile { path: path.into() };
        let (first, second) = (ask(1, read("/a")), ask(2, read("/b")));
        ask(3, Request::KillTerminal("t".into()));
        ask(4, Request::ReleaseTerminal("t".into()));
        assert_eq!(outbound.withdraw(&"s".into(), None), []);
        let about = About::Ask(AskId(1), Awaited::Text);
        assert_eq!(outbound.answered(&first), Some(("s".into(), about)));
        assert_eq!(outbound.given_up(AskId(1)), None);
        assert_eq!(outbound.given_up(AskId(2)), Some(second.clone()));
        assert_eq!(outbound.answered(&second), None);
        assert!(outbound.is_empty());
    }

    #[test]
    fn a_terminal_that_comes_late_is_known_by_its_request() {
        let mut outbound = Outbound::default();
        let ids: Vec<RequestId> = (0..100)
            .map(|number| {
                let id = outbound.ask_for(&Ask {
                    id: AskId(number),
                    session: "s".into(),
                    request: Request::CreateTerminal(NewTerminal {
                        command: "sh".into(),
                        args: Vec::new(),
                        env: Vec::new(),
                        cwd: "/".into(),
                        output_limit: 1,
                    }),
                });
                let id = RequestId::Number(id);
                assert_eq!(outbound.given_up(AskId(number)), Some(id.clone()));
                assert_eq!(outbound.given_up(AskId(number)), None);
                id
            })
            .collect();
        assert_eq!(outbound.answered(&ids[99]), Some(("s".into(), About::Late(AskId(99)))));
        assert_eq!(outbound.answered(&ids[0]), None);
        assert_eq!(outbound.questions.len(), MOST_LATE - 1);
    }
}
