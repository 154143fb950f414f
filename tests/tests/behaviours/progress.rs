//! What is shown of a call while it runs: signs of life, and of much output its end alone and not too often.

use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::play::{calls, ends, home, questions, says, set_mode, text_of};

fn run(command: &str) -> Home {
    home(&[calls(&[("terminal", json!({"command": command}))]), says("done")])
}

fn open(home: &Home, capabilities: Value) -> (Client, String) {
    let mut client = Client::initialized(home, capabilities);
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    (client, session)
}

fn is_progress(update: &Value) -> bool {
    update["sessionUpdate"] == "tool_call_update" && update["status"] == "in_progress"
}

#[test]
fn a_call_that_says_nothing_is_shown_to_go_on() {
    let home = run("sleep 5; echo half; sleep 9");
    let (mut client, session) = open(&home, json!({}));
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let updates = client.updates(0).into_iter();
    let shown: Vec<String> = updates.filter(|update| is_progress(update)).map(text_of).collect();
    assert!(shown.contains(&"… 4 s so far".to_owned()), "{shown:?}");
    // What was printed is shown again, at least every 5 s, and nothing is made up beside it.
    let printed: Vec<&String> = shown.iter().filter(|text| text.starts_with("```\nhalf")).collect();
    assert!(printed.len() >= 3, "{shown:?}");
    assert!(printed.iter().all(|text| **text == "```\nhalf\n```"), "{shown:?}");
    let end = ends(&client, 0).remove(0);
    assert_eq!(text_of(&end), "```\nhalf\n```");
    // Signs of life are no history.
    client.kill();
    let database = Connection::open(home.state().join("state.db")).unwrap();
    let query = "SELECT count(*) FROM events WHERE kind = 'tool_progress'";
    let stored: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
    assert_eq!(stored, 0);
}

#[test]
fn a_call_that_waits_for_its_permission_does_not_run() {
    let home = run("sleep 60");
    let mut client = Client::initialized(&home, json!({}));
    client.permission = None;
    let session = client.new_session(&home.workspace());
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for(|message| message["method"] == "session/request_permission");
    // As long as it takes until one that runs is shown to go on.
    let other = client.new_session(&home.workspace());
    set_mode(&mut client, &other, "dont_ask");
    let runs = client.begin_prompt(&other, "go");
    let sign = "… 4 s so far";
    client.wait_for(|message| message["params"]["update"].to_string().contains(sign));
    let of_asked = |message: &&Value| message["params"]["sessionId"] == session;
    let mut progress = client
        .log
        .iter()
        .filter(of_asked)
        .map(|message| &message["params"]["update"]);
    assert!(!progress.any(is_progress), "{:?}", client.log);
    client.notify("session/cancel", json!({"sessionId": other}));
    assert_eq!(client.stop_reason(runs), "cancelled");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert_eq!(questions(&client, 0).len(), 1);
}

#[test]
fn much_output_is_shown_by_its_end_and_not_too_often() {
    for capabilities in [json!({}), json!({"_meta": {"terminal_output": true}})] {
        let home = run("seq 3; yes | head -c 100M; seq 4 6");
        let (mut client, session) = open(&home, capabilities);
        let begun = Instant::now();
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        let elapsed = begun.elapsed().as_secs_f64();
        let updates = client.updates(0);
        let progress: Vec<&&Value> = updates.iter().filter(|update| is_progress(update)).collect();
        let count = progress.len();
        assert!(
            count >= 2 && count as f64 <= 10.0 * elapsed + 5.0,
            "{count} in {elapsed} s"
        );
        for update in progress {
            let terminal = update["_meta"]["terminal_output"]["data"].as_str().unwrap_or_default();
            let size = text_of(update).len().max(terminal.len() / 2);
            assert!(size <= 8 * 1024 + 100, "{size}");
        }
        let end = ends(&client, 0).remove(0);
        assert!(end.to_string().len() < 64 * 1024);
        if end["_meta"].is_null() {
            let text = text_of(&end);
            assert!(text.starts_with("```\n1\n2\n3\ny\ny\n") && text.ends_with("y\n4\n5\n6\n```"));
            assert!(text.contains("\n… 104,826,892 bytes left out …\n"), "{}", text.len());
        }
    }
}
