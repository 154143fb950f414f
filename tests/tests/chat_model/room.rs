//! A conversation that gets too long for its model's context, and how room is made.

mod summaries;

use providers::Dialect;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::counting::{self, tokens};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::{asked, config_of, load, times_told};

use crate::{check_paired, last_of, roles};

/// Tokens of the model's context.
const WINDOW: u64 = 10_000;

fn home(mock: &Mock, images: bool) -> Home {
    Home::with_config(&format!(
        "model = \"mock/m\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         models = [{{ id = \"m\", context_window = {WINDOW}, max_output = 4000, images = {images} }}]\n",
        mock.base_url()
    ))
}

/// A reply after which so many tokens are in use.
fn using(used: u64, delta: &Value, finish: &str) -> Reply {
    let chunk = json!({"choices": [{"delta": delta, "finish_reason": finish}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": used, "completion_tokens": 0}});
    Reply::events(&[chunk, usage])
}

/// A reply of a service that counts.
fn counts(asked: &Asked, text: &str) -> Reply {
    counting::answer(Dialect::OpenaiChat, WINDOW, asked, text)
}

fn says(used: u64, text: &str) -> Reply {
    using(used, &json!({"content": text}), "stop")
}

fn reads(used: u64, path: &str) -> Reply {
    let function = json!({"name": "read_file", "arguments": json!({"path": path}).to_string()});
    let call = json!({"id": path, "type": "function", "function": function});
    using(used, &json!({"tool_calls": [call]}), "tool_calls")
}

fn overflow() -> Reply {
    let error =
        json!({"error": {"message": "maximum context length is 10000 tokens", "code": "context_length_exceeded"}});
    Reply::answer(
        "HTTP/1.1 400 Bad Request\ncontent-type: application/json",
        error.to_string(),
    )
}

/// A client that shows notices, in a session.
fn talk(home: &Home) -> (Client, String) {
    let mut client = Client::initialized(home, json!({"session": {"notices": {}}}));
    let session = client.new_session(&home.workspace());
    (client, session)
}

/// Whether the model is asked for a summary.
fn wants_summary(asked: &Asked) -> bool {
    last_of(asked, "user").contains("Write a summary")
}

/// Whether who speaks changes with each message.
fn alternates(asked: &Asked) -> bool {
    !roles(asked).contains("uu") && !roles(asked).contains("aa")
}

/// The numbers of all gauges that were sent from here on.
fn gauges(client: &Client, from: usize) -> Vec<u64> {
    let updates = client.updates(from).into_iter();
    let gauges = updates.filter(|update| update["sessionUpdate"] == "usage_update");
    gauges.filter_map(|update| update["used"].as_u64()).collect()
}

#[test]
fn a_context_that_gets_full_is_summarised_and_nothing_is_lost() {
    let mock = Mock::answering(|asked| match last_of(asked, "user") {
        "first" => counts(asked, &"The answer to the first. ".repeat(400)),
        "second" => counts(asked, &"The answer to the second. ".repeat(550)),
        "third" => counts(asked, "The answer to the third."),
        "fourth" => counts(asked, "The answer to the fourth."),
        _ => counts(asked, "SUMMARY"),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    for prompt in ["first", "second"] {
        assert_eq!(client.prompt(&session, prompt), "end_turn");
    }
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "third"), "end_turn");
    assert_eq!(times_told(&client, from, "summarised to make room"), 1);
    assert!(!client.said(from).contains("SUMMARY"), "{}", client.said(from));
    let gauge = gauges(&client, from);
    let requests = mock.requests();
    assert_eq!(requests.len(), 4);
    let used = tokens(&requests[3].raw) + tokens("The answer to the third.");
    assert!(gauge[0].abs_diff(used) < 200 && gauge[1] == used, "{gauge:?}");
    assert!(wants_summary(&requests[2]));
    assert_eq!(roles(&requests[3]), "suau");
    assert!(requests[3].raw.contains("SUMMARY") && !requests[3].raw.contains("The answer to"));
    assert_eq!(last_of(&requests[3], "user"), "third");
    for request in &requests {
        let most = request.body["max_tokens"].as_u64().unwrap();
        assert!(tokens(&request.raw) + most <= WINDOW, "{}", request.raw);
    }

    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "second", "third"]);
    assert!(client.said(from).contains("The answer to the first."));
    let gauge = client.wait_for(|message| message["params"]["update"]["sessionUpdate"] == "usage_update");
    assert_eq!(gauge["params"]["update"]["used"], used, "{gauge}");
    assert_eq!(client.prompt(&session, "fourth"), "end_turn");
    assert_eq!(roles(&mock.requests()[4]), "suauau");
    assert!(mock.requests()[4].raw.contains("SUMMARY"));
}

#[test]
fn old_outputs_become_notes_where_that_is_enough() {
    let mock = Mock::serve(vec![
        reads(1000, "big.txt"),
        says(9000, "It is long."),
        says(1500, "Gladly."),
    ]);
    let home = home(&mock, false);
    std::fs::write(home.workspace().join("big.txt"), "line of text\n".repeat(2000)).unwrap();
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "read it"), "end_turn");
    assert_eq!(client.prompt(&session, "thanks"), "end_turn");
    let last = mock.requests().pop().unwrap();
    assert_eq!(mock.requests().len(), 3, "no summary is needed");
    assert_eq!(roles(&last), "suatau");
    check_paired(&last);
    assert!(
        last_of(&last, "tool").starts_with("[An output of read_file, "),
        "{}",
        last.raw
    );
}

#[test]
fn the_prompt_of_a_long_turn_stays_and_no_call_is_parted_from_its_result() {
    let mut number = 0;
    let mock = Mock::answering(move |asked| {
        if wants_summary(asked) {
            return counts(asked, "SUMMARY");
        }
        number += 1;
        match asked.raw.contains("SUMMARY") {
            // Three short ones and then one that is long.
            false => reads(
                tokens(&asked.raw),
                &format!("f{number}{}", "x".repeat(number / 4 * 9000)),
            ),
            true => counts(asked, "done"),
        }
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "find the needle"), "end_turn");
    for asked in mock.requests() {
        check_paired(&asked);
        assert!(asked.raw.contains("find the needle"), "{}", asked.raw);
    }
    let last = mock.requests().pop().unwrap();
    assert!(roles(&last).starts_with("suau"), "{}", roles(&last));
}

#[test]
fn a_service_that_takes_no_more_gets_less_and_is_asked_once_more() {
    let mut refused = 0;
    let mock = Mock::answering(move |asked| {
        if wants_summary(asked) {
            return says(1, "SUMMARY");
        }
        match last_of(asked, "user") {
            "too much" if !asked.raw.contains("SUMMARY") => overflow(),
            "always too much" if refused < 9 => {
                refused += 1;
                overflow()
            }
            _ => says(100, "fine"),
        }
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    let long = "words ".repeat(100);
    assert_eq!(client.prompt(&session, &long), "end_turn");
    assert_eq!(client.prompt(&session, &long), "end_turn");
    assert_eq!(client.prompt(&session, "too much"), "end_turn");
    assert!(mock.requests().pop().unwrap().raw.contains("SUMMARY"));
    let prompt = client.begin_prompt(&session, "always too much");
    let error = client.response(prompt).unwrap_err();
    assert_eq!(error["data"]["class"], "context_overflow", "{error}");
    assert!(mock.requests().len() < 12, "it ends");
    assert_eq!(client.prompt(&session, "next"), "end_turn");
}

#[test]
fn pictures_that_are_too_many_make_way_for_the_newest() {
    const MOST: usize = 60_000;
    let mock = Mock::answering(|asked| {
        let results = roles(asked).matches('t').count();
        match asked.raw.len() {
            ..MOST if results < 6 => reads(100, &format!("{results}.png")),
            ..MOST => says(100, "seen"),
            _ => Reply::answer("HTTP/1.1 413 Payload Too Large", "too large"),
        }
    });
    let home = home(&mock, true);
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.resize(12_000, 1);
    for number in 0..6 {
        std::fs::write(home.workspace().join(format!("{number}.png")), &png).unwrap();
    }
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "look"), "end_turn");
    assert!(times_told(&client, 0, "old pictures were left out") >= 1);
    let last = mock.requests().pop().unwrap();
    assert!(last.raw.contains("image_url"), "the newest is still there");
    check_paired(&last);
}

#[test]
fn an_output_that_alone_is_too_large_gives_way_to_a_note() {
    let mock = Mock::answering(|asked| match asked.raw.len() {
        ..30_000 if last_of(asked, "user") == "read" && roles(asked).ends_with('u') => reads(100, "big.txt"),
        ..30_000 => says(100, "too long to read at once"),
        _ => overflow(),
    });
    let home = home(&mock, false);
    std::fs::write(home.workspace().join("big.txt"), "line of text\n".repeat(2000)).unwrap();
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "read"), "end_turn");
    let last = mock.requests().pop().unwrap();
    assert!(
        last_of(&last, "tool").starts_with("[An output of read_file, "),
        "{}",
        last.raw
    );
}

#[test]
fn a_conversation_of_text_that_is_too_large_for_the_service_gets_shorter() {
    // As a service words it that takes so many tokens a minute; it says nothing of a context.
    for most in [26_000, 12_000] {
        let mut is_tight = false;
        let mock = Mock::answering(move |asked| {
            is_tight |= last_of(asked, "user") == "tight";
            let taken = if is_tight { most } else { usize::MAX };
            let text = match wants_summary(asked) {
                true => "SUMMARY".to_owned(),
                false => "words ".repeat(1000),
            };
            match asked.raw.len() {
                size if size <= taken => using(tokens(&asked.raw), &json!({ "content": text }), "stop"),
                _ => Reply::answer(
                    "HTTP/1.1 413 Payload Too Large\ncontent-type: application/json",
                    json!({"error": {"message": "Request too large for model `m` on tokens per minute (TPM): \
                        Limit 6000, Requested 8000", "type": "tokens", "code": "rate_limit_exceeded"}})
                    .to_string(),
                ),
            }
        });
        let home = Home::with_config(&config_of(&mock, ""));
        let (mut client, session) = talk(&home);
        for prompt in ["one", "two", "three", "four", "five", "tight", "and on", "and on"] {
            assert_eq!(client.prompt(&session, prompt), "end_turn", "{most}: {prompt}");
        }
        assert!(times_told(&client, 0, "summarised to make room") > 0);
    }
}

#[test]
fn a_service_that_takes_too_little_is_told_with_what_helps() {
    let mock = Mock::answering(|_| Reply::answer("HTTP/1.1 413 Payload Too Large", "too large"));
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    let prompt = client.begin_prompt(&session, "hi");
    let error = client.response(prompt).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("/compact"), "{error}");
}
