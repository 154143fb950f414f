//! The tool `ask_user`: a question that only the user can answer, as a form where the editor has them, else as a text
//! with which the turn ends.

use std::borrow::Cow;
use std::time::Duration;

use agent_core::asker::{AskError, Asker};
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::count::bytes_left_out;
use agent_core::event::{ToolKind, ToolOutput};
use agent_core::plan::Plan;
use agent_core::provider::ToolSpec;
use agent_core::surface::{Form, FormAnswer};
use agent_core::tool::{Limit, Planned, Report, Run, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::terminal::MARGIN;
use crate::{input, title};

/// More can't be taken in at a glance.
const MOST_CHOICES: usize = 12;
/// Bytes of a question or a choice.
const LONGEST: usize = 4_000;
/// Bytes of an answer that a model is told.
const MOST_SAID: usize = 32 << 10;

/// Asks the user.
pub(crate) struct AskUser {
    spec: ToolSpec,
    asker: Asker,
    /// How long an answer is waited for; none: as long as it takes.
    limit: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl AskUser {
    pub(crate) fn new(asker: Asker, config: &Config) -> Self {
        let seconds = config.approvals.timeout_s;
        Self {
            spec: spec(),
            asker,
            limit: (seconds > 0).then(|| Duration::from_secs(seconds)),
        }
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "ask_user".to_owned(),
        description:
            "Ask the user a question. Only for a decision that is theirs and that you can't find out; never for \
                      permission, passwords or keys."
                .to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "choices": {"type": "array", "items": {"type": "string"}}
            },
            "required": ["question"]
        }),
    }
}

impl Arguments {
    fn form(self) -> Result<Form, ToolError> {
        let wrong = |what: &str| Err(ToolError::new(format!("ask_user: {what}")));
        let is_long = |text: &String| text.len() > LONGEST;
        if self.question.trim().is_empty() {
            return wrong("`question` is empty; say what you want to know");
        }
        if is_long(&self.question) || self.choices.iter().any(is_long) {
            return wrong("the question is too long to be read; say the long part in a message, and ask in a sentence");
        }
        if self.choices.len() > MOST_CHOICES {
            return wrong("there are more than 12 choices; offer the likely ones, the user can give another answer");
        }
        if asks_for_a_secret(&self.question) {
            return wrong(
                "the answer would become part of the conversation, which is no place for passwords and keys; tell the user \
                 in which file or variable to put it, and go on when that is done",
            );
        }
        let mut choices: Vec<String> = Vec::new();
        for choice in self.choices {
            let choice = title::line(&choice);
            if !choice.is_empty() && !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        Ok(Form {
            question: self.question.trim().to_owned(),
            choices,
        })
    }
}

/// Whether a question wants to have something that nobody else should know. A question about such a thing is none.
fn asks_for_a_secret(question: &str) -> bool {
    const WANTS: [&str; 9] = [
        "what is", "what's", "enter", "type", "paste", "provide", "give me", "tell me", "share",
    ];
    const SECRETS: [&str; 9] = [
        "password",
        "passphrase",
        "passcode",
        "api key",
        "api-key",
        "api_key",
        "access token",
        "private key",
        "secret key",
    ];
    let question = question.to_lowercase();
    let secret = SECRETS.iter().filter_map(|secret| question.find(secret)).min();
    secret.is_some_and(|at| {
        let words: Vec<&str> = question[..at].split_whitespace().collect();
        // What is wanted stands just before its name.
        let near = words[words.len().saturating_sub(5)..].join(" ");
        WANTS.iter().any(|wants| near.contains(wants))
    })
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn title(&self, input: &Value) -> String {
        title::line(&format!("Ask: {}", title::text(input, "question")))
    }

    fn only_reads(&self, _input: &Value) -> bool {
        true
    }

    /// A person takes as long as they like.
    fn limit(&self, _input: &Value) -> Limit {
        self.limit
            .map_or(Limit::None, |limit| Limit::Own(limit.saturating_add(MARGIN)))
    }

    fn plan(&self, input: &Value, _cancel: &Cancel) -> Result<Planned, ToolError> {
        let arguments: Arguments = input::parse(&self.spec.name, input)?;
        let form = arguments.form()?;
        let (asker, limit) = (self.asker.clone(), self.limit);
        Ok(Planned {
            plan: Plan::Inward,
            locations: Vec::new(),
            action: Box::new(move |run| ask(&asker, form, limit, run)),
        })
    }
}

fn ask(asker: &Asker, form: Form, limit: Option<Duration>, run: &Run<'_>) -> Result<ToolOutput, ToolError> {
    match asker.show_form(form.clone(), limit, run.cancel) {
        Ok(answer) => Ok(ToolOutput::text(told(&answer, &form.choices))),
        Err(AskError::TimedOut) => Err(ToolError::new(
            "nobody answered in time; that is no answer: go on with what does not need it, or stop and say what you need",
        )),
        Err(error @ (AskError::Cancelled | AskError::Gone)) => Err(ToolError::new(format!("not answered: {error}"))),
        Err(AskError::Unable | AskError::Refused(_) | AskError::Senseless) => {
            (run.report)(Report::Question(written(&form)));
            Ok(ToolOutput::text(
                "The question was shown, and the turn ends here: the user's next message is the answer.",
            ))
        }
    }
}

/// What became of a form, for the model.
fn told(answer: &FormAnswer, choices: &[String]) -> String {
    match answer {
        FormAnswer::Sent { choice, text } => match (choice, text) {
            (Some(choice), Some(text)) if choices.contains(choice) => {
                format!("The user chose: {choice}\nand wrote: {}", bounded(text))
            }
            (Some(choice), None) if choices.contains(choice) => format!("The user chose: {choice}"),
            (_, Some(said)) | (Some(said), None) => format!("The user answered: {}", bounded(said)),
            (None, None) => "The user sent the form without an answer: decide yourself, and say how.".to_owned(),
        },
        FormAnswer::Declined => {
            "The user declined to answer. Don't ask this again: decide yourself and say how, or go on without."
                .to_owned()
        }
        FormAnswer::Closed => {
            "The user closed the question without an answer. That decides nothing: go on with what does not need it."
                .to_owned()
        }
    }
}

/// As much of an answer as a model is told.
fn bounded(said: &str) -> Cow<'_, str> {
    if said.len() <= MOST_SAID {
        return said.into();
    }
    let end = said.floor_char_boundary(MOST_SAID);
    let left_out = bytes_left_out((said.len() - end) as u64);
    format!("{}\n{left_out}", &said[..end]).into()
}

/// A question as a text, its choices numbered.
fn written(form: &Form) -> String {
    let mut text = form.question.clone();
    if form.choices.is_empty() {
        return text;
    }
    text.push('\n');
    for (index, choice) in form.choices.iter().enumerate() {
        text.push_str(&format!("\n{}. {choice}", index + 1));
    }
    text.push_str("\n\nAnswer with a number or in your own words.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_for_what_it_is_and_not_without_end() {
        let choices = ["red".to_owned(), "blue".to_owned()];
        let check = |choice: Option<&str>, text: Option<&str>, expect: &str| {
            let answer = FormAnswer::Sent {
                choice: choice.map(str::to_owned),
                text: text.map(str::to_owned),
            };
            assert_eq!(told(&answer, &choices), expect);
        };
        check(Some("red"), None, "The user chose: red");
        check(Some("red"), Some("a bit"), "The user chose: red\nand wrote: a bit");
        check(Some("green"), None, "The user answered: green");
        check(None, Some("green"), "The user answered: green");
        let long = "é".repeat(MOST_SAID);
        let sent = FormAnswer::Sent {
            choice: None,
            text: Some(long),
        };
        let told = told(&sent, &choices);
        assert!(
            told.len() < MOST_SAID + 100 && told.ends_with("… 32,768 bytes left out …"),
            "{}",
            told.len()
        );
    }
}
