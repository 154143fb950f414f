//! Titles that the model gives, in the background.

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
    assert!(!mock.wait_titles(1, std::time::Duration::ZERO), "nobody asked");
}
