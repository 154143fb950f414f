//! A service that fails and may be asked again, and the models that answer in its place.

use std::time::Instant;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{config_of, times_told};

use crate::Stage;

/// A rate limit that ends after this many seconds.
fn busy(retry_after: u64) -> Reply {
    Reply::answer(
        &format!("HTTP/1.1 429 Too Many Requests\nretry-after: {retry_after}"),
        "slow down",
    )
}

/// A failure of the server that says nothing of when it will be over.
fn down() -> Reply {
    Reply::answer("HTTP/1.1 503 Service Unavailable\nretry-after: 0", "down")
}

fn error_of(stage: &mut Stage, text: &str) -> Value {
    let prompt = stage.client.begin_prompt(&stage.session, text);
    stage.client.response(prompt).unwrap_err()
}

#[test]
fn a_busy_service_is_asked_again_and_that_is_told_once() {
    let mut stage = Stage::new(vec![busy(1), busy(0), Reply::text("here")]);
    let begun = Instant::now();
    assert_eq!(stage.prompt("go"), "end_turn");
    assert!(begun.elapsed().as_millis() >= 1000, "the service's word counts");
    assert_eq!(times_told(&stage.client, 0, "trying again in 1 s"), 1);
    assert_eq!(times_told(&stage.client, 0, "trying again"), 1);
    assert_eq!(stage.client.said(0).matches("here").count(), 1);
    let requests = stage.mock.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].raw, requests[2].raw, "the same request");
}

#[test]
fn a_service_that_stays_busy_is_given_up_and_the_limit_is_named() {
    let mut stage = Stage::new(vec![busy(0), busy(0), busy(0), busy(0), Reply::text("works again")]);
    let error = error_of(&mut stage, "go");
    assert_eq!(error["data"]["class"], "rate_limit", "{error}");
    assert!(
        error["message"].as_str().unwrap().ends_with("given up after 4 tries"),
        "{error}"
    );
    assert_eq!(stage.mock.requests().len(), 4);
    assert_eq!(stage.prompt("again"), "end_turn");
}

#[test]
fn a_service_that_wants_to_be_left_alone_for_long_is_not_waited_for() {
    let mut stage = Stage::new(vec![busy(601)]);
    let error = error_of(&mut stage, "go");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("it takes no request for 11 min"),
        "{error}"
    );
    assert_eq!(error["data"]["retryAfterMs"], 601_000, "{error}");
    assert_eq!(stage.mock.requests().len(), 1);
}

#[test]
fn a_cancel_ends_the_wait() {
    let mut stage = Stage::new(vec![busy(250), Reply::text("next")]);
    let prompt = stage.client.begin_prompt(&stage.session, "go");
    stage
        .client
        .wait_for(|message| message.to_string().contains("trying again in"));
    stage
        .client
        .notify("session/cancel", json!({"sessionId": stage.session}));
    assert_eq!(stage.client.stop_reason(prompt), "cancelled");
    assert_eq!(stage.mock.requests().len(), 1);
    assert_eq!(stage.prompt("next"), "end_turn");
}

#[test]
fn what_was_shown_is_never_asked_for_again() {
    let begun = "data: {\"choices\": [{\"delta\": {\"content\": \"half\"}}]}\n\n";
    let nothing = "data: {\"choices\": [{\"delta\": {\"content\": \"\"}}]}\n\n";
    let mut stage = Stage::new(vec![Reply::sse(begun), Reply::sse(nothing), Reply::text("whole")]);
    let error = error_of(&mut stage, "go");
    assert_eq!(error["data"]["class"], "network", "{error}");
    assert_eq!(
        (stage.client.said(0).as_str(), stage.mock.requests().len()),
        ("half", 1)
    );
    let from = stage.client.log.len();
    assert_eq!(stage.prompt("again"), "end_turn");
    assert!(
        stage.client.said(from).ends_with("whole"),
        "{}",
        stage.client.said(from)
    );
    assert_eq!(stage.mock.requests().len(), 3, "a stream cut before its first word");
}

#[test]
fn what_the_user_must_mend_is_not_asked_again() {
    for head in ["HTTP/1.1 401 Unauthorized", "HTTP/1.1 400 Bad Request"] {
        let second = Mock::answering(|_| Reply::text("second"));
        let mock = Mock::serve(vec![Reply::answer(head, "no")]);
        let home = Home::with_config(&two(&mock, &second));
        let (mut client, session) = Client::with_session(&home);
        let prompt = client.begin_prompt(&session, "go");
        client.response(prompt).unwrap_err();
        assert_eq!((mock.requests().len(), second.requests().len()), (1, 0), "{head}");
    }
}

#[test]
fn a_service_that_stalls_is_asked_again_unless_it_has_said_something() {
    let half = json!({"choices": [{"delta": {"content": "half"}}]});
    let half = Reply::events(&[half]).stalling();
    let replies = vec![Reply::silence(), Reply::text("here"), half, Reply::text("fine")];
    let mut stage = Stage::with_config(replies, "stall_s = 1");
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(times_told(&stage.client, 0, "sent nothing for 1 s"), 1);
    let from = stage.client.log.len();
    let error = error_of(&mut stage, "again");
    assert_eq!(error["data"]["class"], "timeout", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("sent nothing for 1 s"),
        "{error}"
    );
    assert_eq!(stage.client.said(from), "half");
    assert_eq!(stage.prompt("next"), "end_turn");
    assert_eq!(stage.mock.requests().len(), 4);
}

/// Two services; the second one answers where the first can't, after one that nobody knows.
fn two(first: &Mock, second: &Mock) -> String {
    let second = format!(
        "[providers.second]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        second.base_url()
    );
    format!(
        "fallback_models = [\"unknown/x\", \"second/n\"]\n{}",
        config_of(first, &second)
    )
}

#[test]
fn another_model_answers_for_the_turn_and_the_user_is_told() {
    let first = Mock::serve(vec![down(), down(), down(), down(), Reply::text("first again")]);
    let call = ("c", "todo", json!({"items": []}));
    let second = Mock::serve(vec![Reply::calls(&[call]), Reply::text("second")]);
    let home = Home::with_config(&two(&first, &second));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert!(client.said(0).contains("second"), "{}", client.said(0));
    assert_eq!(times_told(&client, 0, "asking second/n instead of mock/m"), 1);
    assert_eq!(times_told(&client, 0, "the fallback model unknown/x can't be asked"), 1);
    assert_eq!((first.requests().len(), second.requests().len()), (4, 2));
    assert_eq!(client.prompt(&session, "next"), "end_turn");
    assert_eq!((first.requests().len(), second.requests().len()), (5, 2));
}

#[test]
fn when_no_model_answers_the_last_failure_is_told() {
    let first = Mock::answering(|_| down());
    let second = Mock::answering(|_| down());
    let home = Home::with_config(&two(&first, &second));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    let error = client.response(prompt).unwrap_err();
    assert_eq!(error["data"]["provider"], "second", "{error}");
    assert_eq!((first.requests().len(), second.requests().len()), (4, 4));
}
