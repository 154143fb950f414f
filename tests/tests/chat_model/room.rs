//! A conversation that gets too long for its model's context, and how room is made.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::{asked, load, times_told};

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
    Reply::sse(format!("data: {chunk}\n\ndata: {usage}\n\n"))
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
        "first" => says(3000, &"The answer to the first. ".repeat(20)),
        "second" => says(8200, &"The answer to the second. ".repeat(20)),
        "third" => says(1200, "The answer to the third."),
        "fourth" => says(1400, "The answer to the fourth."),
        _ => says(8200, "SUMMARY"),
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
    assert!(gauge[0] < 8000 && gauge[1] == 1200, "{gauge:?}");
    let requests = mock.requests();
    assert_eq!(requests.len(), 4);
    assert!(wants_summary(&requests[2]));
    assert_eq!(roles(&requests[3]), "suau");
    assert!(requests[3].raw.contains("SUMMARY") && !requests[3].raw.contains("The answer to"));
    assert_eq!(last_of(&requests[3], "user"), "third");
    for request in &requests {
        let most = request.body["max_tokens"].as_u64().unwrap();
        assert!(request.raw.len() as u64 / 3 + most <= WINDOW, "{}", request.raw);
    }

    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "second", "third"]);
    assert!(client.said(from).contains("The answer to the first."));
    let gauge = client.wait_for(|message| message["params"]["update"]["sessionUpdate"] == "usage_update");
    assert_eq!(gauge["params"]["update"]["used"], 1200, "{gauge}");
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
    let mut used = 2000;
    let mock = Mock::answering(move |asked| {
        if wants_summary(asked) {
            return says(1, "SUMMARY");
        }
        used = if asked.raw.contains("SUMMARY") {
            3000
        } else {
            used + 1500
        };
        match asked.raw.contains("SUMMARY") {
            false => reads(used, &format!("f{used}")),
            true => says(used, "done"),
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
fn an_overflow_in_the_summary_itself_is_survived() {
    // A summary is refused while the first prompt is in it, or always.
    for always in [false, true] {
        let mock = Mock::answering(move |asked| {
            let is_long = always || asked.raw.contains("the first prompt");
            match (wants_summary(asked), last_of(asked, "user")) {
                (true, _) if is_long => overflow(),
                (true, _) => says(1, "SUMMARY"),
                (false, "now") => says(900, "there is room"),
                (false, _) => says(8500, "ok"),
            }
        });
        let home = home(&mock, false);
        let (mut client, session) = talk(&home);
        let first = format!("the first prompt {}", "x".repeat(400));
        assert_eq!(client.prompt(&session, &first), "end_turn");
        assert_eq!(client.prompt(&session, "now"), "end_turn");
        assert!(client.said(0).ends_with("there is room"));
        assert!(mock.requests().iter().all(alternates));
        let last = mock.requests().pop().unwrap();
        assert_eq!(roles(&last), "suau", "{}", last.raw);
        assert!(!last.raw.contains(&first), "{}", last.raw);
        if always {
            assert!(last.raw.contains("What the user said"), "{}", last.raw);
        }
    }
}

#[test]
fn a_cancel_ends_the_making_of_a_summary() {
    let mock = Mock::answering(|asked| match (wants_summary(asked), last_of(asked, "user")) {
        (true, _) => Reply::silence(),
        (false, _) => says(8500, "ok"),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, &"first ".repeat(100)), "end_turn");
    for prompt in ["second", "/compact"] {
        let before = mock.requests().len();
        let prompt = client.begin_prompt(&session, prompt);
        assert!(mock.wait_requests(before + 1, talaria_tests::stage::LIMIT));
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
}

#[test]
fn a_summary_can_be_asked_for_and_told_what_to_dwell_on() {
    let mock = Mock::answering(|asked| match wants_summary(asked) {
        true => says(500, "SUMMARY of the parser"),
        false => says(4000, &"a long answer ".repeat(40)),
    });
    let home = home(&mock, false);
    let (mut client, session) = talk(&home);
    assert_eq!(client.prompt(&session, "/compact"), "end_turn");
    assert!(client.said(0).contains("nothing yet"), "{}", client.said(0));
    assert_eq!(client.prompt(&session, "first"), "end_turn");
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "/compact the parser"), "end_turn");
    assert!(last_of(&mock.requests()[1], "user").ends_with("above all: the parser"));
    assert!(client.said(from).contains("is summarised"), "{}", client.said(from));
    assert!(gauges(&client, from)[0] < 4000, "{:?}", gauges(&client, from));
    assert_eq!(client.prompt(&session, "second"), "end_turn");
    assert!(mock.requests()[2].raw.contains("SUMMARY of the parser"));
    assert!(!mock.requests()[2].raw.contains("a long answer"));
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
