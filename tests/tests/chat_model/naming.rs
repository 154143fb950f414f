//! Titles that the model gives, in the background.

use std::time::Duration;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::config_of;

fn title_of(client: &mut Client, session: &str) -> Value {
    let list = client.request("session/list", json!({})).unwrap();
    let sessions = list["sessions"].as_array().unwrap();
    let listed = sessions.iter().find(|listed| listed["sessionId"] == session).unwrap();
    listed["title"].clone()
}

fn wait_for_title(client: &mut Client, title: &str) {
    client.wait_for(|message| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "session_info_update" && update["title"] == title
    });
}

#[test]
fn the_model_names_a_session_after_its_first_exchange() {
    let mock = Mock::answering(|_| Reply::text("It is in parser.rs."))
        .with_title(Reply::text("\n**\"Where the\u{202e} parser  lives\".**\nMore words"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(
        client.prompt(&session, "please tell me where the parser is"),
        "end_turn"
    );
    wait_for_title(&mut client, "Where the parser lives");
    assert_eq!(title_of(&mut client, &session), "Where the parser lives");
    assert_eq!(client.prompt(&session, "and now"), "end_turn");
    assert_eq!(mock.requests().len(), 2, "no turn knows of it");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    assert_eq!(title_of(&mut client, &session), "Where the parser lives");
}

#[test]
fn a_model_that_gives_no_title_changes_and_fails_nothing() {
    let long = "word ".repeat(40);
    for reply in [
        Reply::answer("HTTP/1.1 500 Internal Server Error", "no"),
        Reply::text(" \n"),
        Reply::text(&long),
    ] {
        let mock = Mock::answering(|_| Reply::text("fine")).with_title(reply);
        let home = Home::with_config(&config_of(&mock, ""));
        let (mut client, session) = Client::with_session(&home);
        assert_eq!(client.prompt(&session, "first line\nsecond"), "end_turn");
        assert!(mock.wait_titles(1, LIMIT));
        assert_eq!(client.prompt(&session, "next"), "end_turn");
        assert_eq!(title_of(&mut client, &session), "first line");
        assert!(client.close().success());
    }
}

#[test]
fn a_title_that_can_not_be_had_is_asked_for_twice_at_most() {
    let long = "word ".repeat(40);
    for (reply, least) in [
        (Reply::answer("HTTP/1.1 500 Internal Server Error", "no"), 2),
        (Reply::silence(), 2),
        // It is the answer, unless the next prompt is faster.
        (Reply::text(" \n"), 1),
        (Reply::text(&long), 1),
    ] {
        let mock = Mock::answering(|_| Reply::text("fine")).with_title(reply);
        let home = Home::with_config(&config_of(&mock, ""));
        let (mut client, session) = Client::with_session(&home);
        for turn in 1..=5 {
            assert_eq!(client.prompt(&session, "first line"), "end_turn");
            assert!(mock.wait_titles(turn.min(least), LIMIT));
        }
        // Whatever the first session still asks for comes before what this one does.
        let next = client.new_session(&home.workspace());
        let before = mock.titles().len();
        assert_eq!(client.prompt(&next, "second line"), "end_turn");
        assert!(mock.wait_titles(before + 1, LIMIT));
        let asked = mock.titles();
        let tries = asked.iter().filter(|asked| asked.raw.contains("first line")).count();
        assert!((least..=2).contains(&tries), "{tries}");
        assert_eq!(title_of(&mut client, &session), "first line");
    }
}

#[test]
fn the_search_for_a_title_delays_neither_the_next_turn_nor_the_end() {
    let mock = Mock::answering(|_| Reply::text("fine")).with_title(Reply::silence());
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for turn in 1..=2 {
        assert_eq!(client.prompt(&session, "hello"), "end_turn");
        assert!(mock.wait_titles(turn, LIMIT));
    }
    assert!(mock.wait_closed(LIMIT), "the first search ended with the second prompt");
    assert!(client.close().success());
}

#[test]
fn a_title_of_the_users_stays() {
    let mock = Mock::answering(|_| Reply::text("fine")).with_title(Reply::text("Of the model"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "/title Mine"), "end_turn");
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    assert_eq!(title_of(&mut client, &session), "Mine");
    assert!(!mock.wait_titles(1, Duration::ZERO), "nobody asked");
}

#[test]
fn only_what_was_answered_well_is_asked_about_and_by_the_model_that_answered() {
    let half = json!({"choices": [{"delta": {"content": "half"}}]});
    let half = Reply::events(&[half]).stalling();
    let refused = Reply::text_until("I won't", "content_filter");
    let wrong = Reply::answer("HTTP/1.1 400 Bad Request", "no");
    let mock = Mock::serve(vec![refused, wrong, half, Reply::text("fine")]).with_title(Reply::text("A title"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "a refused one"), "refusal");
    let failing = client.begin_prompt(&session, "a failing one");
    assert!(client.response(failing).is_err());
    let prompt = client.begin_prompt(&session, "a cancelled one");
    client.wait_for(|message| message["params"]["update"]["content"]["text"] == "half");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(!mock.wait_titles(1, Duration::ZERO), "none of these is worth a title");
    assert_eq!(client.prompt(&session, "a good one"), "end_turn");
    wait_for_title(&mut client, "A title");
    let asked = mock.titles();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].raw.contains("a good one"), "{}", asked[0].raw);
    assert!(!asked[0].raw.contains("refused"), "{}", asked[0].raw);
}

#[test]
fn the_fallback_that_answered_gives_the_title_and_what_it_costs_counts() {
    let dead = Mock::answering(|_| Reply::answer("HTTP/1.1 404 Not Found", "gone"));
    let second = Mock::answering(|_| Reply::text("fine")).with_title(Reply::text("A title"));
    let config = format!(
        "fallback_models = [\"second/n\"]\n{}[providers.second]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         models = [{{ id = \"n\", context_window = 100000, price = {{ input = 1.0, output = 1.0 }} }}]\n",
        config_of(&dead, ""),
        second.base_url()
    );
    let home = Home::with_config(&config);
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "hello"), "end_turn");
    wait_for_title(&mut client, "A title");
    assert!(!dead.wait_titles(1, Duration::ZERO), "the dead one is not asked");
    // Each reply of the server, titles too, is 10 tokens in and 5 out.
    let cost = |client: &mut Client| {
        let update = client.wait_for_update("usage_update");
        update["cost"]["amount"].as_f64().unwrap()
    };
    let prompt = client.begin_prompt(&session, "and on");
    assert!((cost(&mut client) - 3.0 * 15e-6).abs() < 1e-9);
    assert_eq!(client.stop_reason(prompt), "end_turn");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    talaria_tests::start::load(&mut client, &session, &home.workspace()).unwrap();
    assert!((cost(&mut client) - 3.0 * 15e-6).abs() < 1e-9);
}
