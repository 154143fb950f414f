//! Every fixed word is told.

use agent_core::approval::{DecidedBy, Decision, Grant, Mode, OptionKind};
use agent_core::event::{
    CallInput, Display, ErrorClass, HistoryMove, PlanStatus, SessionChange, Severity, StopReason, ToolKind, ToolStatus,
};
use agent_core::provider::{Finish, ModelRef};
use serde_json::{Value, json};

use crate::{document, terms};

#[test]
fn every_fixed_word_is_named() {
    use ErrorClass as Class;
    use ToolKind::{Edit, Execute, Fetch, Other, Read, Search, Think};
    let text = || "t".to_owned();
    let model = ModelRef::offline();
    let words = [
        json!([Read, Edit, Search, Execute, Fetch, Think, Other]),
        json!([
            ToolStatus::Completed,
            ToolStatus::Failed,
            ToolStatus::Denied,
            ToolStatus::Cancelled
        ]),
        json!([
            Display::Prose,
            Display::Verbatim,
            Display::Json,
            Display::Instead(text()),
            Display::AsPlanned,
            Display::Ran(Box::default())
        ]),
        json!([CallInput::Json(Value::Null), CallInput::Malformed(text())]),
        json!([
            PlanStatus::Pending,
            PlanStatus::InProgress,
            PlanStatus::Completed,
            PlanStatus::Cancelled
        ]),
        json!([Severity::Info, Severity::Warning, Severity::Error]),
        json!([
            HistoryMove::Clear,
            HistoryMove::Refusal,
            HistoryMove::Undo,
            HistoryMove::Redo
        ]),
        json!([
            StopReason::EndTurn,
            StopReason::MaxTokens,
            StopReason::MaxSteps,
            StopReason::Refusal
        ]),
        json!([StopReason::Budget, StopReason::NotDone]),
        json!([StopReason::Cancelled, Finish::Stop, Finish::ToolCalls, Finish::Length]),
        json!([Finish::ContentFilter, Finish::Refusal]),
        json!([
            SessionChange::Title(text()),
            SessionChange::Mode(Mode::Plan),
            SessionChange::Model(model)
        ]),
        json!([SessionChange::Cwd("/".into()), SessionChange::Thought(None)]),
        json!([
            OptionKind::AllowOnce,
            OptionKind::AllowAlways,
            OptionKind::RejectOnce,
            Grant::EditsThisSession
        ]),
        json!([
            Decision::Allowed,
            Decision::AllowedAlways,
            Decision::Rejected,
            Decision::Unanswered
        ]),
        json!([
            Decision::Cancelled,
            DecidedBy::User,
            DecidedBy::Timeout,
            DecidedBy::Cancel,
            DecidedBy::Default
        ]),
        json!([
            Class::Auth,
            Class::Billing,
            Class::RateLimit,
            Class::Overloaded,
            Class::Server,
            Class::Timeout
        ]),
        json!([
            Class::Network,
            Class::Tls,
            Class::ContextOverflow,
            Class::PayloadTooLarge,
            Class::ImageRejected
        ]),
        json!([
            Class::ModelNotFound,
            Class::ContentPolicy,
            Class::BadRequest,
            Class::Protocol,
            Class::Config
        ]),
        json!([
            Class::Internal,
            "inward",
            "read",
            "change",
            "command",
            "input",
            "text",
            "image",
            "resource",
            "link"
        ]),
    ];
    let document = document();
    let said = terms(&document);
    let all = words.iter().flat_map(|words| words.as_array().unwrap()).map(word);
    let missing: Vec<&str> = all.filter(|word| !said.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The word that a value is, or that it is tagged with.
fn word(value: &Value) -> &str {
    match value {
        Value::String(word) => word,
        Value::Object(object) => object.keys().next().unwrap(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => panic!("{value} is no word"),
    }
}
