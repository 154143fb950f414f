//! The summary of a conversation: by its model, or where that gives none, of what is plain to see.

use std::ops::ControlFlow;

use super::{Compactor, Reason, helps};
use crate::content::{Content, plain_text};
use crate::event::CallInput;
use crate::history::note_all;
use crate::patience::Patience;
use crate::provider::{Delta, Finish, Message, ProviderError, Reply, Request};

/// What the model is asked for.
const TASK: &str = "[runtime] The conversation gets too long for your context. Write a summary that will take its place, \
for yourself to go on from. Say, under short headings: what the user wants, with their own words where they matter; what \
has been done and found, with names of files, functions and commands; what was decided and why; what is still to do and \
what comes next. Leave out what no longer matters. Call no tool; write the summary alone, at most 1,000 words.";

/// Tokens of a reply that has the summary, and thoughts before it.
const LENGTH: u64 = 4096;
/// How often a part is left out because the service does not take the rest either.
const CUTS: usize = 3;
/// A text of fewer bytes is not cut in half.
const HALVED: usize = 1000;
/// A line of the plain summary, in characters.
const LINE: usize = 200;
/// The end of the last answer in it, in characters.
const LAST_WORDS: usize = 1500;

/// Sums up what is before a row. None where the model gives no summary, though there is a way on without one.
///
/// # Errors
/// Why the model can't be asked, where there is a way on without a summary.
pub(super) fn of(
    compactor: &mut Compactor<'_>,
    before: u64,
    reason: Reason,
    focus: &str,
) -> Result<Option<String>, ProviderError> {
    let messages = compactor.history.before(before);
    let plain = plain(messages);
    // The built-in model answers instructions and knows nothing of summaries.
    if compactor.provider.model().origin.base_url.is_empty() {
        return Ok(Some(plain));
    }
    let question = Question::new(messages.to_vec(), focus);
    match (ask(compactor, question), reason) {
        (Err(ProviderError::Cancelled), _) => Err(ProviderError::Cancelled),
        // There is no way on with all of it: what is plain to see is better than nothing.
        (Ok(None), Reason::Full | Reason::Refused(_)) | (Err(_), Reason::Refused(_)) => Ok(Some(plain)),
        (asked, Reason::Full | Reason::Asked | Reason::Refused(_)) => asked,
    }
}

/// Asks until there is a summary, or the model gives none.
fn ask(compactor: &mut Compactor<'_>, mut question: Question) -> Result<Option<String>, ProviderError> {
    let mut patience = Patience::new();
    let mut cuts = 0;
    while !question.fits(compactor) {
        if !question.shrink() {
            return Ok(None);
        }
    }
    loop {
        match question.once(compactor) {
            Ok(Said::Summary(text)) => return Ok(Some(text)),
            // Without tools and long outputs it may do better.
            Ok(Said::Unfinished) if question.is_whole => {
                question.shrink();
            }
            Ok(Said::Unfinished | Said::Nothing) => return Ok(None),
            Err(ProviderError::Cancelled) => return Err(ProviderError::Cancelled),
            Err(ProviderError::Failed(failure)) => {
                if helps(failure.class) && cuts < CUTS && question.shrink() {
                    cuts += 1;
                } else if !patience.wait(&failure, compactor.cancel, |notice| compactor.tell(notice))? {
                    tracing::warn!(failure = failure.message, "the model gave no summary");
                    return match helps(failure.class) {
                        // However little it is asked to read, it is too much.
                        true => Ok(None),
                        false => Err(ProviderError::Failed(failure)),
                    };
                }
            }
        }
    }
}

/// What the model is asked to sum up.
struct Question {
    /// The last one has the task.
    messages: Vec<Message>,
    /// It begins as the last request did, so that the service's cache of prompts has nearly all of it.
    is_whole: bool,
}

/// What came of it.
enum Said {
    Summary(String),
    /// It was cut, or the model would rather call tools.
    Unfinished,
    Nothing,
}

impl Question {
    fn new(mut messages: Vec<Message>, focus: &str) -> Self {
        let task = Content::text(match focus {
            "" => TASK.to_owned(),
            focus => format!("{TASK} The user wants this above all: {focus}"),
        });
        // Who speaks changes with each message: some services refuse two of the user's in a row.
        match messages.last_mut() {
            Some(Message::User(content)) => content.push(task),
            Some(Message::Assistant { .. } | Message::ToolResult { .. }) | None => {
                messages.push(Message::User(vec![task]));
            }
        }
        Self {
            messages,
            is_whole: true,
        }
    }

    fn request<'a>(&'a self, compactor: &'a Compactor<'_>, system: &'a str) -> Request<'a> {
        Request {
            system,
            tools: if self.is_whole { compactor.tools } else { &[] },
            messages: &self.messages,
            // Another level would be another prompt for some caches.
            thinking: compactor.session.settings().thought,
            counted: compactor.history.counted(compactor.fixed_size()),
        }
    }

    /// Whether the context holds it and a summary.
    fn fits(&self, compactor: &Compactor<'_>) -> bool {
        let model = compactor.provider.model();
        let most = model
            .max_output
            .into_iter()
            .chain(model.context_window.map(|window| window / 4));
        let reply = most.fold(LENGTH, u64::min);
        let system = compactor.session.standing().system.unwrap_or_default();
        self.request(compactor, &system).leaves(reply, model)
    }

    /// Leaves something out: the tools and long outputs first, then the earlier half, and of what is one piece the end.
    /// False where nothing is left to leave out.
    fn shrink(&mut self) -> bool {
        if self.is_whole {
            self.is_whole = false;
            self.messages.iter_mut().for_each(note_all);
            return true;
        }
        let size = |messages: &[Message]| -> usize { messages.iter().map(Message::size).sum() };
        let half = later_half(&self.messages);
        if half.len() > 1 && size(&half) < size(&self.messages) {
            self.messages = half;
            return true;
        }
        halve_texts(&mut self.messages)
    }

    fn once(&self, compactor: &mut Compactor<'_>) -> Result<Said, ProviderError> {
        let system = compactor.session.standing().system.unwrap_or_default();
        let mut text = String::new();
        let request = self.request(compactor, &system);
        let reply = compactor.provider.complete(&request, compactor.cancel, &mut |delta| {
            if let Delta::Text(piece) = delta {
                text.push_str(&piece);
            }
            ControlFlow::Continue(())
        });
        let cancelled = compactor.cancel.is_set();
        let Reply {
            calls, finish, usage, ..
        } = reply?;
        compactor.pay(usage);
        Ok(match finish {
            _ if cancelled => return Err(ProviderError::Cancelled),
            Finish::Length | Finish::ToolCalls => Said::Unfinished,
            Finish::Stop if !calls.is_empty() => Said::Unfinished,
            Finish::Stop if text.trim().is_empty() => Said::Nothing,
            Finish::Stop => Said::Summary(text),
            Finish::ContentFilter | Finish::Refusal => Said::Nothing,
        })
    }
}

/// The later half, begun by a message of the user's as services want it; no result is parted from its call.
fn later_half(messages: &[Message]) -> Vec<Message> {
    let half = messages.iter().skip(messages.len() / 2);
    let is_result = |message: &&Message| matches!(message, Message::ToolResult { .. });
    let mut rest: Vec<Message> = half.skip_while(is_result).cloned().collect();
    let note = Content::text("[The beginning is left out.]");
    match rest.first_mut() {
        Some(Message::User(content)) => content.insert(0, note),
        Some(Message::Assistant { .. } | Message::ToolResult { .. }) | None => {
            rest.insert(0, Message::User(vec![note]));
        }
    }
    rest
}

/// Cuts long texts in half. The last one is the task and stays. False where none is long.
fn halve_texts(messages: &mut [Message]) -> bool {
    let texts = messages.iter_mut().flat_map(|message| match message {
        Message::User(content) => content.iter_mut().filter_map(text_of).collect(),
        Message::Assistant { text, native, .. } => {
            *native = None;
            vec![text]
        }
        Message::ToolResult { .. } => Vec::new(),
    });
    let mut texts: Vec<&mut String> = texts.collect();
    texts.pop();
    let mut are_cut = false;
    for text in texts.into_iter().filter(|text| text.len() > HALVED) {
        let middle = text.len() / 2;
        let half = text.char_indices().map(|(end, _)| end).find(|end| *end >= middle);
        text.truncate(half.unwrap_or(0));
        text.push_str(" […]");
        are_cut = true;
    }
    are_cut
}

fn text_of(piece: &mut Content) -> Option<&mut String> {
    match piece {
        Content::Text { text } | Content::Resource { text, .. } => Some(text),
        Content::Image { .. } | Content::Link { .. } => None,
    }
}

/// What is plain to see: what the user asked, what was called, and the last answer.
fn plain(messages: &[Message]) -> String {
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
    text
}

fn cut(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
