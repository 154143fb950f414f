//! What the model gets to see of a turn that did not end well.

use serde_json::json;
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::config_of;

use crate::play::{conversation, roles};

/// A server that answers so in this order, and its home.
fn serving(replies: Vec<Reply>) -> (Home, Mock) {
    let mut replies = replies.into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap_or_else(|| Reply::text("fine")));
    let home = Home::with_config(&config_of(&mock, ""));
    (home, mock)
}

fn refused(status: &str) -> Reply {
    Reply::answer(
        &format!("HTTP/1.1 {status}\ncontent-type: application/json"),
        r#"{"error": {"message": "no"}}"#,
    )
}

#[test]
fn a_turn_that_ended_badly_is_closed_once_in_what_the_model_gets() {
    let cut = Reply::sse("data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"half\"}}]}\n\n");
    for (what, failing, note) in [
        ("a bad request", refused("400 Bad Request"), "This turn failed"),
        (
            "a rate limit",
            refused("429 Too Many Requests\nretry-after: 1"),
            "This turn failed",
        ),
        ("an overload", refused("503 Service Unavailable"), "This turn failed"),
        ("an empty stream", Reply::sse(""), "This turn failed"),
        ("a stream that breaks", cut, "This turn failed"),
        (
            "a reply cut by its length",
            Reply::text_until("half", "length"),
            "length limit",
        ),
    ] {
        // Whatever is tried again fails again.
        let mock = Mock::answering(
            move |asked| match asked.messages().last().unwrap()["content"] == "fail" {
                true => failing.clone(),
                false => Reply::text("fine"),
            },
        );
        let home = Home::with_config(&config_of(&mock, ""));
        let (mut client, session) = Client::with_session(&home);
        let prompt = client.begin_prompt(&session, "fail");
        let _ = client.response(prompt);
        client.prompt(&session, "second");
        client.prompt(&session, "third");
        for count in [1, 2] {
            let request = mock.requests().iter().rev().nth(2 - count).unwrap().clone();
            let sent = conversation(&request);
            let expect: Vec<&str> = ["user", "assistant"]
                .repeat(count)
                .into_iter()
                .chain(["user"])
                .collect();
            assert_eq!(roles(&request), expect, "{what}: {sent:?}");
            let notes = sent
                .iter()
                .filter(|(role, text)| role == "assistant" && text.contains(note));
            assert_eq!(notes.count(), 1, "{what}: {sent:?}");
        }
        let last = conversation(&mock.requests().pop().unwrap());
        assert_eq!(last[3].1, "fine", "{what}: a turn that went well has no note");
    }
}

#[test]
fn a_refused_prompt_is_not_sent_again() {
    let (home, mock) = serving(vec![
        Reply::text("hello"),
        Reply::text_until("I won't", "content_filter"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    assert_eq!(client.prompt(&session, "something bad"), "refusal");
    client.prompt(&session, "third");
    let texts: Vec<String> = conversation(&mock.requests()[2])
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["first", "hello", "third"]);
}

#[test]
fn work_that_was_begun_before_a_failure_is_told_to_the_model() {
    let call = Reply::calls(&[("x", "write_file", json!({"path": "a.txt", "content": "x"}))]);
    let (home, mock) = serving(vec![call, refused("400 Bad Request")]);
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.response(prompt).unwrap_err();
    assert!(home.workspace().join("a.txt").exists());
    client.prompt(&session, "again");
    let request = mock.requests().pop().unwrap();
    assert_eq!(roles(&request), ["user", "assistant", "tool", "assistant", "user"]);
    let closing = conversation(&request)[3].1.clone();
    assert!(
        closing.contains("This turn failed") && closing.contains("partly done"),
        "{closing}"
    );
}

#[test]
fn an_interrupted_turn_has_a_closing_message_of_its_own() {
    let (home, mock) = serving(vec![Reply::silence(), Reply::silence()]);
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    assert!(mock.wait_requests(1, LIMIT));
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    client.begin_prompt(&session, "and on");
    assert!(mock.wait_requests(2, LIMIT));
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    talaria_tests::start::load(&mut client, &session, &home.workspace()).unwrap();
    client.prompt(&session, "last");
    let request = mock.requests().pop().unwrap();
    let sent = conversation(&request);
    assert_eq!(roles(&request), ["user", "assistant", "user", "assistant", "user"]);
    assert!(
        sent[1].1.contains("cancelled") && sent[3].1.contains("the agent ended"),
        "{sent:?}"
    );
}

#[test]
fn whoever_was_not_shown_that_a_turn_was_cut_off_is_told_with_the_next_prompt() {
    let (home, mock) = serving(vec![
        Reply::silence(),
        Reply::text("on"),
        Reply::silence(),
        Reply::text("on"),
    ]);
    let told = "Note: the last turn was cut off: the agent ended before it was finished";
    for (number, method, is_told) in [(0, "session/resume", true), (1, "session/load", false)] {
        let (mut client, session) = Client::with_session(&home);
        client.begin_prompt(&session, "go");
        assert!(mock.wait_requests(2 * number + 1, LIMIT));
        client.kill();
        let mut client = Client::initialized(&home, json!({}));
        let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
        client.request(method, params).unwrap();
        let from = client.log.len();
        client.prompt(&session, "on");
        assert_eq!(
            client.said(from).contains(told),
            is_told,
            "{method}: {}",
            client.said(from)
        );
    }
}

#[test]
fn a_start_that_can_not_succeed_is_told_on_stderr_and_not_on_stdout() {
    let home = Home::new();
    for arguments in [
        ["acp", "--cwd", "/no/such/folder"],
        ["acp", "--mode", "reckless"],
        ["acp", "--model", "nothing"],
    ] {
        let (status, stdout, stderr) = talaria_tests::client::run(home.command(&arguments), "");
        assert_eq!(status.code(), Some(2), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "", "{arguments:?}");
        assert!(stderr.contains(arguments[2]), "{arguments:?}: {stderr}");
    }
}
