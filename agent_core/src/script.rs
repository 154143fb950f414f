//! A model that plays a file of replies, for tests and demonstrations. It reads nothing of what it is asked.
//!
//! Each request takes the next reply, over the whole life of the [`Script`]; a request that is tried again takes the
//! one after. A reply is a list of steps, played in order:
//!
//! ```
//! use agent_core::script::Script;
//!
//! let script = Script::parse(
//!     r#"{
//!         "after": "error",
//!         "model": { "context_window": 32768, "images": false },
//!         "replies": [
//!             {
//!                 "steps": [
//!                     { "thought": "The file comes first." },
//!                     { "text": "Let me look. " },
//!                     { "delay_ms": 200 },
//!                     { "call": { "name": "read_file", "input": { "path": "a.rs" } } },
//!                     { "call": { "name": "read_file", "id": "mine", "arguments": "{\"path\":" } }
//!                 ],
//!                 "usage": { "input": 1200, "output": 40 }
//!             },
//!             { "steps": [{ "error": { "class": "rate_limit", "message": "slow down", "status": 429, "retry_after_ms": 50 } }] },
//!             { "steps": [{ "repeat": 100000, "text": "word " }], "finish": "length" },
//!             { "steps": [{ "wait_cancel": true }] }
//!         ]
//!     }"#,
//!     "script/demo".parse()?,
//! )?;
//! # let _ = script;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `arguments` stands for `input` where the text itself matters: text that is no JSON is a malformed call. `after` says
//! what follows the last reply: `error`, the default, or `repeat`, from the first one again. `finish` is `tool_calls`
//! where there are calls and `stop` otherwise, unless it is given. A delay and `wait_cancel` end at once at a cancel.

#[cfg(test)]
mod tests;
mod wire;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::event::{CallInput, ErrorClass, Failure};
use crate::provider::{Call, Delta, Finish, ModelInfo, ModelRef, Provider, ProviderError, Reply, Request, Usage};

/// A model that plays replies.
pub struct Script {
    model: ModelInfo,
    replies: Vec<ScriptReply>,
    after: After,
    /// Requests so far: the number of the next reply.
    next: AtomicUsize,
}

/// What follows the last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// An error that says so.
    #[default]
    Error,
    /// The first one again.
    Repeat,
}

/// One reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptReply {
    /// What happens, in order.
    pub steps: Vec<ScriptStep>,
    /// Why the model stops; none: as its calls want it.
    pub finish: Option<Finish>,
    /// Tokens.
    pub usage: Usage,
}

/// One thing that happens in a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptStep {
    /// A piece comes, this many times.
    Say {
        /// How often.
        times: usize,
        /// The piece.
        delta: Delta,
    },
    /// A call is made.
    Call {
        /// Its id; none: one that is unique within the script.
        id: Option<String>,
        /// The tool's name.
        name: String,
        /// Its arguments.
        input: CallInput,
    },
    /// The request fails.
    Fail(Box<Failure>),
    /// Nothing happens for a time, or until a cancel.
    Delay(Duration),
    /// Nothing happens until a cancel.
    WaitCancel,
}

/// Why a script can't be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("can't read the script {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The text is no script.
    #[error("the script of {model} makes no sense at `{at}`")]
    Parse {
        /// The model it was to be.
        model: ModelRef,
        /// The place in it, such as `replies[0].steps[2].call`.
        at: String,
        /// The cause.
        source: serde_json::Error,
    },
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// When the file can't be read or is no script.
    pub fn open(path: &Path, model: ModelRef) -> Result<Self, ScriptError> {
        let json = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&json, model)
    }

    /// Reads a script.
    ///
    /// # Errors
    /// When the text is no script.
    pub fn parse(json: &str, model: ModelRef) -> Result<Self, ScriptError> {
        wire::parse(json, model)
    }

    /// A script of these replies, named `script/script`; an error follows the last one.
    pub fn from_replies(replies: Vec<ScriptReply>) -> Self {
        let name = ModelRef {
            provider: "script".into(),
            model: "script".into(),
        };
        Self {
            model: wire::ModelLine::default().named(name),
            replies,
            after: After::Error,
            next: AtomicUsize::new(0),
        }
    }

    /// The number of the next reply, from 0, and the reply.
    fn next_reply(&self) -> Result<(usize, &ScriptReply), ProviderError> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let index = match self.after {
            After::Error => Some(number),
            After::Repeat => number.checked_rem(self.replies.len()),
        };
        let reply = index.and_then(|index| self.replies.get(index));
        reply.map(|reply| (number, reply)).ok_or_else(|| self.at_its_end())
    }

    fn at_its_end(&self) -> ProviderError {
        ProviderError::Failed(Box::new(Failure {
            class: ErrorClass::Config,
            message: format!(
                "the script of {} is at its end: all its replies ({}) have been played; add replies, \
                 or play them again with `\"after\": \"repeat\"`",
                self.model.name,
                self.replies.len()
            ),
            provider: Some(self.model.name.provider.clone()),
            status: None,
            retry_after_ms: None,
        }))
    }
}

impl Provider for Script {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn complete(
        &self,
        _request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let (number, reply) = self.next_reply()?;
        let mut calls = Vec::new();
        for step in &reply.steps {
            match step {
                ScriptStep::Say { times, delta } => say(*times, delta, cancel, sink)?,
                ScriptStep::Call { id, name, input } => calls.push(Call {
                    id: id.clone().unwrap_or_else(|| format!("script_{number}_{}", calls.len())),
                    name: name.clone(),
                    input: input.clone(),
                }),
                ScriptStep::Fail(failure) => return Err(ProviderError::Failed(failure.clone())),
                ScriptStep::Delay(time) => wait(Some(*time), cancel)?,
                ScriptStep::WaitCancel => wait(None, cancel)?,
            }
        }
        if cancel.is_set() {
            return Err(ProviderError::Cancelled);
        }
        let natural = if calls.is_empty() {
            Finish::Stop
        } else {
            Finish::ToolCalls
        };
        Ok(Reply {
            finish: reply.finish.unwrap_or(natural),
            calls,
            usage: reply.usage,
            native: None,
            remark: None,
        })
    }
}

fn say(
    times: usize,
    delta: &Delta,
    cancel: &Cancel,
    sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
) -> Result<(), ProviderError> {
    for _ in 0..times {
        if cancel.is_set() || sink(delta.clone()).is_break() {
            return Err(ProviderError::Cancelled);
        }
    }
    Ok(())
}

/// Waits for a time, or without end; a cancel ends both.
fn wait(time: Option<Duration>, cancel: &Cancel) -> Result<(), ProviderError> {
    use crossbeam_channel::RecvTimeoutError;
    let ended = match time {
        Some(time) => cancel.closed().recv_timeout(time),
        None => cancel.closed().recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    match ended {
        Err(RecvTimeoutError::Timeout) => Ok(()),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(ProviderError::Cancelled),
    }
}

impl ScriptReply {
    /// A reply of these steps.
    pub fn new(steps: impl Into<Vec<ScriptStep>>) -> Self {
        Self {
            steps: steps.into(),
            ..Self::default()
        }
    }
}

impl ScriptStep {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Say {
            times: 1,
            delta: Delta::Text(text.into()),
        }
    }

    /// A piece of a thought.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Say {
            times: 1,
            delta: Delta::Thought(text.into()),
        }
    }

    /// A call with these arguments.
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self::Call {
            id: None,
            name: name.into(),
            input: CallInput::Json(input),
        }
    }
}
