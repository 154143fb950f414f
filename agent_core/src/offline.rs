//! The built-in model for a program that no language model is configured for: it follows a few fixed instructions
//! and says so. It is a pure function of the request's messages: no network, no key, no memory.
//!
//! A prompt becomes the notice and the calls its lines stand for; their results become a closing report.

mod instruction;
mod report;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use crate::cancel::Cancel;
use crate::content::Content;
use crate::event::CallInput;
use crate::fence::{code, fenced};
use crate::inline;
use crate::prompt;
use crate::provider::{
    Call, Delta, Finish, Message, ModelInfo, ModelRef, Origin, Provider, ProviderError, Reply, Request, Usage,
};
use instruction::{Instruction, Line};

/// The first line of every answer where no model is configured.
pub const NOTICE: &str = "No language model is configured, so only a few fixed instructions are understood: \
                          run `agent setup` to choose a model, or say `help`.";

/// The model that is none.
pub struct Offline {
    model: ModelInfo,
    /// The first line of every answer.
    notice: String,
}

impl Offline {
    /// The model under its one name, `offline/offline`.
    pub fn new() -> Self {
        Self::saying(NOTICE.to_owned())
    }

    /// The same in a session that has it although another one is configured.
    pub fn beside(configured: &ModelRef) -> Self {
        Self::saying(format!(
            "This session uses the built-in offline model, which understands only a few fixed instructions: \
             `/model {configured}` changes that, or say `help`."
        ))
    }

    fn saying(notice: String) -> Self {
        let name = ModelRef::offline();
        Self {
            model: ModelInfo {
                origin: Origin::offline(),
                name,
                context_window: None,
                max_output: None,
                images: false,
                tools: true,
                price: None,
            },
            notice,
        }
    }
}

impl Default for Offline {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Offline {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let Answer { text, calls } = answer(request.messages, &self.notice);
        for word in text.split_inclusive(char::is_whitespace) {
            if cancel.is_set() || sink(Delta::Text(word.to_owned())).is_break() {
                return Err(ProviderError::Cancelled);
            }
        }
        Ok(Reply {
            finish: if calls.is_empty() {
                Finish::Stop
            } else {
                Finish::ToolCalls
            },
            calls,
            usage: Usage::default(),
            native: None,
            remark: None,
        })
    }
}

/// What the model says and calls.
struct Answer {
    text: String,
    calls: Vec<Call>,
}

fn answer(messages: &[Message], notice: &str) -> Answer {
    match messages.last() {
        Some(Message::User(content)) => follow(&prompt_text(content), messages.len(), notice),
        Some(Message::ToolResult { .. }) => Answer {
            text: report::closing(messages),
            calls: Vec::new(),
        },
        Some(Message::Assistant { .. }) | None => follow("", messages.len(), notice),
    }
}

/// What the user wrote, each mention as a path; without the runtime's notes.
fn prompt_text(content: &[Content]) -> String {
    let written: Vec<Content> = content
        .iter()
        .filter(|piece| !prompt::is_note(piece))
        .cloned()
        .collect();
    inline::text(&written, |uri, _| inline::path_of(uri))
}

/// Does what the lines of a prompt ask for. `position` makes the calls' ids unique within the conversation.
fn follow(prompt: &str, position: usize, notice: &str) -> Answer {
    let mut paragraphs = vec![notice.to_owned()];
    let mut calls = Vec::new();
    let mut unknown = Vec::new();
    for line in instruction::read(prompt) {
        match line {
            Line::Fits(Instruction::Say(text)) => paragraphs.push(text),
            Line::Fits(Instruction::Help) => paragraphs.push(help()),
            Line::Fits(Instruction::Call { tool, input }) => calls.push(Call {
                id: format!("offline_{position}_{}", calls.len()),
                name: tool.to_owned(),
                input: CallInput::Json(input),
            }),
            Line::Almost(line, usage) => paragraphs.push(format!(
                "Not understood: {}. It is written {}.",
                code(&report::cut(line)),
                code(usage)
            )),
            Line::Other(line) => unknown.push(line),
        }
    }
    let did_nothing = paragraphs.len() == 1 && calls.is_empty();
    if let Some(first) = unknown.first() {
        paragraphs.push(not_understood(first, unknown.len() - 1));
    }
    if did_nothing {
        paragraphs.push(help());
    }
    Answer {
        text: paragraphs.join("\n\n"),
        calls,
    }
}

fn not_understood(first: &str, more: usize) -> String {
    let first = code(&report::cut(first));
    match more {
        0 => format!("Not understood: {first}."),
        1 => format!("Not understood: {first} and 1 more line."),
        _ => format!("Not understood: {first} and {more} more lines."),
    }
}

fn help() -> String {
    format!("One instruction a line:\n\n{}", fenced(instruction::HELP).trim_end())
}
