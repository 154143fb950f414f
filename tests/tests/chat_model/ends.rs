//! How a turn ends: by its limit of steps, by the service's limit of length, by a filter.

use serde_json::{Value, json};
use talaria_tests::mock::Reply;
use talaria_tests::start::times_told;

use crate::{Stage, check_paired, last_of, roles};

fn list(id: &str) -> Reply {
    Reply::calls(&[(id, "search_files", json!({"pattern": id}))])
}

#[test]
fn a_turn_that_uses_up_its_steps_says_so() {
    let replies = vec![list("1"), list("2"), list("3"), Reply::text("On with it.")];
    let mut stage = Stage::with_config(replies, "[agent]\nmax_steps = 3\n");
    assert_eq!(stage.prompt("go"), "max_turn_requests");
    assert_eq!(stage.mock.requests().len(), 3);
    assert_eq!(stage.prompt("go on"), "end_turn");
    let asked = stage.last_request();
    check_paired(&asked);
    assert_eq!(roles(&asked), "suatatatau");
    assert!(last_of(&asked, "assistant").contains("used up its model calls"));
}

#[test]
fn a_reply_cut_by_length_is_told_to_user_and_model() {
    let replies = vec![
        Reply::text_until("This is only the beg", "length"),
        Reply::text("inning."),
    ];
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("go"), "max_tokens");
    assert_eq!(stage.prompt("go on"), "end_turn");
    let told = stage.last_request();
    assert!(
        last_of(&told, "assistant").starts_with("This is only the beg"),
        "{}",
        told.raw
    );
    assert!(last_of(&told, "assistant").contains("length limit"), "{}", told.raw);
}

#[test]
fn a_reason_that_nobody_knows_is_told_and_the_reply_counts() {
    let mut stage = Stage::new(vec![Reply::text_until("All of it.", "banana")]);
    assert_eq!(stage.prompt("go"), "end_turn");
    assert_eq!(times_told(&stage.client, 0, "ended this reply for the reason"), 1);
    assert!(stage.client.said(0).contains("All of it."));
}

#[test]
fn what_a_filter_refused_does_not_stand_in_the_way_of_the_next_prompt() {
    let replies = vec![
        Reply::text("Hello."),
        Reply::text_until("I", "content_filter"),
        Reply::text("Fine."),
        Reply::text("Fine again."),
    ];
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("hi"), "end_turn");
    assert_eq!(stage.prompt("something foul"), "refusal");
    assert_eq!(stage.prompt("something fair"), "end_turn");
    let asked = stage.last_request();
    assert_eq!(roles(&asked), "suau");
    assert!(!asked.raw.contains("something foul"), "{}", asked.raw);
    let mut stage = stage.reload();
    assert_eq!(stage.prompt("more"), "end_turn");
    let asked = stage.last_request();
    assert_eq!(roles(&asked), "suauau");
    assert!(!asked.raw.contains("something foul"), "{}", asked.raw);
}

#[test]
fn a_model_that_says_nothing_is_asked_again_once_and_the_user_is_told() {
    let replies = vec![Reply::text(""), Reply::text(""), Reply::text("Here.")];
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("go"), "end_turn");
    assert!(
        stage.client.said(0).contains("gave no answer"),
        "{}",
        stage.client.said(0)
    );
    assert_eq!(stage.mock.requests().len(), 2);
    assert_eq!(stage.prompt("there?"), "end_turn");
    check_paired(&stage.last_request());
}

#[test]
fn a_reply_of_reasoning_only_is_kept() {
    // One that says nothing is asked for again; one that used up its length is not.
    for (finish, stop, times) in [("stop", "end_turn", 2), ("length", "max_tokens", 1)] {
        let delta = json!({"reasoning_content": "Let me see."});
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        let reasoning = Reply::sse(format!("data: {chunk}\n\ndata: [DONE]\n\n"));
        let mut replies = vec![reasoning; times];
        replies.push(Reply::text("Here."));
        let mut stage = Stage::new(replies);
        assert_eq!(stage.prompt("go"), stop);
        let mut stage = stage.reload();
        let thoughts = stage.client.updates(0).into_iter();
        let thoughts = thoughts.filter(|update| update["sessionUpdate"] == "agent_thought_chunk");
        let thoughts: Vec<&Value> = thoughts.map(|update| &update["content"]["text"]).collect();
        assert_eq!(thoughts, vec!["Let me see."; times], "{finish}");
        assert_eq!(stage.prompt("there?"), "end_turn");
        let asked = stage.last_request();
        check_paired(&asked);
        assert_eq!(roles(&asked), "suau");
        // Services refuse a message that says nothing.
        assert!(last_of(&asked, "assistant").starts_with('['), "{}", asked.raw);
    }
}
