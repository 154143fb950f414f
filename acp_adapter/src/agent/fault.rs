//! Error answers: a code for the program, a sentence for the person, and machine fields. Never any of the input.

use agent_client_protocol_schema::v1::Error;
use agent_core::approval::Mode;
use agent_core::event::{ErrorClass, Failure};
use agent_core::outward::CallError;
use agent_core::provider::ThoughtLevel;
use serde_json::{Value, json};

use super::to_acp::view::THOUGHT_DEFAULT;

pub(crate) const PARSE: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const NO_METHOD: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL: i32 = -32603;
pub(crate) const CANCELLED: i32 = -32800;
pub(crate) const AUTH_REQUIRED: i32 = -32000;
pub(crate) const NOT_FOUND: i32 = -32002;

pub(crate) fn invalid_request(message: &str) -> Error {
    Error::new(INVALID_REQUEST, message)
}

/// Refuses one parameter, named by its path.
pub(crate) fn invalid_field(field: &str, problem: &str) -> Error {
    Error::new(INVALID_PARAMS, format!("`{field}`: {problem}")).data(json!({ "field": field }))
}

pub(crate) fn no_method() -> Error {
    Error::new(NO_METHOD, "this agent does not serve this method")
}

pub(crate) fn cancelled() -> Error {
    Error::new(CANCELLED, "the request was cancelled")
}

/// The answer to what needs a sign-in after a `logout`. `auth_methods` are the ways to sign in again.
pub(crate) fn signed_out(auth_methods: &Value) -> Error {
    let message =
        "you have signed out: sign in again first (`authenticate`), which also takes a key from the environment";
    Error::new(AUTH_REQUIRED, message).data(json!({ "authMethods": auth_methods }))
}

/// The answer to a call that has no result. `option_field` is what the request calls the value of an option, and
/// `auth_methods` are the ways to sign in.
pub(crate) fn of_call(error: &CallError, option_field: &str, auth_methods: &Value) -> Error {
    let message = error.to_string();
    match error {
        CallError::UnknownSession(session) => {
            Error::new(NOT_FOUND, message).data(json!({ "sessionId": session.as_str() }))
        }
        CallError::BadFolder { field, .. } => Error::new(INVALID_PARAMS, message).data(json!({ "field": field })),
        CallError::BadOption { field, .. } => invalid_field(option_field, &of_option(field)),
        CallError::Held { pid } => Error::new(INTERNAL, message).data(json!({ "class": "held", "pid": pid })),
        CallError::QueueFull => Error::new(INVALID_REQUEST, message),
        CallError::BadCursor => Error::new(INVALID_PARAMS, message).data(json!({ "field": "cursor" })),
        CallError::NoCredentials { provider, .. } => {
            Error::new(AUTH_REQUIRED, message).data(json!({ "provider": provider, "authMethods": auth_methods }))
        }
        CallError::Config(_) => Error::new(INTERNAL, message).data(json!({ "class": "config" })),
        CallError::Store(_) => Error::new(INTERNAL, message).data(json!({ "class": "store" })),
        CallError::Internal(_) => Error::new(INTERNAL, message).data(json!({ "class": "internal" })),
    }
}

/// What is wrong with an option's value, and what could be chosen. The core's own sentence holds the value.
fn of_option(option: &str) -> String {
    match option {
        "mode" => format!("is none of the modes {}", Mode::ALL.map(Mode::id).join(", ")),
        "thought_level" => format!(
            "is none of the levels {}, {THOUGHT_DEFAULT}",
            ThoughtLevel::ALL.map(ThoughtLevel::id).join(", ")
        ),
        _ => "is none of the models that the session's `configOptions` offer".to_owned(),
    }
}

/// The answer to a prompt whose turn has failed.
pub(crate) fn of_failure(failure: &Failure) -> Error {
    let code = if failure.class == ErrorClass::Auth {
        AUTH_REQUIRED
    } else {
        INTERNAL
    };
    let mut data = json!({ "class": failure.class });
    if let Some(provider) = &failure.provider {
        data["provider"] = json!(provider);
    }
    if let Some(status) = failure.status {
        data["status"] = json!(status);
    }
    if let Some(retry_after_ms) = failure.retry_after_ms {
        data["retryAfterMs"] = json!(retry_after_ms);
    }
    Error::new(code, failure.message.clone()).data(data)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[track_caller]
    fn check(error: &CallError, code: i32, data: &Value) {
        let fault = of_call(error, "modeId", &json!([{ "id": "local" }]));
        let fault = serde_json::to_value(fault).unwrap();
        assert_eq!(fault["code"], code);
        assert_eq!(fault["message"], error.to_string());
        assert_eq!(&fault["data"], data);
    }

    #[test]
    fn call_errors_have_their_code_and_machine_fields() {
        check(
            &CallError::UnknownSession("s".into()),
            -32002,
            &json!({ "sessionId": "s" }),
        );
        let folder = CallError::BadFolder {
            field: "cwd",
            message: "/x is no folder".into(),
        };
        check(&folder, -32602, &json!({ "field": "cwd" }));
        let option = CallError::BadOption {
            field: "mode",
            message: "`SECRETVALUE` is not a mode".into(),
        };
        assert_eq!(
            of_call(&option, "modeId", &json!([])),
            invalid_field("modeId", "is none of the modes plan, default, accept_edits, dont_ask"),
        );
        let option = CallError::BadOption {
            field: "thought_level",
            message: "`SECRETVALUE` is not a thought level".into(),
        };
        assert_eq!(
            of_call(&option, "value", &json!([])),
            invalid_field("value", "is none of the levels off, low, medium, high, default"),
        );
        check(
            &CallError::Held { pid: 7 },
            -32603,
            &json!({ "class": "held", "pid": 7 }),
        );
        check(&CallError::BadCursor, -32602, &json!({ "field": "cursor" }));
        let key = CallError::NoCredentials {
            provider: "local".into(),
            message: "no key".into(),
        };
        check(
            &key,
            -32000,
            &json!({ "provider": "local", "authMethods": [{ "id": "local" }] }),
        );
        check(&CallError::Config("bad".into()), -32603, &json!({ "class": "config" }));
        check(&CallError::Store("locked".into()), -32603, &json!({ "class": "store" }));
        check(
            &CallError::Internal("bug".into()),
            -32603,
            &json!({ "class": "internal" }),
        );
    }
}
