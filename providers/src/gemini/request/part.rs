//! The parts of a content as Gemini wants them.

use std::borrow::Cow;

use agent_core::content::Content;
use agent_core::event::CallInput;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::content::{self, arguments, parts};

/// One part.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(flatten)]
    pub what: What<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// What a part holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum What<'a> {
    Text(Cow<'a, str>),
    InlineData(Blob),
    FunctionCall(Call<'a>),
    FunctionResponse(Answer<'a>),
}

/// A picture.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob {
    mime_type: String,
    data: String,
}

/// A call that the model made earlier.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    /// The service's own; it knows no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: Cow<'a, str>,
    pub args: Map<String, Value>,
}

/// What came of a call.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: Cow<'a, str>,
    pub response: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    Output(String),
    Error(String),
}

impl<'a> Part<'a> {
    /// A text.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        What::Text(text.into()).into()
    }

    /// The same, signed.
    pub(super) fn signed(self, thought_signature: Option<String>) -> Self {
        Self {
            thought_signature,
            ..self
        }
    }
}

impl<'a> From<What<'a>> for Part<'a> {
    fn from(what: What<'a>) -> Self {
        Self {
            what,
            thought: false,
            thought_signature: None,
        }
    }
}

/// Writes what a user says. A model that `sees` gets the pictures.
pub(super) fn user<'a>(content: &[Content], sees: bool) -> Vec<Part<'a>> {
    let part = |part| match part {
        content::Part::Text(text) => Part::text(text),
        content::Part::Picture { mime_type, base64 } => {
            let data = base64;
            What::InlineData(Blob { mime_type, data }).into()
        }
    };
    parts(content, sees).into_iter().map(part).collect()
}

/// Arguments as the object that they have to be.
pub(super) fn args(input: &CallInput) -> Map<String, Value> {
    match input {
        CallInput::Json(Value::Object(fields)) => fields.clone(),
        CallInput::Json(Value::Null) => Map::new(),
        CallInput::Json(value) => Map::from_iter([("malformed_arguments".to_owned(), value.clone())]),
        CallInput::Malformed(_) => serde_json::from_str(&arguments(input)).unwrap_or_default(),
    }
}
