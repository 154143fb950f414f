//! A session's past as it is stored, and what a model is asked with it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use agent_core::cancel::Cancel;
use agent_core::content::{Blob, Content};
use agent_core::event::{
    CallInput, Compaction, ContextUse, Envelope, ErrorClass, Event, Failure, HistoryMove, StopReason, ToolCall,
    ToolKind, ToolOutcome, ToolOutput, ToolStatus,
};
use agent_core::id::{MessageId, SessionId, ToolCallId, TurnId};
use agent_core::provider::{Finish, Message, Native, Provider, Request, ThoughtLevel, Usage};
use agent_core::store::{Durability, SessionRecord, Store};
use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::mock::Mock;
use talaria_tests::remote;
use talaria_tests::spoken::{DIALECTS, Spoken};
use talaria_tests::stage::Stage;
use talaria_tests::stored;

/// Rows of a session, as turns made them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    rows: Vec<(Option<TurnId>, Event)>,
    turns: u64,
    turn: Option<TurnId>,
    /// The row of the last prompt.
    prompt: u64,
    calls: u64,
}

impl Past {
    /// How many rows there are.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// A turn begins.
    pub(crate) fn prompt(mut self, content: Vec<Content>) -> Self {
        self.turns += 1;
        self.turn = Some(TurnId(self.turns));
        self.prompt = self.len() + 1;
        self.add(Event::UserMessage {
            id: MessageId::new(),
            content,
            context: Vec::new(),
            command: false,
        })
    }

    pub(crate) fn asks(self, text: &str) -> Self {
        self.prompt(vec![Content::text(text)])
    }

    pub(crate) fn says(self, text: &str) -> Self {
        self.add(Event::AgentText {
            id: MessageId::new(),
            text: text.into(),
        })
    }

    pub(crate) fn thinks(self, text: &str) -> Self {
        self.add(Event::AgentThought {
            id: MessageId::new(),
            text: text.into(),
        })
    }

    /// The step ends. What came from a dialect's service is kept as that one gave it.
    pub(crate) fn step(self, finish: Finish, from: Option<Dialect>) -> Self {
        self.add(Event::StepFinished {
            step: 1,
            model: None,
            usage: Usage::default(),
            context: ContextUse::default(),
            finish,
            native: from.map(|dialect| NATIVES[dialect.name()].clone()),
        })
    }

    /// A call, and its end if it has one.
    pub(crate) fn calls(mut self, given_id: &str, name: &str, input: CallInput, end: Option<ToolOutcome>) -> Self {
        self.calls += 1;
        let id = ToolCallId::from(format!("c{}", self.calls).as_str());
        let call = ToolCall {
            id: id.clone(),
            given_id: given_id.into(),
            name: name.into(),
            title: "a call".into(),
            kind: ToolKind::Other,
            input,
            prints_in: None,
        };
        let past = self.add(Event::ToolStarted { call });
        match end {
            Some(outcome) => past.add(Event::ToolFinished { id, outcome }),
            None => past,
        }
    }

    /// A call of the tool that reads, and its end if it has one.
    pub(crate) fn reads(self, given_id: &str, end: Option<ToolOutcome>) -> Self {
        self.calls(given_id, "read_file", CallInput::Json(json!({"path": "a"})), end)
    }

    pub(crate) fn ends(mut self, stop: StopReason) -> Self {
        let usage = Usage::default();
        self = self.add(Event::TurnFinished { stop, usage });
        self.turn = None;
        self
    }

    pub(crate) fn fails(mut self, class: ErrorClass) -> Self {
        let failure = Failure::new(class, "it failed");
        self = self.add(Event::TurnFailed { failure });
        self.turn = None;
        self
    }

    /// The process is killed.
    pub(crate) fn dies(mut self) -> Self {
        self.turn = None;
        self
    }

    /// The model refuses, and the turn leaves the history.
    pub(crate) fn refuses(self) -> Self {
        let keep_upto = self.prompt.saturating_sub(1);
        let why = HistoryMove::Refusal;
        self.add(Event::HistoryMoved { keep_upto, why })
            .ends(StopReason::Refusal)
    }

    pub(crate) fn clears(self) -> Self {
        let why = HistoryMove::Clear;
        self.add(Event::HistoryMoved { keep_upto: 0, why })
    }

    /// Room is made before a row.
    pub(crate) fn compacts(self, before: u64, what: Compaction) -> Self {
        let context = ContextUse::default();
        self.add(Event::Compacted { before, what, context })
    }

    /// A slash command, which the core answers itself, also beside a turn that goes on.
    pub(crate) fn commands(mut self, text: &str) -> Self {
        self.turns += 1;
        let of_turn = self.turn.replace(TurnId(self.turns));
        self = self.add(Event::UserMessage {
            id: MessageId::new(),
            content: vec![Content::text(text)],
            context: Vec::new(),
            command: true,
        });
        self = self.says("Done.").ends(StopReason::EndTurn);
        self.turn = of_turn;
        self
    }

    fn add(mut self, event: Event) -> Self {
        self.rows.push((self.turn, event));
        self
    }

    /// What a model of this dialect is asked when the session is prompted once more.
    pub(crate) fn ask(&self, dialect: Dialect, thought: Option<ThoughtLevel>) -> Value {
        let mock = Mock::answering(move |_| Spoken::text("Fine.").reply(dialect));
        let provider = Arc::new(remote::open(dialect, &mock, model(dialect)));
        let store = Store::memory();
        let session = SessionId::new();
        store.create(record(&session, provider.as_ref(), thought));
        let rows = self.rows.iter().enumerate().map(|(index, (turn, event))| Envelope {
            session: session.clone(),
            turn: *turn,
            seq: index as u64 + 1,
            event: at_home(event.clone(), provider.as_ref()),
        });
        store.append(&session, rows.collect(), Durability::Disk);
        let mut stage = Stage::opening(provider, store, session);
        let lines = stage.turn("one more thing", |_, _, _| {});
        stage.runtime.shutdown();
        assert!(lines.ends_with("turn: EndTurn\n"), "{lines}");
        let asked = mock.requests().pop().expect("the model was asked");
        assert!(asked.raw.contains("one more thing"), "{}", asked.raw);
        asked.body
    }
}

/// A model's name at its service, chosen for the strictest of its rules.
fn model(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat => "m",
        Dialect::OpenaiResponses => "gpt-5",
        Dialect::Anthropic => "claude-sonnet-4-5",
        Dialect::Gemini => "gemini-3-pro-preview",
    }
}

/// What a dialect's service gave is of the very model that is asked.
fn at_home(mut event: Event, provider: &dyn Provider) -> Event {
    let origin = &provider.model().origin;
    if let Event::StepFinished {
        native: Some(native), ..
    } = &mut event
        && native.origin.api == origin.api
    {
        native.origin.clone_from(origin);
    }
    event
}

fn record(id: &SessionId, provider: &dyn Provider, thought: Option<ThoughtLevel>) -> SessionRecord {
    let model = provider.model();
    SessionRecord {
        model: model.name.clone(),
        origin: model.origin.clone(),
        thought,
        system: "Be brief.".into(),
        ..stored::record(id, Path::new("/"))
    }
}

/// What each dialect keeps of a reply with a thought, a text and two calls, by the dialect's name.
static NATIVES: LazyLock<HashMap<&'static str, Native>> = LazyLock::new(|| {
    let natives = DIALECTS.map(|dialect| {
        let call = |id: &str| (id.to_owned(), "read_file".to_owned(), json!({"path": "a"}));
        let spoken = Spoken {
            calls: vec![call("a"), call("b")],
            ..Spoken::text("Let me see.").thinking("SEAL")
        };
        let mock = Mock::serve(vec![spoken.reply(dialect)]);
        let request = Request {
            system: "",
            tools: &[],
            messages: &[Message::User(vec![Content::text("go")])],
            thinking: None,
            counted: None,
        };
        let model = remote::open(dialect, &mock, model(dialect));
        let reply = model.complete(&request, &Cancel::new(), &mut |_| std::ops::ControlFlow::Continue(()));
        (
            dialect.name(),
            reply.expect("a whole reply").native.expect("a thought is kept"),
        )
    });
    natives.into()
});

pub(crate) fn outcome(status: ToolStatus, text: &str) -> ToolOutcome {
    let output = ToolOutput::text(text);
    ToolOutcome { status, output }
}

/// The end of a call that shows a picture.
pub(crate) fn with_picture() -> ToolOutcome {
    let output = ToolOutput {
        images: vec![picture()],
        ..ToolOutput::default()
    };
    ToolOutcome {
        status: ToolStatus::Completed,
        output,
    }
}

pub(crate) fn picture() -> Content {
    Content::Image {
        mime_type: "image/png".into(),
        data: Blob::Inline(b"png".as_slice().into()),
        uri: None,
    }
}
