//! The summary of a conversation: by its model, or where that gives none, of what is plain to see.

use std::ops::ControlFlow;

use crossbeam_channel::{after, select};

use super::Compactor;
use crate::content::{Content, plain_text};
use crate::event::{CallInput, ErrorClass};
use crate::provider::{Delta, Message, ProviderError, Request, Usage};
use crate::retry;

/// A summary and what it took.
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) usage: Usage,
}

/// What the model is asked for.
const TASK: &str = "[runtime] The conversation gets too long for your context. Write a summary that will take its place, \
for yourself to go on from. Say, under short headings: what the user wants, with their own words where they matter; what \
has been done and found, with names of files, functions and commands; what was decided and why; what is still to do and \
what comes next. Leave out what no longer matters. Call no tool; write the summary alone, at most 1,000 words.";

/// How often a part is left out because the rest does not fit either.
const CUTS: usize = 3;
/// A line of the plain summary, in characters.
const LINE: usize = 200;
/// The end of the last answer in it, in characters.
const LAST_WORDS: usize = 1500;

/// Sums messages up.
pub(super) fn of(compactor: &Compactor<'_>, messages: Vec<Message>, focus: &str) -> Result<Summary, ProviderError> {
    let plain = plain(&messages);
    // The built-in model answers instructions and knows nothing of summaries.
    if compactor.provider.model().origin.base_url.is_empty() {
        return Ok(plain);
    }
    let mut messages = messages;
    let task = match focus {
        "" => TASK.to_owned(),
        focus => format!("{TASK} The user wants this above all: {focus}"),
    };
    let mut tries = 1;
    let mut cuts = 0;
    loop {
        let failure = match ask(compactor, &messages, &task) {
            Ok(summary) if summary.text.trim().is_empty() => return Ok(plain),
            Ok(summary) => return Ok(summary),
            Err(ProviderError::Cancelled) => return Err(ProviderError::Cancelled),
            Err(ProviderError::Failed(failure)) => failure,
        };
        if failure.class == ErrorClass::ContextOverflow && cuts < CUTS && messages.len() > 2 {
            messages = later_half(messages);
            cuts += 1;
        } else if let Some(wait) = retry::wait_before_next(&failure, tries, fastrand::f64()) {
            select! {
                recv(compactor.cancel.closed()) -> _ => return Err(ProviderError::Cancelled),
                recv(after(wait)) -> _ => tries += 1,
            }
        } else {
            tracing::warn!(failure = failure.message, "the model gave no summary");
            return Ok(plain);
        }
    }
}

fn ask(compactor: &Compactor<'_>, messages: &[Message], task: &str) -> Result<Summary, ProviderError> {
    let system = compactor.session.standing().system.unwrap_or_default();
    let mut messages = messages.to_vec();
    // Who speaks changes with each message: some services refuse two of the user's in a row.
    match messages.last_mut() {
        Some(Message::User(content)) => content.push(Content::text(task)),
        Some(Message::Assistant { .. } | Message::ToolResult { .. }) | None => {
            messages.push(Message::User(vec![Content::text(task)]));
        }
    }
    let request = Request {
        system: &system,
        tools: &[],
        messages: &messages,
        thinking: None,
    };
    let mut text = String::new();
    let reply = compactor.provider.complete(&request, compactor.cancel, &mut |delta| {
        if let Delta::Text(piece) = delta {
            text.push_str(&piece);
        }
        ControlFlow::Continue(())
    });
    if compactor.cancel.is_set() {
        return Err(ProviderError::Cancelled);
    }
    let usage = reply?.usage;
    Ok(Summary { text, usage })
}

/// The later half, begun by a message of the user's as services want it; no result is parted from its call.
fn later_half(messages: Vec<Message>) -> Vec<Message> {
    let half = messages.len() / 2;
    let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
    let mut rest: Vec<Message> = messages.into_iter().skip(half).skip_while(is_result).collect();
    let note = Content::text("[The beginning is left out.]");
    match rest.first_mut() {
        Some(Message::User(content)) => content.insert(0, note),
        Some(Message::Assistant { .. } | Message::ToolResult { .. }) | None => {
            rest.insert(0, Message::User(vec![note]));
        }
    }
    rest
}

/// What is plain to see: what the user asked, what was called, and the last answer.
fn plain(messages: &[Message]) -> Summary {
    let mut text = String::from("What the user said:\n");
    let mut calls = Vec::new();
    let mut last = "";
    for message in messages {
        match message {
            Message::User(content) => {
                text.push_str(&format!("- {}\n", cut(&plain_text(content), LINE)));
            }
            Message::Assistant { text, calls: made, .. } => {
                if !text.is_empty() {
                    last = text;
                }
                calls.extend(made.iter().map(|call| match &call.input {
                    CallInput::Json(input) => cut(&format!("{} {input}", call.name), LINE),
                    CallInput::Malformed(_) => call.name.clone(),
                }));
            }
            Message::ToolResult { .. } => {}
        }
    }
    if !calls.is_empty() {
        // The newest say most of where the work stands.
        let newest = calls.iter().skip(calls.len().saturating_sub(20));
        let lines: String = newest.map(|call| format!("- {call}\n")).collect();
        text.push_str(&format!("\nThe last tool calls:\n{lines}"));
    }
    if !last.is_empty() {
        text.push_str(&format!("\nThe last answer: {}\n", cut(last, LAST_WORDS)));
    }
    Summary {
        text,
        usage: Usage::default(),
    }
}

fn cut(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
