//! What of a reply goes back with the next request.

use agent_core::content::Content;
use agent_core::provider::{Call, Message, Reply};
use serde_json::json;
use talaria_tests::mock::{Mock, Reply as Answer};

use crate::ask::{Outcome, ask_once, ask_with, file, provider};

#[test]
fn reasoning_and_calls_go_back_as_they_came() {
    let mock = Mock::serve(vec![
        Answer::sse(file("chat-07-reasoning-details-signed.sse")),
        Answer::sse(file("chat-16-two-calls-same-id.sse")),
        Answer::text("done"),
    ]);
    let provider = provider(&mock);
    let messages = converse(|messages| ask_with(&provider, messages));
    ask_with(&provider, &messages).end.unwrap();
    let requests = mock.requests();
    let third = &requests[2];
    let made_up = third.body["messages"][3]["tool_calls"][1]["id"].as_str().unwrap();
    let call = |id: &str, p: u64| {
        let function = json!({"name": "read", "arguments": format!("{{\"p\":{p}}}")});
        json!({"id": id, "type": "function", "function": function})
    };
    let expect = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "T", "reasoning_details": [
            {"type": "reasoning.text", "text": "RD", "signature": "SIG", "index": 0},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [call("a", 1), call(made_up, 2)]},
        {"role": "tool", "tool_call_id": "a", "content": "result of a"},
        {"role": "tool", "tool_call_id": made_up, "content": format!("result of {made_up}")},
    ]);
    assert_eq!(third.body["messages"], expect);
    let bodies: Vec<String> = requests.iter().map(|asked| asked.raw.clone()).collect();
    check_continued(&bodies, |body| body.strip_suffix("]}"));
}

#[test]
fn made_up_ids_are_never_made_twice() {
    let mut ids = Vec::new();
    for name in [
        "chat-14-call-without-id",
        "chat-15-two-calls-without-id",
        "chat-16-two-calls-same-id",
    ] {
        for _ in 0..3 {
            let reply = ask_once(Answer::sse(file(&format!("{name}.sse")))).end.unwrap();
            ids.extend(reply.calls.into_iter().map(|call| call.id).filter(|id| id != "a"));
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (12, 12));
}

/// What is said when a model is asked twice, each time with the results of its calls behind.
pub(crate) fn converse(ask: impl Fn(&[Message]) -> Outcome) -> Vec<Message> {
    let mut messages = vec![Message::User(vec![Content::text("go")])];
    for _ in 0..2 {
        let outcome = ask(&messages);
        let Reply { calls, native, .. } = outcome.end.unwrap();
        let results: Vec<Message> = calls.iter().map(result).collect();
        messages.push(Message::Assistant {
            text: outcome.text,
            thought: outcome.thought,
            calls,
            native,
        });
        messages.extend(results);
    }
    messages
}

fn result(call: &Call) -> Message {
    Message::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: format!("result of {}", call.id),
        images: Vec::new(),
        failed: false,
    }
}

/// Three bodies of requests, each of which goes on where the messages of the one before ended.
#[track_caller]
pub(crate) fn check_continued(bodies: &[String], upto_end: impl Fn(&str) -> Option<&str>) {
    assert_eq!(bodies.len(), 3, "one request a question");
    for pair in bodies.windows(2) {
        let prefix = upto_end(&pair[0]).unwrap();
        assert!(
            pair[1].starts_with(prefix),
            "{} is no continuation of {prefix}",
            pair[1]
        );
    }
}
