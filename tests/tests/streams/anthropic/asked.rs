//! How the service is asked: what goes back, with which key, and how much may come.

use agent_core::content::Content;
use agent_core::event::{CallInput, ErrorClass};
use agent_core::provider::{Message, Request, ToolSpec};
use providers::{Dialect, LIST_PATIENCE, ListedModel, RemoteModel, list_models};
use serde_json::{Value, json};
use talaria_tests::mock::{Asked, Mock, Reply as Answer};
use talaria_tests::remote::handle;

use super::{begin, ending, messages, piece, whole_call};
use crate::ask::{KEY, TEAM, ask, ask_for, ask_once_in, ask_with, file, model, open, prompt};
use crate::replay::{check_continued, converse};

#[test]
fn signed_thoughts_go_back_unchanged_and_a_request_continues_the_one_before() {
    let hidden = json!({"type": "redacted_thinking", "data": "Ek\u{e9}/+=="});
    let [delta, stop] = ending("tool_use");
    let second = Answer::events(&[
        begin(0, hidden.clone()),
        begin(
            1,
            json!({"type": "thinking", "thinking": "never sealed", "signature": ""}),
        ),
        whole_call(2, "c", json!({})),
        delta,
        stop,
    ]);
    let [delta, stop] = ending("end_turn");
    let mock = Mock::serve(vec![
        Answer::sse(file("anthropic-01-thinking-two-tools.sse")),
        second,
        Answer::events(&[delta, stop]),
    ]);
    let provider = open(messages(&mock));
    let tools = [ToolSpec {
        name: "read".into(),
        description: "Reads.".into(),
        schema: json!({"type": "object"}),
    }];
    let ask = |messages: &[Message]| {
        let request = Request {
            tools: &tools,
            messages,
            ..prompt()
        };
        ask_for(&provider, &request)
    };
    let conversation = converse(ask);
    ask(&conversation).end.unwrap();
    let requests = mock.requests();
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "read", "input": input});
    let result = |id: &str| {
        let content = json!([{"type": "text", "text": format!("result of {id}")}]);
        json!({"type": "tool_result", "tool_use_id": id, "content": content})
    };
    let expect = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "SIG"},
            call("a", json!({"p": 1})),
            call("b", json!({"p": 2})),
        ]},
        {"role": "user", "content": [result("a"), result("b")]},
        {"role": "assistant", "content": [hidden, call("c", json!({}))]},
        {"role": "user", "content": [result("c")]},
    ]);
    let bare: Vec<String> = requests.iter().map(without_breakpoints).collect();
    let last: Value = serde_json::from_str(&bare[2]).unwrap();
    assert_eq!(last["messages"], expect);
    check_continued(&bare, |body| Some(body.split_once("],\"max_tokens\"")?.0));
    for asked in &requests {
        let marks = asked.raw.matches("cache_control").count();
        assert!((3..=4).contains(&marks), "{marks} breakpoints");
    }
}

/// The body as it came, but for what moves.
fn without_breakpoints(asked: &Asked) -> String {
    asked.raw.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[test]
fn the_key_goes_out_in_its_own_header_and_shows_up_nowhere() {
    let echo = format!("invalid x-api-key {KEY} of team {TEAM}.");
    let echo = json!({"type": "error", "error": {"type": "authentication_error", "message": echo}});
    let mock = Mock::serve(vec![
        Answer::answer(
            "HTTP/1.1 401 Unauthorized\ncontent-type: application/json",
            echo.to_string(),
        ),
        Answer::events(std::slice::from_ref(&echo)),
        Answer::json(echo.to_string()),
    ]);
    let service = messages(&mock);
    assert!(!format!("{service:?}").contains(KEY));
    let provider = open(service);
    for status in [Some(401), None, None] {
        let failure = ask(&provider).failure();
        assert_eq!((failure.class, failure.status), (ErrorClass::Auth, status));
        assert!(
            failure.message.contains("x-api-key *** of team ***.;"),
            "{}",
            failure.message
        );
    }
    let asked = &mock.requests()[0];
    assert_eq!(asked.line, "POST /v1/messages");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("x-team"), Some(TEAM));
    assert_eq!(asked.body["stream"], true);
}

#[test]
fn a_key_that_a_reply_echoes_is_masked_in_all_of_it() {
    let (start, end) = KEY.split_at(9);
    let [delta, stop] = ending("tool_use");
    let answer = Answer::events(&[
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        piece(
            0,
            json!({"type": "thinking_delta", "thinking": format!("thinks {start}")}),
        ),
        piece(0, json!({"type": "thinking_delta", "thinking": end})),
        piece(0, json!({"type": "signature_delta", "signature": "SIG"})),
        begin(1, json!({"type": "text", "text": ""})),
        piece(1, json!({"type": "text_delta", "text": format!("says {start}")})),
        piece(1, json!({"type": "text_delta", "text": end})),
        whole_call(2, "c", json!({"path": KEY})),
        delta,
        stop,
    ]);
    let outcome = ask_once_in(Dialect::Anthropic, answer);
    assert_eq!(
        (outcome.thought.as_str(), outcome.text.as_str()),
        ("thinks ***", "says ***")
    );
    let reply = outcome.end.unwrap();
    assert_eq!(reply.calls[0].input, CallInput::Json(json!({"path": "***"})));
    assert!(!format!("{reply:?}").contains(KEY), "{reply:?}");
}

#[test]
fn the_list_of_models_is_asked_for_as_a_whole() {
    let list = json!({
        "data": [
            {"type": "model", "id": "claude-z", "display_name": "Z", "max_input_tokens": 200_000, "max_tokens": 64_000},
            {"type": "model", "id": "claude-a", "display_name": "A"},
        ],
        "has_more": false,
    });
    let mock = Mock::serve(vec![Answer::json(list.to_string())]).with_list();
    let listed = |id: &str, context_window, max_output| ListedModel {
        images: None,
        id: id.to_owned(),
        context_window,
        max_output,
    };
    assert_eq!(
        list_models(LIST_PATIENCE, &messages(&mock), &handle()),
        Ok(vec![
            listed("claude-z", Some(200_000), Some(64_000)),
            listed("claude-a", None, None)
        ])
    );
    let asked = &mock.requests()[0];
    assert_eq!(asked.line, "GET /v1/models?limit=1000");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
}

#[test]
fn input_and_reply_fit_into_the_window_in_every_request() {
    let [delta, stop] = ending("end_turn");
    let mock = Mock::answering(move |_| Answer::events(&[delta.clone(), stop.clone()]));
    let service = messages(&mock);
    let mut model = model(&service.base_url);
    model.context_window = Some(4000);
    model.max_output = Some(3000);
    let provider = RemoteModel::new(service, model, handle()).unwrap();
    let mut conversation = Vec::new();
    // As far as a conversation grows before room is made.
    for _ in 0..8 {
        conversation.push(Message::User(vec![Content::text("word ".repeat(200))]));
        ask_with(&provider, &conversation).end.unwrap();
    }
    for asked in mock.requests() {
        let input = without_breakpoints(&asked).len() as u64 / 4;
        let max_tokens = asked.body["max_tokens"].as_u64().unwrap();
        assert!(input + max_tokens <= 4000, "{input} + {max_tokens}");
    }
}
