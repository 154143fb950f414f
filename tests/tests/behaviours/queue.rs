//! Prompts that wait for others, and cancels of what runs and waits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::config_of;

use crate::play::{conversation, ends, home, says, text_of};

fn cancel(client: &mut Client, session: &str) {
    client.notify("session/cancel", json!({"sessionId": session}));
}

/// A stream that says `word` so often, one piece after the other with a pause between.
fn slow(word: &str, times: usize) -> Reply {
    let line = format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": word}}]})
    );
    let offsets = (1..times).map(|number| number * line.len()).collect();
    Reply::sse(line.repeat(times)).in_pieces(offsets)
}

#[test]
fn a_prompt_that_waits_for_a_free_thread_is_cancelled_at_once() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    client.permission = None;
    // As many turns as run at once, each with an open question.
    let busy: Vec<i64> = (0..64)
        .map(|_| {
            let session = client.new_session(&home.workspace());
            let prompt = client.begin_prompt(&session, "run touch x");
            client.wait_for(|message| message["method"] == "session/request_permission");
            prompt
        })
        .collect();
    let session = client.new_session(&home.workspace());
    for round in 0..2 {
        let waiting = client.begin_prompt(&session, &format!("say {round}"));
        let queued = client.begin_prompt(&session, "say queued");
        client.notify("session/cancel", json!({ "sessionId": session }));
        assert_eq!(client.stop_reason(waiting), "cancelled");
        assert_eq!(client.stop_reason(queued), "cancelled");
    }
    let is_answered = |message: &Value| message.get("method").is_none() && busy.iter().any(|id| message["id"] == *id);
    assert!(!client.log.iter().any(is_answered), "the others go on");
    assert!(client.close().success());
}

#[test]
fn a_cancel_of_nothing_does_nothing_to_the_next_prompt() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.rest(Duration::from_millis(50));
    let from = client.log.len();
    cancel(&mut client, &session);
    cancel(&mut client, "no such session");
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert!(client.said(from).contains("pong"));
    cancel(&mut client, &session);
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    let answers = client.log[from..].iter().filter(|message| message.get("id").is_some());
    assert_eq!(answers.count(), 2);
}

#[test]
fn a_cancel_in_the_same_breath_as_its_prompt_always_cancels() {
    // A cancel that is lost leaves the prompt without an answer.
    let reply = json!({"steps": [{"wait_cancel": true}, {"text": "a full turn"}]});
    let home = Home::with_script(&json!({"replies": [reply], "after": "repeat"}));
    let (mut client, session) = Client::with_session(&home);
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    for id in 1000..1500 {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
        let prompt = json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params});
        client.send_raw(format!("{prompt}\n{cancel}\n").as_bytes());
        assert_eq!(client.stop_reason(id), "cancelled", "{id}");
    }
    assert_eq!(client.said(0), "");
}

#[test]
fn a_cancel_does_not_wait_for_a_silent_service() {
    let mut first = true;
    let mock = Mock::answering(move |_| match std::mem::take(&mut first) {
        true => Reply::silence(),
        false => Reply::text("fine"),
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    assert!(mock.wait_requests(1, LIMIT));
    let at = Instant::now();
    cancel(&mut client, &session);
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(at.elapsed() < Duration::from_secs(2), "{:?}", at.elapsed());
    assert!(mock.wait_closed(LIMIT), "the connection is left open");
    assert_eq!(client.said(0), "");
    assert_eq!(client.prompt(&session, "again"), "end_turn");
}

#[test]
fn nothing_of_a_cancelled_turn_comes_after_its_answer() {
    let mut first = true;
    let mock = Mock::answering(move |_| match std::mem::take(&mut first) {
        true => slow("old ", 90),
        false => slow("new ", 3),
    });
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let old = client.begin_prompt(&session, "one");
    client.wait_for_update("agent_message_chunk");
    cancel(&mut client, &session);
    let new = client.begin_prompt(&session, "two");
    assert_eq!(client.stop_reason(old), "cancelled");
    let from = client.log.len();
    // The service broke off without a finish reason, which fails the turn; what it said stands.
    let _ = client.response(new);
    assert_eq!(client.said(from), "new new new ");
}

#[test]
fn a_session_remembers_what_was_before_and_in_a_cancelled_turn() {
    let mut replies = vec![Reply::text("hello"), slow("so far ", 90), Reply::text("fine")].into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap());
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "one");
    let prompt = client.begin_prompt(&session, "two");
    client.wait_for(|message| message.to_string().contains("so far "));
    cancel(&mut client, &session);
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert_eq!(client.prompt(&session, "three"), "end_turn");
    let sent = conversation(&mock.requests()[2]);
    let roles: Vec<&str> = sent.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert!(
        sent[3].1.starts_with("so far ") && sent[3].1.contains("cancelled"),
        "{sent:?}"
    );
}

#[test]
fn a_cancel_as_a_queued_prompt_begins_loses_nothing() {
    let home = Home::with_script(&json!({"replies": [says("word")], "after": "repeat"}));
    let (mut client, session) = Client::with_session(&home);
    for _ in 0..50 {
        let first = client.begin_prompt(&session, "one");
        let second = client.begin_prompt(&session, "two");
        assert_eq!(client.stop_reason(first), "end_turn");
        cancel(&mut client, &session);
        let stop = client.stop_reason(second);
        assert!(["cancelled", "end_turn"].contains(&stop.as_str()), "{stop}");
        assert_eq!(client.prompt(&session, "three"), "end_turn");
    }
}

#[test]
fn updates_of_a_queued_prompt_come_before_its_own_answer() {
    let home = home(&[
        json!({"steps": [{"text": "one"}, {"delay_ms": 50}]}),
        json!({"steps": [{"call": {"name": "todo", "input": {"items": []}}}]}),
        says("two"),
        says("three"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    let prompts = ["a", "b", "c"].map(|text| client.begin_prompt(&session, text));
    client.stop_reason(prompts[2]);
    let from = client.log.len();
    client.rest(Duration::from_millis(100));
    assert!(
        client
            .updates(from)
            .iter()
            .all(|update| update["sessionUpdate"] == "session_info_update")
    );
    let place = |is: &dyn Fn(&Value) -> bool| client.log.iter().rposition(is).unwrap();
    let answers = prompts.map(|id| place(&|message| message["id"] == id && message.get("result").is_some()));
    let said =
        ["one", "two", "three"].map(|text| place(&|message| message["params"]["update"]["content"]["text"] == text));
    assert!(said[0] < answers[0] && answers[0] < said[1], "{answers:?} {said:?}");
    assert!(
        said[1] < answers[1] && answers[1] < said[2] && said[2] < answers[2],
        "{answers:?} {said:?}"
    );
}

#[test]
fn a_second_cancel_of_a_turn_changes_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    // What is queued between the two is not the turn that was cancelled: only a cancel of the session means it.
    for (first, second, queued) in [
        ("session/cancel", "session/cancel", "cancelled"),
        ("session/cancel", "$/cancel_request", "end_turn"),
        ("$/cancel_request", "session/cancel", "cancelled"),
        ("$/cancel_request", "$/cancel_request", "end_turn"),
    ] {
        let from = client.log.len();
        // It doesn't end when it is asked to, so that the second cancel meets a turn that is ending.
        let prompt = client.begin_prompt(&session, "run trap '' TERM; echo started; sleep 615");
        client.wait_for(|message| message["params"]["update"].to_string().contains("started\\n"));
        let cancel = |method: &str| match method {
            "session/cancel" => json!({"jsonrpc": "2.0", "method": method, "params": {"sessionId": session}}),
            method => json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": prompt}}),
        };
        let say = json!([{"type": "text", "text": "say pong"}]);
        let say = json!({"sessionId": session, "prompt": say});
        let next = json!({"jsonrpc": "2.0", "id": prompt + 1000, "method": "session/prompt", "params": say});
        let lines = [cancel(first), next, cancel(second)].map(|line| format!("{line}\n"));
        client.send_raw(lines.concat().as_bytes());
        assert_eq!(client.stop_reason(prompt), "cancelled");
        assert_eq!(client.stop_reason(prompt + 1000), queued, "{first}, {second}");
        // Its turn has ended, so this means nothing.
        client.send(&cancel("$/cancel_request"));
        assert_eq!(client.prompt(&session, "say pong"), "end_turn");
        let ends = ends(&client, from);
        assert_eq!(ends.len(), 1, "{ends:?}");
        assert_eq!(text_of(&ends[0]).matches("cancelled").count(), 1, "{}", ends[0]);
        let answers = client.log.iter().filter(|message| message["id"] == prompt);
        assert_eq!(answers.count(), 1);
    }
}
