//! Every status of refusal in every dialect, with the service's own words, a proxy's page and nothing at all.

use agent_core::event::ErrorClass;
use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::mock::Reply as Answer;
use talaria_tests::spoken::DIALECTS;

use crate::ask::ask_once_in;

/// Status, class, and the codes that Anthropic and Google have for it.
const STATUSES: &[(u16, ErrorClass, &str, &str)] = &[
    (400, ErrorClass::BadRequest, "invalid_request_error", "INVALID_ARGUMENT"),
    (401, ErrorClass::Auth, "authentication_error", "UNAUTHENTICATED"),
    (402, ErrorClass::Billing, "billing_error", "FAILED_PRECONDITION"),
    (403, ErrorClass::Auth, "permission_error", "PERMISSION_DENIED"),
    (404, ErrorClass::ModelNotFound, "not_found_error", "NOT_FOUND"),
    (408, ErrorClass::Timeout, "timeout_error", "CANCELLED"),
    (
        413,
        ErrorClass::PayloadTooLarge,
        "request_too_large",
        "INVALID_ARGUMENT",
    ),
    (429, ErrorClass::RateLimit, "rate_limit_error", "RESOURCE_EXHAUSTED"),
    (500, ErrorClass::Server, "api_error", "INTERNAL"),
    (502, ErrorClass::Server, "api_error", "INTERNAL"),
    (503, ErrorClass::Server, "api_error", "INTERNAL"),
    (529, ErrorClass::Overloaded, "overloaded_error", "UNAVAILABLE"),
];

#[test]
fn every_status_has_its_class_and_one_sentence_whatever_the_body_is() {
    for dialect in DIALECTS {
        for (status, class, anthropic, google) in STATUSES {
            let own = own_words(dialect, *status, anthropic, google).to_string();
            let page = "<!DOCTYPE html>\n<html><body><h1>Nothing here</h1></body></html>";
            let cut = &own[..own.len() / 2];
            for (media_type, body) in [
                ("application/json", own.as_str()),
                ("application/json", cut),
                ("text/html", page),
                ("text/plain", ""),
            ] {
                check(dialect, *status, *class, media_type, body);
            }
        }
    }
}

fn check(dialect: Dialect, status: u16, class: ErrorClass, media_type: &str, body: &str) {
    let head = format!("HTTP/1.1 {status} \ncontent-type: {media_type}");
    let failure = ask_once_in(dialect, Answer::answer(&head, body)).failure();
    let case = format!("{} {status} {media_type} {body}: {}", dialect.name(), failure.message);
    assert_eq!((failure.class, failure.status), (class, Some(status)), "{case}");
    let (what, next) = failure.message.rsplit_once("; ").unwrap();
    assert!(
        what.starts_with("mock (127.0.0.1:") && what.contains(&format!("answered {status}")),
        "{case}"
    );
    assert!(!next.is_empty() && !failure.message.contains(['<', '\n']), "{case}");
    let words = "Something of its own.";
    assert_eq!(what.contains(words), body.contains(words), "{case}");
}

/// An error as a service of this dialect words it.
fn own_words(dialect: Dialect, status: u16, anthropic: &str, google: &str) -> Value {
    let message = "Something of its own.";
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => {
            json!({"error": {"message": message, "type": "error", "param": null, "code": null}})
        }
        Dialect::Anthropic => {
            json!({"type": "error", "error": {"type": anthropic, "message": message}, "request_id": "r"})
        }
        Dialect::Gemini => json!({"error": {"code": status, "message": message, "status": google}}),
    }
}
