//! One small real request to a model: whether an address, a key and a model's name are right is known only by asking.
//! What follows from the answer is the caller's business.

use std::fmt;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::content::Content;
use agent_core::event::{ErrorClass, Failure};
use agent_core::provider::{Delta, Message, Provider, ProviderError, Reply, Request, ToolSpec};
use agent_core::visible;
use crossbeam_channel::{RecvTimeoutError, bounded};
use serde_json::json;

/// How long an answer is waited for: a server on this machine may have to load the model first.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// How much of an answer is waited for, in characters. It bounds what the question costs; a limit in the request would
/// not do, since some services refuse one, and a turn sends none unless it is configured.
const ENOUGH: usize = 40;

/// What came back, in words.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered {
    /// Where the model was asked; empty for one inside this program.
    url: String,
    /// The beginning of what it said; empty if it thought, or called the tool.
    words: String,
    took: Duration,
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.url.is_empty() { "" } else { " at " };
        write!(f, "asked for one word{at}{}, ", self.url)?;
        match visible::line(self.words.trim()).as_str() {
            "" => f.write_str("began to answer")?,
            words => write!(f, "answered \"{words}\"")?,
        }
        write!(f, " after {:.1} s", self.took.as_secs_f32())
    }
}

/// Asks a model for one word, as a turn would: streamed, and with a tool if it is one that calls tools.
///
/// # Errors
/// Why there is no answer, with [`ErrorClass::Timeout`] also for one that takes longer than `patience`.
pub(crate) fn probe(provider: &dyn Provider, patience: Duration) -> Result<Answered, Failure> {
    let begun = Instant::now();
    let cancel = Cancel::new();
    let mut words = String::new();
    let mut thought = false;
    let mut sink = |delta| match delta {
        Delta::Thought(_) => {
            thought = true;
            ControlFlow::Break(())
        }
        Delta::Text(text) => {
            words.push_str(&text);
            if words.chars().count() < ENOUGH {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }
    };
    let answer = within(patience, &cancel, || ask(provider, &cancel, &mut sink));
    match answer {
        Err(ProviderError::Failed(failure)) => return Err(*failure),
        Err(ProviderError::Cancelled) if cancel.is_set() => return Err(too_late(provider, patience)),
        Ok(reply) if words.trim().is_empty() && !thought && reply.calls.is_empty() => return Err(empty(provider)),
        // What was cancelled otherwise has said enough.
        Err(ProviderError::Cancelled) | Ok(_) => {}
    }
    Ok(Answered {
        url: provider.model().origin.base_url.clone(),
        words,
        took: begun.elapsed(),
    })
}

fn ask(
    provider: &dyn Provider,
    cancel: &Cancel,
    sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
) -> Result<Reply, ProviderError> {
    let request = Request {
        system: "You are being tested. Answer with the one word that is asked for.",
        tools: &[ToolSpec {
            name: "note".to_owned(),
            description: "Keeps a text for later. Not needed now.".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        }],
        messages: &[Message::User(vec![Content::text("Say: ok")])],
        thinking: None,
        counted: None,
    };
    provider.complete(&request, cancel, sink)
}

/// Does `work`, and sets `cancel` if it takes too long.
fn within<T>(patience: Duration, cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Carries nothing: its end says that the work is done.
        let (working, ended) = bounded::<()>(0);
        scope.spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                cancel.set();
            }
        });
        let done = work();
        drop(working);
        done
    })
}

fn empty(provider: &dyn Provider) -> Failure {
    let model = provider.model();
    let message = format!(
        "{} at {} gave an empty answer; try again, or choose another model",
        model.name, model.origin.base_url
    );
    Failure {
        provider: Some(model.name.provider.clone()),
        ..Failure::new(ErrorClass::Protocol, message)
    }
}

fn too_late(provider: &dyn Provider, patience: Duration) -> Failure {
    let model = provider.model();
    let message = format!(
        "{} at {} has not answered within {} s; try again, as a server may still be loading the model",
        model.name,
        model.origin.base_url,
        patience.as_secs_f32()
    );
    Failure {
        provider: Some(model.name.provider.clone()),
        ..Failure::new(ErrorClass::Timeout, message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::provider::{Finish, ModelInfo, ModelRef, Origin, Reply, Usage};

    use super::*;

    /// Says some pieces, and then is done, fails, or hangs until it is cancelled.
    struct Model {
        info: ModelInfo,
        pieces: Vec<Delta>,
        end: Result<(), ErrorClass>,
        hangs: bool,
    }

    fn model(pieces: Vec<Delta>) -> Model {
        let origin = Origin {
            api: "openai-chat".into(),
            base_url: "http://x/v1".into(),
            model: "b".into(),
        };
        let info = ModelInfo {
            name: ModelRef {
                provider: "a".into(),
                model: "b".into(),
            },
            origin,
            context_window: None,
            max_output: None,
            images: false,
            tools: true,
            price: None,
        };
        Model {
            info,
            pieces,
            end: Ok(()),
            hangs: false,
        }
    }

    impl Provider for Model {
        fn model(&self) -> &ModelInfo {
            &self.info
        }

        fn complete(
            &self,
            request: &Request<'_>,
            cancel: &Cancel,
            sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
        ) -> Result<Reply, ProviderError> {
            assert_eq!((request.tools.len(), request.messages.len()), (1, 1));
            for piece in &self.pieces {
                if sink(piece.clone()).is_break() {
                    return Err(ProviderError::Cancelled);
                }
            }
            if self.hangs {
                let _ = cancel.closed().recv();
                return Err(ProviderError::Cancelled);
            }
            match self.end {
                Ok(()) => Ok(Reply {
                    calls: Vec::new(),
                    finish: Finish::Stop,
                    usage: Usage::default(),
                    native: None,
                    remark: None,
                }),
                Err(class) => Err(ProviderError::Failed(Box::new(Failure::new(class, "no")))),
            }
        }
    }

    fn said(model: &Model) -> Result<String, ErrorClass> {
        let answered = probe(model, Duration::from_millis(50)).map_err(|failure| failure.class)?;
        Ok(answered.to_string().split(" after ").next().unwrap().to_owned())
    }

    #[test]
    fn what_was_asked_and_what_came_back_is_said() {
        let check = |pieces: Vec<Delta>, expect: &str| {
            let shown = format!("{pieces:?}");
            assert_eq!(said(&model(pieces)).as_deref(), Ok(expect), "{shown}");
        };
        let text = |text: &str| Delta::Text(text.into());
        check(
            vec![text("o"), text("k\n")],
            "asked for one word at http://x/v1, answered \"ok\"",
        );
        check(
            vec![Delta::Thought("hm".into())],
            "asked for one word at http://x/v1, began to answer",
        );
        assert_eq!(said(&model(vec![])), Err(ErrorClass::Protocol));
        assert_eq!(said(&model(vec![text(" ")])), Err(ErrorClass::Protocol));
        check(
            vec![text("a\u{1b}[2Jb")],
            "asked for one word at http://x/v1, answered \"a\\u{1b}[2Jb\"",
        );
    }

    #[test]
    fn a_model_that_talks_on_is_cut_short() {
        let pieces = vec![Delta::Text("word ".into()); 1000];
        let answered = said(&model(pieces)).unwrap();
        assert!(answered.len() < 100, "{answered}");
    }

    #[test]
    fn a_failure_and_a_model_that_hangs_are_told() {
        let failing = Model {
            end: Err(ErrorClass::Auth),
            ..model(vec![])
        };
        assert_eq!(said(&failing), Err(ErrorClass::Auth));
        let hanging = Model {
            hangs: true,
            ..model(vec![])
        };
        assert_eq!(said(&hanging), Err(ErrorClass::Timeout));
        let stuck = Model {
            hangs: true,
            ..model(vec![Delta::Text("o".into())])
        };
        assert_eq!(said(&stuck), Err(ErrorClass::Timeout));
    }
}
