//! The model of a walk: what it says is in the prompt, so that no order of prompts, cancels and steers confuses it.

use std::ops::ControlFlow;

use agent_core::cancel::Cancel;
use agent_core::content::plain_text;
use agent_core::event::{CallInput, ErrorClass, Failure};
use agent_core::provider::{Delta, Message, ModelInfo, Provider, ProviderError, Reply, Request};
use agent_core::script::{Script, ScriptReply, ScriptStep};
use serde_json::{Value, json};
use talaria_tests::mock::{self, Asked};

use crate::steps::Play;

/// The tool of the MCP server, as the model has it.
const FAR: &str = "mcp__far__write";

/// A prompt's text. Its number is unique within a walk.
pub(crate) fn prompt(play: Play, number: usize) -> String {
    format!("play {play:?} {number}.")
}

/// What is said to a turn.
pub(crate) fn steer(number: usize) -> String {
    format!("/steer heed {number}.")
}

/// The files that a prompt's calls write or make, in the order of the calls.
pub(crate) fn effects(play: Play, number: usize) -> Vec<String> {
    match play {
        Play::Edit => vec![format!("edit-{number}.txt")],
        Play::Pair => vec![format!("pair-{number}.a.txt"), format!("pair-{number}.b.txt")],
        Play::Touch | Play::Command | Play::Sleep => vec![format!("ran-{number}.txt")],
        Play::Far => vec![format!("far-{number}.txt")],
        Play::Text | Play::Hold | Play::Fail | Play::Reads | Play::Ask | Play::Wrong => Vec::new(),
    }
}

/// The file that a prompt's calls read.
pub(crate) fn seen(number: usize) -> String {
    format!("seen-{number}.txt")
}

/// The number in something that a prompt led to, such as `edit-12.txt` or `say-12 one`.
pub(crate) fn number_in(text: &str) -> Option<usize> {
    const WORDS: [&str; 11] = [
        "far-", "edit-", "pair-", "ran-", "seen-", "which-", "say-", "hold-", "done-", "wrong-", "out-",
    ];
    WORDS.iter().find_map(|word| {
        let (_, rest) = text.split_once(word)?;
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok()
    })
}

/// A part of a reply.
enum Part {
    Text(String),
    Call(&'static str, Value),
    /// A call whose arguments are no JSON.
    Broken(&'static str, String),
    Hold,
    Fail,
}

/// The number of a prompt that has its calls in itself.
pub(crate) fn done_in(said: &str) -> Option<usize> {
    said.strip_prefix("do ")?.split_once(". ")?.0.parse().ok()
}

/// What is answered to a conversation in which the user has said this, with so many results after the last of it.
fn reply(users: &[String], results: usize) -> Vec<Part> {
    let text = |text: String| vec![Part::Text(text)];
    let said = users.last().map_or("", String::as_str);
    if done_in(said).is_some() {
        let seen: Vec<usize> = users.iter().filter_map(|said| done_in(said)).collect();
        return match results {
            0 => calls_in(said),
            _ => text(format!("seen {seen:?}")),
        };
    }
    if let Some((_, number)) = said.split_once("heed ") {
        return text(format!("heard {number}"));
    }
    let words = said.split_once("play ").map_or("", |(_, words)| words);
    let mut words = words.split([' ', '.']);
    let (Some(kind), Some(number)) = (words.next(), words.next().and_then(|word| word.parse().ok())) else {
        return text("What?".to_owned());
    };
    if results > 0 {
        return text(format!("done-{number}"));
    }
    calls(kind, number)
}

fn calls_in(said: &str) -> Vec<Part> {
    let calls = said.split_once(". ").map_or("", |(_, calls)| calls);
    let calls: Vec<(String, Value)> = serde_json::from_str(calls).expect("the calls are JSON");
    calls.into_iter().map(|(_, input)| Part::Call("patch", input)).collect()
}

fn calls(kind: &str, number: usize) -> Vec<Part> {
    let write = |path: String| Part::Call("write_file", json!({"content": path, "path": path}));
    let run = |command: String| vec![Part::Call("terminal", json!({ "command": command }))];
    let read = || Part::Call("read_file", json!({"path": seen(number)}));
    match kind {
        "Hold" => vec![Part::Text(format!("hold-{number}")), Part::Hold],
        "Fail" => vec![Part::Fail],
        "Edit" => vec![write(format!("edit-{number}.txt"))],
        "Pair" => effects(Play::Pair, number).into_iter().map(write).collect(),
        "Reads" => vec![read(), read()],
        "Touch" => run(format!("touch ran-{number}.txt")),
        "Command" => run(format!("echo out-{number}; touch ran-{number}.txt")),
        "Sleep" => run(format!("touch ran-{number}.txt; echo out-{number}; sleep 1000")),
        "Far" => effects(Play::Far, number)
            .into_iter()
            .map(|path| Part::Call(FAR, json!({"content": path, "path": path})))
            .collect(),
        "Ask" => vec![Part::Call(
            "ask_user",
            json!({"question": format!("which-{number}?"), "choices": ["a", "b"]}),
        )],
        "Wrong" => vec![Part::Broken("read_file", format!("{{wrong-{number}"))],
        _ => vec![
            Part::Text(format!("say-{number} one ")),
            Part::Text(format!("say-{number} two")),
        ],
    }
}

/// The model in this process.
pub(crate) struct Model(Script);

impl Model {
    pub(crate) fn new() -> Self {
        Self(Script::from_replies(Vec::new()))
    }
}

impl Provider for Model {
    fn model(&self) -> &ModelInfo {
        self.0.model()
    }

    fn complete(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        let mut results = 0;
        let mut users = Vec::new();
        for message in request.messages {
            match message {
                Message::User(content) => {
                    users.push(plain_text(content));
                    results = 0;
                }
                Message::ToolResult { .. } => results += 1,
                Message::Assistant { .. } => {}
            }
        }
        let steps: Vec<ScriptStep> = reply(&users, results).into_iter().map(Part::scripted).collect();
        Script::from_replies(vec![ScriptReply::new(steps)]).complete(request, cancel, sink)
    }
}

impl Part {
    fn scripted(self) -> ScriptStep {
        match self {
            Self::Text(text) => ScriptStep::text(text),
            Self::Call(name, input) => ScriptStep::call(name, input),
            Self::Broken(name, text) => ScriptStep::Call {
                id: None,
                name: name.to_owned(),
                input: CallInput::Malformed(text),
            },
            Self::Hold => ScriptStep::WaitCancel,
            Self::Fail => ScriptStep::Fail(Box::new(Failure::new(ErrorClass::Protocol, "played"))),
        }
    }
}

/// The same model behind a service.
pub(crate) fn served(asked: &Asked) -> mock::Reply {
    let messages = asked.messages().iter().rev();
    let results = messages.clone().take_while(|message| message["role"] != "user");
    let results = results.filter(|message| message["role"] == "tool").count();
    let said = |message: &Value| match message["content"].as_str() {
        Some(text) => text.to_owned(),
        None => message["content"].to_string(),
    };
    let users = asked.messages().iter().filter(|message| message["role"] == "user");
    let users: Vec<String> = users.map(said).collect();
    let mut texts = String::new();
    let mut calls = Vec::new();
    for (index, part) in reply(&users, results).into_iter().enumerate() {
        match part {
            Part::Text(text) => texts.push_str(&text),
            Part::Call(name, input) => calls.push((format!("call_{index}"), name, input)),
            Part::Broken(name, text) => return mock::Reply::call_of_text("call_0", name, &text),
            Part::Hold => return unfinished(&texts),
            Part::Fail => return mock::Reply::answer("HTTP/1.1 400 Bad Request", "played"),
        }
    }
    if calls.is_empty() {
        return mock::Reply::text(&texts);
    }
    let calls: Vec<(&str, &str, Value)> = calls
        .iter()
        .map(|(id, name, input)| (id.as_str(), *name, input.clone()))
        .collect();
    mock::Reply::calls(&calls)
}

/// A text after which nothing comes.
fn unfinished(text: &str) -> mock::Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    mock::Reply::sse(format!("data: {chunk}\n\n")).stalling()
}
