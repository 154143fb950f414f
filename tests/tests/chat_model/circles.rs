//! A model that makes the same call again and again.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::{config_of, times_told};

use crate::{check_paired, last_of, roles};

fn looks(asked: &Asked, input: Value) -> Reply {
    let id = format!("c{}", roles(asked).matches('t').count());
    Reply::calls(&[(&id, "search_files", input)])
}

#[test]
fn the_same_call_with_the_same_result_is_not_run_a_fifth_time() {
    let mock = Mock::answering(|asked| {
        let is_told = roles(asked).ends_with('t') && last_of(asked, "tool").contains("was not run again");
        if is_told {
            Reply::text("I see.")
        } else {
            looks(asked, json!({"pattern": "needle"}))
        }
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(mock.requests().len(), 6);
    check_paired(&mock.requests()[5]);
}

#[test]
fn a_model_that_does_not_listen_is_stopped_and_the_session_goes_on() {
    let mock = Mock::answering(|asked| match last_of(asked, "user") {
        "go" => looks(asked, json!({"pattern": "needle"})),
        _ => Reply::text("fine"),
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "max_turn_requests");
    assert_eq!(mock.requests().len(), 7);
    assert_eq!(times_told(&client, 0, "the same call again and again"), 1);
    assert_eq!(client.prompt(&session, "next"), "end_turn");
    check_paired(&mock.requests()[7]);
}

#[test]
fn a_call_whose_result_changes_is_no_circle() {
    let mock = Mock::answering(|asked| match roles(asked).matches('t').count() {
        ..7 => {
            let id = format!("c{}", asked.messages().len());
            Reply::calls(&[(&id, "terminal", json!({"command": "echo x >> n; wc -l n"}))])
        }
        _ => Reply::text("done"),
    });
    let home = Home::with_config(&format!("{}[agent]\nmode = \"dont_ask\"\n", config_of(&mock, "")));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(mock.requests().len(), 8);
}
