//! Asking a provider, for the tests around.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::Failure;
use agent_core::provider::{Delta, Message, ModelInfo, Provider, ProviderError, Reply, Request};
use providers::{Dialect, RemoteModel, Service};
use talaria_tests::mock::{Mock, Reply as Answer};
use talaria_tests::remote::{handle, info};

/// Long enough for a busy machine; reached only by a fault.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);
pub(crate) const KEY: &str = "sk-very-secret-0123456789";
pub(crate) const TEAM: &str = "team-token-1234";

/// What came of one question.
pub(crate) struct Outcome {
    pub thought: String,
    pub text: String,
    pub end: Result<Reply, ProviderError>,
}

impl Outcome {
    /// The failure that it must have been.
    pub(crate) fn failure(self) -> Failure {
        match self.end {
            Err(ProviderError::Failed(failure)) => *failure,
            end @ (Ok(_) | Err(ProviderError::Cancelled)) => panic!("{end:?}"),
        }
    }
}

pub(crate) fn ask_once(answer: Answer) -> Outcome {
    ask_once_in(Dialect::OpenaiChat, answer)
}

/// Asks a service that speaks a dialect and gives this answer.
pub(crate) fn ask_once_in(dialect: Dialect, answer: Answer) -> Outcome {
    let mock = Mock::serve(vec![answer]);
    let outcome = ask(&open(Service {
        dialect,
        ..service(&mock)
    }));
    assert_eq!(mock.requests().len(), 1, "a provider tries once");
    outcome
}

pub(crate) fn ask(provider: &RemoteModel) -> Outcome {
    ask_with(provider, prompt().messages)
}

pub(crate) fn ask_with(provider: &RemoteModel, messages: &[Message]) -> Outcome {
    ask_for(provider, &Request { messages, ..prompt() })
}

pub(crate) fn ask_for(provider: &RemoteModel, request: &Request<'_>) -> Outcome {
    let (mut thought, mut text) = (String::new(), String::new());
    let end = provider.complete(request, &Cancel::new(), &mut |delta| {
        match delta {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::Thought(piece) => thought.push_str(&piece),
        }
        ControlFlow::Continue(())
    });
    Outcome { thought, text, end }
}

pub(crate) fn prompt() -> Request<'static> {
    static MESSAGES: OnceLock<Vec<Message>> = OnceLock::new();
    Request {
        system: "Be brief.",
        tools: &[],
        messages: MESSAGES.get_or_init(|| vec![Message::User(vec![Content::text("go")])]),
        thinking: None,
        counted: None,
    }
}

pub(crate) fn provider(mock: &Mock) -> RemoteModel {
    open(service(mock))
}

pub(crate) fn open(service: Service) -> RemoteModel {
    let mut model = model(&service.base_url);
    model.origin.api = service.dialect.name().into();
    RemoteModel::new(service, model, handle()).unwrap()
}

pub(crate) fn service(mock: &Mock) -> Service {
    let mut service = Service::new("mock", mock.base_url());
    service.key = Some(KEY.to_owned().into());
    service.key_env = Some("MOCK_API_KEY".into());
    service.headers.insert("x-team".into(), TEAM.into());
    service.stall = LIMIT;
    service
}

/// A model that sees no pictures, in Chat Completions.
pub(crate) fn model(base_url: &str) -> ModelInfo {
    ModelInfo {
        images: false,
        ..info(Dialect::OpenaiChat, base_url, "m")
    }
}

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("data/streams")
        .join(name)
}

pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}
