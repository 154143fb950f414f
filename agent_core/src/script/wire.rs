//! The file format of a script, and its translation into typed steps.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{After, Script, ScriptError, ScriptReply, ScriptStep};
use crate::event::{CallInput, ErrorClass, Failure};
use crate::provider::{Delta, Finish, ModelInfo, ModelRef, Origin, Usage};

/// Reads a script.
pub(super) fn parse(json: &str, name: ModelRef) -> Result<Script, ScriptError> {
    let fault = |at: String, source| ScriptError::Parse {
        model: name.clone(),
        at,
        source,
    };
    let mut reader = serde_json::Deserializer::from_str(json);
    let file: File = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| fault(error.path().to_string(), error.into_inner()))?;
    reader.end().map_err(|source| fault("end".to_owned(), source))?;
    let mut replies: Vec<ScriptReply> = file.replies.into_iter().map(ScriptReply::from).collect();
    for step in replies.iter_mut().flat_map(|reply| &mut reply.steps) {
        if let ScriptStep::Fail(failure) = step {
            failure.provider = Some(name.provider.clone());
        }
    }
    Ok(Script {
        model: file.model.named(name),
        replies,
        after: file.after,
        next: AtomicUsize::new(0),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    replies: Vec<ReplyLine>,
    #[serde(default)]
    after: After,
    #[serde(default)]
    model: ModelLine,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ModelLine {
    context_window: Option<u64>,
    max_output: Option<u64>,
    images: bool,
    tools: bool,
}

impl Default for ModelLine {
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            images: true,
            tools: true,
        }
    }
}

impl ModelLine {
    /// What is known of a scripted model of this name.
    pub(super) fn named(self, name: ModelRef) -> ModelInfo {
        ModelInfo {
            origin: Origin {
                api: "script".into(),
                base_url: String::new(),
                model: name.model.clone(),
            },
            name,
            context_window: self.context_window,
            max_output: self.max_output,
            images: self.images,
            tools: self.tools,
            price: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyLine {
    steps: Vec<StepLine>,
    #[serde(default)]
    finish: Option<Finish>,
    #[serde(default)]
    usage: Usage,
}

impl From<ReplyLine> for ScriptReply {
    fn from(reply: ReplyLine) -> Self {
        Self {
            steps: reply.steps.into_iter().map(|step| step.0).collect(),
            finish: reply.finish,
            usage: reply.usage,
        }
    }
}

/// A step, read by way of [`StepKeys`] so that a wrong one is told with its place in the file.
#[derive(Deserialize)]
#[serde(try_from = "StepKeys")]
struct StepLine(ScriptStep);

/// Every key that a step may have. Which of them make a step is said by [`StepLine`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct StepKeys {
    text: Option<String>,
    thought: Option<String>,
    repeat: Option<usize>,
    call: Option<CallLine>,
    error: Option<ErrorLine>,
    delay_ms: Option<u64>,
    wait_cancel: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine {
    name: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorLine {
    class: ErrorClass,
    message: String,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

impl TryFrom<StepKeys> for StepLine {
    type Error = &'static str;

    fn try_from(keys: StepKeys) -> Result<Self, &'static str> {
        let times = keys.repeat;
        let say = |delta| ScriptStep::Say {
            times: times.unwrap_or(1),
            delta,
        };
        let pieces = keys
            .text
            .map(Delta::Text)
            .into_iter()
            .chain(keys.thought.map(Delta::Thought));
        let mut steps: Vec<ScriptStep> = pieces.map(say).collect();
        if times.is_some() && steps.is_empty() {
            return Err("`repeat` needs the `text` or `thought` to repeat");
        }
        if let Some(call) = keys.call {
            steps.push(call.step()?);
        }
        steps.extend(keys.error.map(ErrorLine::step));
        steps.extend(
            keys.delay_ms
                .map(|delay| ScriptStep::Delay(Duration::from_millis(delay))),
        );
        steps.extend(keys.wait_cancel.then_some(ScriptStep::WaitCancel));
        match steps.pop() {
            Some(step) if steps.is_empty() => Ok(Self(step)),
            Some(_) | None => Err("a step has exactly one of text, thought, call, error, delay_ms and wait_cancel"),
        }
    }
}

impl CallLine {
    fn step(self) -> Result<ScriptStep, &'static str> {
        let input = match (self.input, self.arguments) {
            (Some(_), Some(_)) => return Err("a call has `input` or `arguments`, not both"),
            (Some(input), None) => CallInput::Json(input),
            (None, Some(text)) => serde_json::from_str(&text).map_or(CallInput::Malformed(text), CallInput::Json),
            (None, None) => CallInput::Json(Value::Object(serde_json::Map::new())),
        };
        Ok(ScriptStep::Call {
            id: self.id,
            name: self.name,
            input,
        })
    }
}

impl ErrorLine {
    fn step(self) -> ScriptStep {
        ScriptStep::Fail(Box::new(Failure {
            class: self.class,
            message: self.message,
            provider: None,
            status: self.status,
            retry_after_ms: self.retry_after_ms,
        }))
    }
}
