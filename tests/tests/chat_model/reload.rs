//! A session in a new process: the model gets the old turns whole, with the same beginning as before.

use std::fs;

use serde_json::{Value, json};
use talaria_tests::mock::{Asked, Reply};
use talaria_tests::stage::LIMIT;

use crate::{Stage, check_paired, last_of, roles};

fn read(id: &str, path: &str) -> Reply {
    Reply::calls(&[(id, "read_file", json!({ "path": path }))])
}

#[test]
fn a_prompt_after_a_reload_holds_the_old_turns() {
    let replies = vec![
        read("r", "a.txt"),
        Reply::text("It says alpha."),
        Reply::text("It said alpha."),
    ];
    let mut stage = Stage::new(replies);
    fs::write(stage.home.workspace().join("a.txt"), "alpha\n").unwrap();
    assert_eq!(stage.prompt("what does a.txt say?"), "end_turn");
    let mut stage = stage.reload();
    let from = stage.client.log.len();
    assert_eq!(stage.prompt("and what did it say?"), "end_turn");
    assert_eq!(stage.client.said(from), "It said alpha.");
    let asked = stage.last_request();
    check_paired(&asked);
    assert_eq!(roles(&asked), "suatau");
    assert!(last_of(&asked, "tool").contains("alpha"));
    assert_eq!(last_of(&asked, "assistant"), "It says alpha.");
}

#[test]
fn a_kill_while_a_command_runs_leaves_no_call_without_a_result() {
    let calls = Reply::calls(&[
        ("one", "terminal", json!({"command": "echo started; sleep 616"})),
        ("two", "write_file", json!({"path": "b.txt", "content": "x"})),
    ]);
    let mut stage = Stage::new(vec![calls, Reply::text("Let me look first.")]);
    stage.client.begin_prompt(&stage.session, "go");
    stage
        .client
        .wait_for(|message| message.to_string().contains("started\\n"));
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("go on"), "end_turn");
    let asked = stage.last_request();
    check_paired(&asked);
    assert!(
        asked.raw.contains("The agent ended while this call was open"),
        "{}",
        asked.raw
    );
    assert!(!stage.home.workspace().join("b.txt").exists());
}

#[test]
fn a_kill_while_a_question_is_open_leaves_no_call_without_a_result() {
    let write = Reply::calls(&[("w", "write_file", json!({"path": "b.txt", "content": "x"}))]);
    let mut stage = Stage::new(vec![write, Reply::text("Shall I?")]);
    stage.client.permission = None;
    stage.client.begin_prompt(&stage.session, "go");
    stage
        .client
        .wait_for(|message| message["method"] == "session/request_permission");
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("go on"), "end_turn");
    check_paired(&stage.last_request());
    assert!(!stage.home.workspace().join("b.txt").exists());
}

#[test]
fn a_kill_in_mid_stream_keeps_what_was_said() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "x".repeat(5000)}}]});
    let cut = Reply::events(&[chunk]).stalling();
    let mut stage = Stage::new(vec![cut, Reply::text("Where was I?")]);
    stage.client.begin_prompt(&stage.session, "go");
    stage.client.wait_for_update("agent_message_chunk");
    let path = stage.home.state().join("state.db");
    talaria_tests::start::wait_until("the piece is stored", || {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let count = connection.query_row("SELECT count(*) FROM partials", [], |row| row.get::<_, i64>(0));
        count.is_ok_and(|count| count > 0)
    });
    let mut stage = stage.reload();
    assert!(stage.client.said(0).contains(&"x".repeat(5000)));
    assert_eq!(stage.prompt("go on"), "end_turn");
    assert!(stage.last_request().raw.contains(&"x".repeat(5000)));
}

/// All but the messages.
fn frame(asked: &Asked) -> String {
    let mut body = asked.body.clone();
    body["messages"] = Value::Null;
    body.to_string()
}

#[test]
fn the_beginning_of_a_request_never_changes() {
    let texts = (0..4).map(|number| Reply::text(&format!("Answer {number}.")));
    let replies = vec![read("r", "a.txt")].into_iter().chain(texts).collect();
    let mut stage = Stage::new(replies);
    fs::write(stage.home.workspace().join("a.txt"), "alpha\n").unwrap();
    assert_eq!(stage.prompt("one"), "end_turn");
    fs::write(stage.home.workspace().join("AGENTS.md"), "Be brief.\n").unwrap();
    let params = json!({"sessionId": stage.session, "modeId": "accept_edits"});
    stage.client.request("session/set_mode", params).unwrap();
    assert_eq!(stage.prompt("two"), "end_turn");
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("three"), "end_turn");
    assert_eq!(stage.prompt("four"), "end_turn");
    let requests = stage.mock.requests();
    assert_eq!(requests.len(), 5);
    assert_eq!(requests[0].messages()[0]["role"], "system");
    for pair in requests.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        assert_eq!(frame(before), frame(after));
        let (old, new) = (before.messages(), after.messages());
        assert!(new.len() > old.len());
        for (old, new) in old.iter().zip(new) {
            assert_eq!(
                old.to_string(),
                new.to_string(),
                "a message has changed after it was sent"
            );
        }
    }
}

#[test]
fn what_has_changed_is_told_in_the_next_message_once() {
    let replies = (0..3).map(|number| Reply::text(&format!("Answer {number}."))).collect();
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("one"), "end_turn");
    let params = json!({"sessionId": stage.session, "modeId": "plan"});
    stage.client.request("session/set_mode", params).unwrap();
    assert_eq!(stage.prompt("two"), "end_turn");
    let asked = stage.last_request();
    let told = last_of(&asked, "user");
    assert!(told.starts_with("two") && told.contains("mode is now Plan"), "{told}");
    assert!(
        !stage.client.said(0).contains("mode is now"),
        "a note for the model is not shown"
    );
    assert_eq!(stage.prompt("three"), "end_turn");
    assert_eq!(last_of(&stage.last_request(), "user"), "three");
}

#[test]
fn what_has_changed_while_nobody_ran_is_told_once() {
    let replies = (0..5).map(|number| Reply::text(&format!("Answer {number}."))).collect();
    let mut stage = Stage::new(replies);
    fs::write(stage.home.workspace().join("AGENTS.md"), "Be brief.\n").unwrap();
    assert_eq!(stage.prompt("one"), "end_turn");
    let params = json!({"sessionId": stage.session, "modeId": "plan"});
    stage.client.request("session/set_mode", params).unwrap();
    let mut stage = stage.reload();
    fs::write(stage.home.workspace().join("AGENTS.md"), "Be polite.\n").unwrap();
    assert_eq!(stage.prompt("two"), "end_turn");
    let asked = stage.last_request();
    let told = last_of(&asked, "user");
    assert!(
        told.contains("mode is now Plan") && told.contains("Be polite."),
        "{told}"
    );
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("three"), "end_turn");
    assert_eq!(last_of(&stage.last_request(), "user"), "three");
    // What has left the history is told again.
    assert_eq!(stage.prompt("/clear"), "end_turn");
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("four"), "end_turn");
    let asked = stage.last_request();
    let told = last_of(&asked, "user");
    assert!(
        told.contains("mode is now Plan") && told.contains("Be polite."),
        "{told}"
    );
    assert_eq!(stage.prompt("five"), "end_turn");
    assert_eq!(last_of(&stage.last_request(), "user"), "five");
}

#[test]
fn a_mode_set_before_the_first_prompt_of_a_process_holds_too() {
    let write = Reply::calls(&[("w", "write_file", json!({"path": "b.txt", "content": "x"}))]);
    let replies = vec![
        Reply::text("One."),
        Reply::text("Two."),
        write,
        Reply::text("I may not."),
    ];
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("one"), "end_turn");
    let mut stage = stage.reload();
    let params = json!({"sessionId": stage.session, "modeId": "plan"});
    stage.client.request("session/set_mode", params).unwrap();
    assert_eq!(stage.prompt("two"), "end_turn");
    assert!(last_of(&stage.last_request(), "user").contains("mode is now Plan"));
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("write"), "end_turn");
    assert!(!stage.home.workspace().join("b.txt").exists());
}

#[test]
fn the_mode_holds_after_a_reload() {
    let write = Reply::calls(&[("w", "write_file", json!({"path": "b.txt", "content": "x"}))]);
    let mut stage = Stage::new(vec![Reply::text("Hello."), write, Reply::text("I may not.")]);
    assert_eq!(stage.prompt("one"), "end_turn");
    let params = json!({"sessionId": stage.session, "modeId": "plan"});
    stage.client.request("session/set_mode", params).unwrap();
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("write"), "end_turn");
    assert!(!stage.home.workspace().join("b.txt").exists());
    assert!(stage.mock.wait_requests(3, LIMIT));
}
