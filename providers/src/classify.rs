//! What a service says about its failure, and which class that makes it. Services agree on little: the same status
//! means several things, so their words come first.

mod phrases;

use std::time::Duration;

use agent_core::event::ErrorClass;
use serde_json::Value;

use self::phrases::{
    AUTH, BAD_KEY, BILLING, CONTENT_POLICY, CONTEXT_OVERFLOW, MODEL_NOT_FOUND, NOT_FOUND, OVERLOADED, RATE_LIMIT,
    REJECTED,
};
use crate::json::mended;

/// How much of a service's words is looked at, in bytes.
const LONGEST: usize = 16 * 1024;

/// A service's own words about a failure.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// The message for a person; empty if there was none.
    pub words: String,
    /// Codes and types, lower case.
    codes: String,
    /// The status that an error inside a stream would have had.
    status: Option<u16>,
    /// How long it wants to be left alone, where it says so beside its words.
    pub retry_after_ms: Option<u64>,
}

impl Said {
    /// Reads the body of an answer that is no reply. A web page says nothing beyond its status.
    pub(crate) fn in_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(&mended(body)) {
            Ok(Value::Object(fields)) => Self::in_json(&Value::Object(fields)),
            // Gemini puts it into a list where it would have listed the pieces of a reply.
            Ok(Value::Array(items)) => items.first().map(Self::in_json).unwrap_or_default(),
            Ok(Value::String(words)) => Self::only(&words),
            _ if body.trim_start().starts_with('<') => Self::default(),
            _ => Self::only(body),
        }
    }

    /// Reads an error in JSON: the error itself, or an object that has it as `error`.
    pub(crate) fn in_json(body: &Value) -> Self {
        let error = match &body["error"] {
            Value::Null | Value::Bool(_) => body,
            error @ (Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => error,
        };
        let words = [error, &error["message"], &body["message"], &body["detail"]];
        let words = words.iter().find_map(|value| value.as_str()).unwrap_or_default();
        let words = beginning(words);
        // A gateway's message is often only "Provider returned error"; the provider's own words are in here.
        let raw = error["metadata"]["raw"].as_str();
        let raw = raw.map(|raw| format!(" ({})", beginning(raw)));
        let codes = [&error["code"], &error["type"], &error["status"]];
        let codes: Vec<&str> = codes.iter().filter_map(|code| code.as_str()).collect();
        Self {
            words: one_line(&format!("{words}{}", raw.unwrap_or_default())),
            codes: codes.join(" ").to_lowercase(),
            status: status(&error["code"]),
            retry_after_ms: retry_delay_ms(&error["details"]),
        }
    }

    fn only(words: &str) -> Self {
        Self {
            words: one_line(beginning(words)),
            ..Self::default()
        }
    }

    /// The class of the failure; `status` is that of the answer, if it was none of success.
    pub(crate) fn class(&self, status: Option<u16>) -> ErrorClass {
        let status = status.or(self.status);
        self.class_by_words(status).unwrap_or_else(|| class_by_status(status))
    }

    fn class_by_words(&self, status: Option<u16>) -> Option<ErrorClass> {
        let said = format!("{} {}", self.codes, self.words.to_lowercase());
        let says = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
        let is = |code: &str| self.codes.split(' ').any(|said| said == code);
        // Words count only where they can mean it: "tokens" in a rate limit is not the context.
        let refuses = matches!(status, None | Some(400 | 404 | 413 | 415 | 422 | 500));
        let rules = [
            (says(BILLING), ErrorClass::Billing),
            (refuses && says(BAD_KEY), ErrorClass::Auth),
            (refuses && says(CONTEXT_OVERFLOW), ErrorClass::ContextOverflow),
            (says(OVERLOADED), ErrorClass::Overloaded),
            (refuses && says(MODEL_NOT_FOUND), ErrorClass::ModelNotFound),
            (
                status != Some(500) && refuses && says(&["model"]) && says(NOT_FOUND),
                ErrorClass::ModelNotFound,
            ),
            // A busy filter is no verdict of it.
            (
                (refuses || status == Some(403)) && says(CONTENT_POLICY),
                ErrorClass::ContentPolicy,
            ),
            (
                refuses && says(&["image"]) && says(REJECTED) && !says(&["parameter"]),
                ErrorClass::ImageRejected,
            ),
            (says(&["timeout_error"]), ErrorClass::Timeout),
            (status.is_none() && says(RATE_LIMIT), ErrorClass::RateLimit),
            (status.is_none() && says(AUTH), ErrorClass::Auth),
            (
                status.is_none() && says(&["request_too_large"]),
                ErrorClass::PayloadTooLarge,
            ),
            (
                status.is_none() && says(&["invalid_request", "invalid_argument"]),
                ErrorClass::BadRequest,
            ),
            (is("unavailable"), ErrorClass::Overloaded),
            (is("deadline_exceeded"), ErrorClass::Timeout),
        ];
        rules.into_iter().find_map(|(fits, class)| fits.then_some(class))
    }
}

fn class_by_status(status: Option<u16>) -> ErrorClass {
    match status {
        Some(401 | 403) => ErrorClass::Auth,
        Some(402) => ErrorClass::Billing,
        Some(404) => ErrorClass::ModelNotFound,
        Some(408) => ErrorClass::Timeout,
        Some(413) => ErrorClass::PayloadTooLarge,
        Some(429) => ErrorClass::RateLimit,
        Some(529) => ErrorClass::Overloaded,
        None | Some(500..=599) => ErrorClass::Server,
        Some(_) => ErrorClass::BadRequest,
    }
}

/// A status given as a number or as a text.
fn status(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The wait in the details of one of Google's errors, such as `34.5s`.
fn retry_delay_ms(details: &Value) -> Option<u64> {
    let delays = details.as_array()?.iter().map(|detail| &detail["retryDelay"]);
    let delay = delays.filter_map(Value::as_str).next()?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    let delay = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(delay.as_millis()).ok()
}

/// Whether the field of a reply that tells of errors tells of one.
pub(crate) fn is_error(field: &Value) -> bool {
    match field {
        Value::Null | Value::Bool(false) => false,
        Value::String(words) => !words.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// As much of a text as anybody looks at.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The words of a text, in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: impl Into<Option<u16>>, body: &str, expect: ErrorClass) {
        let status = status.into();
        assert_eq!(Said::in_body(body).class(status), expect, "{status:?} {body}");
    }

    #[test]
    fn the_status_decides_where_the_words_say_nothing() {
        check(401, "", ErrorClass::Auth);
        check(402, "", ErrorClass::Billing);
        check(404, "404 page not found", ErrorClass::ModelNotFound);
        check(408, "", ErrorClass::Timeout);
        check(413, "", ErrorClass::PayloadTooLarge);
        check(422, r#"{"detail": "no"}"#, ErrorClass::BadRequest);
        check(503, "<html>context window</html>", ErrorClass::Server);
        check(529, "", ErrorClass::Overloaded);
    }

    #[test]
    fn the_words_decide_where_they_say_more_than_the_status() {
        check(429, r#"{"error":{"code":"insufficient_quota"}}"#, ErrorClass::Billing);
        check(
            429,
            r#"{"error":{"message":"over the context window of your tier"}}"#,
            ErrorClass::RateLimit,
        );
        check(
            503,
            r#"{"error":{"message":"The model is overloaded"}}"#,
            ErrorClass::Overloaded,
        );
        check(
            400,
            r#"{"error":{"message":"The model `x` does not exist"}}"#,
            ErrorClass::ModelNotFound,
        );
        check(
            400,
            r#"{"error":{"code":"content_policy_violation"}}"#,
            ErrorClass::ContentPolicy,
        );
        check(
            404,
            r#"{"error":{"message":"No endpoints that support image input"}}"#,
            ErrorClass::ImageRejected,
        );
    }

    #[test]
    fn a_word_of_a_filter_is_no_verdict_where_the_service_is_busy() {
        let down = r#"{"error":{"message":"moderation backend unavailable"}}"#;
        check(503, down, ErrorClass::Server);
        let busy = r#"{"error":{"message":"Rate limit reached for omni-moderation-latest"}}"#;
        check(429, busy, ErrorClass::RateLimit);
        check(
            403,
            r#"{"error":{"message":"flagged by moderation"}}"#,
            ErrorClass::ContentPolicy,
        );
        let parameter = r#"{"error":{"message":"image parameter 'max_tokens' is not supported"}}"#;
        check(400, parameter, ErrorClass::BadRequest);
    }

    #[test]
    fn an_error_inside_a_stream_has_its_own_status_or_words() {
        check(None, r#"{"error":{"message":"x","code":529}}"#, ErrorClass::Overloaded);
        check(None, r#"{"error":{"message":"x","code":"429"}}"#, ErrorClass::RateLimit);
        check(None, r#"{"error":"Rate limit reached"}"#, ErrorClass::RateLimit);
        check(None, r#"{"error":{"message":"x"}}"#, ErrorClass::Server);
    }

    /// An error as Google words it, alone and in a list.
    fn check_google(code: u16, status: &str, message: &str, expect: ErrorClass) {
        let error = json!({"error": {"code": code, "message": message, "status": status}});
        check(code, &error.to_string(), expect);
        check(code, &json!([error]).to_string(), expect);
        let bare = json!({"error": {"message": message, "status": status}});
        check(None, &bare.to_string(), expect);
    }

    #[test]
    fn the_codes_of_google_are_understood() {
        let check = check_google;
        check(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota",
            ErrorClass::RateLimit,
        );
        check(503, "UNAVAILABLE", "The model is overloaded.", ErrorClass::Overloaded);
        check(
            503,
            "UNAVAILABLE",
            "This model is in high demand.",
            ErrorClass::Overloaded,
        );
        check(504, "DEADLINE_EXCEEDED", "Deadline expired", ErrorClass::Timeout);
        check(500, "INTERNAL", "An internal error has occurred", ErrorClass::Server);
        check(
            401,
            "UNAUTHENTICATED",
            "Request had invalid credentials",
            ErrorClass::Auth,
        );
        check(
            403,
            "PERMISSION_DENIED",
            "The caller does not have permission",
            ErrorClass::Auth,
        );
        check(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            ErrorClass::Auth,
        );
        check(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            ErrorClass::ContextOverflow,
        );
        check(
            404,
            "NOT_FOUND",
            "models/x is not found for API version v1beta",
            ErrorClass::ModelNotFound,
        );
    }

    #[test]
    fn a_wait_may_stand_in_the_details() {
        let wait = |details: Value| Said::in_json(&json!({"error": {"details": details}})).retry_after_ms;
        let info = |delay: &str| json!([{"@type": "Help"}, {"@type": "RetryInfo", "retryDelay": delay}]);
        assert_eq!(wait(info("34.5s")), Some(34_500));
        assert_eq!(wait(info("soon")), None);
        assert_eq!(wait(json!([{"@type": "Help"}])), None);
    }

    #[test]
    fn the_types_of_anthropic_are_understood_with_a_status_and_without() {
        let table = [
            ("invalid_request_error", 400, ErrorClass::BadRequest),
            ("authentication_error", 401, ErrorClass::Auth),
            ("billing_error", 402, ErrorClass::Billing),
            ("permission_error", 403, ErrorClass::Auth),
            ("not_found_error", 404, ErrorClass::ModelNotFound),
            ("request_too_large", 413, ErrorClass::PayloadTooLarge),
            ("rate_limit_error", 429, ErrorClass::RateLimit),
            ("api_error", 500, ErrorClass::Server),
            ("timeout_error", 504, ErrorClass::Timeout),
            ("overloaded_error", 529, ErrorClass::Overloaded),
        ];
        for (kind, status, class) in table {
            let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"x"}},"request_id":"r"}}"#);
            check(status, &body, class);
            check(None, &body, class);
        }
    }

    #[test]
    fn anthropics_words_say_more_than_its_types() {
        let check = |words: &str, class| {
            let error = json!({"type": "invalid_request_error", "message": words});
            let body = json!({"type": "error", "error": error}).to_string();
            check(400, &body, class);
        };
        check(
            "Your credit balance is too low to access the Anthropic API.",
            ErrorClass::Billing,
        );
        check(
            "prompt is too long: 205120 tokens > 200000 maximum",
            ErrorClass::ContextOverflow,
        );
        check(
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
            ErrorClass::ImageRejected,
        );
        check(
            "max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens",
            ErrorClass::BadRequest,
        );
    }

    #[test]
    fn the_words_are_found_wherever_a_service_puts_them() {
        let words = |body: &str| Said::in_body(body).words;
        assert_eq!(words(r#"{"error":{"message":"a\n b"}}"#), "a b");
        assert_eq!(words(r#"{"error":"a"}"#), "a");
        assert_eq!(words(r#"{"message":"a"}"#), "a");
        assert_eq!(words(r#"{"detail":"a"}"#), "a");
        assert_eq!(words(r#"{"error":{"message":"a","metadata":{"raw":"b"}}}"#), "a (b)");
        assert_eq!(words("a"), "a");
        assert_eq!(words("<html>a</html>"), "");
    }
}
