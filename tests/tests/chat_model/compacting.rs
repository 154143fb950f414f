//! What the model still hears of a conversation that its user has had summarised.

use serde_json::json;
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::{config_of, load};

use crate::{check_paired, last_of, roles};

/// A picture of a few bytes.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn home(mock: &Mock) -> Home {
    let models = "models = [{ id = \"m\", context_window = 100000, images = true }]\n";
    Home::with_config(&config_of(mock, models))
}

fn show(client: &mut Client, session: &str, text: &str) {
    let picture = json!({"type": "image", "mimeType": "image/png", "data": PICTURE});
    let prompt = json!([{"type": "text", "text": text}, picture]);
    let params = json!({"sessionId": session, "prompt": prompt});
    assert_eq!(
        client.request("session/prompt", params).unwrap()["stopReason"],
        "end_turn"
    );
}

fn wants_summary(asked: &Asked) -> bool {
    asked.raw.contains("Write a summary")
}

/// Prompts four times, compacts, and prompts again, here and in another process: the model hears the last prompt with
/// its picture, and these roles in all.
fn check(answer: impl Fn(&Asked) -> Reply + Send + 'static, expect: &str) {
    let mock = Mock::answering(move |asked| match wants_summary(asked) {
        true => Reply::text("SUMMARY"),
        false => answer(asked),
    });
    let home = home(&mock);
    let (mut client, session) = Client::with_session(&home);
    for number in 0..4 {
        show(&mut client, &session, &format!("question{number}"));
    }
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "/compact"), "end_turn");
    assert!(client.said(from).contains("is summarised"), "{}", client.said(from));
    for _ in 0..2 {
        client.prompt(&session, "after");
        let sent = mock.requests().pop().unwrap();
        assert!(roles(&sent).starts_with(expect), "{}", roles(&sent));
        assert_eq!(sent.messages()[3]["content"][0]["text"], "question3");
        assert!(
            sent.raw.contains("SUMMARY") && sent.raw.contains(PICTURE),
            "{}",
            sent.raw
        );
        assert!(!sent.raw.contains("question2"), "{}", sent.raw);
        check_paired(&sent);
        client.kill();
        client = Client::initialized(&home, json!({}));
        load(&mut client, &session, &home.workspace()).unwrap();
    }
}

#[test]
fn the_last_prompt_stays_with_what_stays_of_its_answer() {
    let calls = |asked: &Asked| match roles(asked).ends_with('t') {
        true => Reply::text("done"),
        false => Reply::calls(&[("c", "todo", json!({"items": []}))]),
    };
    let answer = move |asked: &Asked| match asked.raw.contains("question3") {
        true => calls(asked),
        false => Reply::text(&"a long answer ".repeat(400)),
    };
    check(answer, "suauatau");
}

#[test]
fn the_last_prompt_stays_also_where_its_answer_is_summarised() {
    check(|_| Reply::text(&"a long answer ".repeat(400)), "suauau");
}

#[test]
fn no_summary_is_paid_for_where_only_the_last_prompt_is_long() {
    let mock = Mock::answering(|_| Reply::text("short"));
    let home = home(&mock);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, &"a long prompt ".repeat(400));
    let from = client.log.len();
    client.prompt(&session, "/compact");
    assert!(client.said(from).contains("nothing yet"), "{}", client.said(from));
    assert_eq!(mock.requests().len(), 1);
    client.prompt(&session, "after");
    assert_eq!(last_of(&mock.requests()[1], "user"), "after");
}
