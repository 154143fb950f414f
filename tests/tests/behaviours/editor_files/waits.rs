//! An editor that fails, or says nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::editor::{Editor, Way};
use talaria_tests::start::wait_until;

use crate::editor_files::{READ, WRITE, file, home_of, on_disk, open, patch, read, reading, work, writing};
use crate::play::{self, calls, ends, says, text_of};

#[test]
fn an_editor_that_can_not_read_is_replaced_by_the_disk() {
    for way in [Way::Error, Way::Senseless, Way::Silent, Way::Pretends] {
        let home = home_of(&[read(), patch("old", "new"), read()]);
        let begin = Instant::now();
        let client = work(&home, "old\n", Some("typed\n"), reading(way.clone()));
        assert!(begin.elapsed() < Duration::from_secs(8), "{way:?}");
        let ends = ends(&client, 0);
        assert!(text_of(&ends[0]).contains("1\told"), "{way:?}: {ends:?}");
        assert!(text_of(&ends[2]).contains("1\tnew"), "{way:?}: {ends:?}");
        assert_eq!(on_disk(&home), "new\n", "{way:?}");
        if way == Way::Silent {
            // One that was slow is left alone for a while.
            assert_eq!(client.asked_for(0, READ).len(), 1);
        }
    }
}

#[test]
fn nothing_is_asked_before_the_session_is_known() {
    let home = home_of(&[read()]);
    std::fs::write(home.workspace().join("AGENTS.md"), "rules\n").unwrap();
    let client = work(&home, "old\n", None, Editor::new());
    let is_answer = |message: &Value| message["result"]["sessionId"].is_string();
    let answered = client.log.iter().position(is_answer).unwrap();
    let asked = client.log.iter().position(|message| message["method"] == READ).unwrap();
    assert!(answered < asked);
    assert_eq!(client.asked_for(0, READ).len(), 1);
}

#[test]
fn a_cancel_waits_for_no_editor_and_a_late_answer_is_nothing() {
    for (silent, method) in [(reading(Way::Silent), READ), (writing(Way::Silent), WRITE)] {
        let home = play::home(&[calls(&[patch("old", "new")]), calls(&[read()]), says("done")]);
        std::fs::write(file(&home), "old\n").unwrap();
        let (mut client, session) = open(&home, silent);
        let id = client.begin_prompt(&session, "go");
        let asked = client.wait_for(|message| message["method"] == method);
        let begin = Instant::now();
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(id), "cancelled");
        assert!(begin.elapsed() < Duration::from_secs(1));
        let is_taken_back =
            |message: &Value| message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"];
        assert!(client.log.iter().any(is_taken_back), "{method}");
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "late\n"}}));
        client.editor = Some(Editor::new());
        let from = client.log.len();
        assert_eq!(client.prompt(&session, "go on"), "end_turn");
        assert!(text_of(&ends(&client, from)[0]).contains("1\told"));
    }
}

#[test]
fn a_client_that_leaves_while_it_is_asked_leaves_nothing_behind() {
    for (silent, method) in [(reading(Way::Silent), READ), (writing(Way::Silent), WRITE)] {
        let home = play::home(&[calls(&[patch("old", "new")]), says("done")]);
        std::fs::write(file(&home), "old\n").unwrap();
        let (mut client, session) = open(&home, silent);
        client.begin_prompt(&session, "go");
        client.wait_for(|message| message["method"] == method);
        let begin = Instant::now();
        assert!(client.close().success());
        assert!(begin.elapsed() < Duration::from_secs(3), "{method}");
        wait_until("the file is as it was", || on_disk(&home) == "old\n");
    }
}
