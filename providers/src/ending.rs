//! Why a reply ended, in the words of all services: gateways pass on those of others.

use agent_core::provider::Finish;
use serde_json::Value;

use crate::classify::Said;
use crate::trouble::{Trouble, excerpt};

/// How much of a reason that nobody knows is told, in characters.
const LONGEST: usize = 60;

/// The end of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub finish: Finish,
    /// What the user should know of it.
    pub remark: Option<String>,
}

impl Ending {
    /// Whether the reply may have lost its end.
    pub(crate) fn is_cut(&self) -> bool {
        match self.finish {
            Finish::Length | Finish::ContentFilter | Finish::Refusal => true,
            Finish::Stop | Finish::ToolCalls => self.remark.is_some(),
        }
    }

    /// What it means where the reply has calls, or has none: services are not exact about that.
    pub(crate) fn with_calls(self, has_calls: bool) -> Self {
        let finish = match self.finish {
            Finish::Stop | Finish::ToolCalls if has_calls => Finish::ToolCalls,
            Finish::Stop | Finish::ToolCalls => Finish::Stop,
            other @ (Finish::Length | Finish::ContentFilter | Finish::Refusal) => other,
        };
        Self { finish, ..self }
    }
}

impl From<Finish> for Ending {
    fn from(finish: Finish) -> Self {
        Self { finish, remark: None }
    }
}

/// What a service's reason means; none if it is no end. One that nobody knows may be a fine end or not, so the reply
/// counts and the user is told.
pub(crate) fn ending(reason: &str) -> Result<Option<Ending>, Trouble> {
    let finish = match reason.to_ascii_lowercase().as_str() {
        "" | "finish_reason_unspecified" => return Ok(None),
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "eot" | "end" | "done" | "complete"
        | "completed" | "finish" | "finished" => Finish::Stop,
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => Finish::ToolCalls,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "max_length"
        | "model_length"
        | "time_limit"
        | "model_context_window_exceeded" => Finish::Length,
        "content_filter"
        | "content_filtered"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "image_safety"
        | "image_recitation"
        | "image_prohibited_content" => Finish::ContentFilter,
        "refusal" => Finish::Refusal,
        // A call that the service itself could not read is among these: asked again, the model often does better.
        "error"
        | "abort"
        | "aborted"
        | "cancelled"
        | "canceled"
        | "timeout"
        | "insufficient_system_resource"
        | "malformed_function_call"
        | "malformed_response"
        | "unexpected_tool_call"
        | "too_many_tool_calls"
        | "missing_thought_signature"
        | "language"
        | "other"
        | "image_other"
        | "no_image" => {
            return Err(stopped(&format!("with the reason {reason}")));
        }
        _ => {
            let reason = excerpt(reason, LONGEST);
            return Ok(Some(Ending {
                finish: Finish::Stop,
                remark: Some(format!(
                    "the service ended this reply for the reason \"{reason}\", which is not known here"
                )),
            }));
        }
    };
    Ok(Some(finish.into()))
}

/// The failure of a service that ended a reply in such a way.
pub(crate) fn stopped(how: &str) -> Trouble {
    Trouble::Said(Said::in_json(&Value::String(format!("it stopped {how}"))))
}
