//! What comes back of a session that is loaded.

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, option};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load, times_told};

use crate::play::{announced, calls, conversation, home, listed, set_mode, set_option, two_providers};

#[test]
fn a_fresh_process_restores_model_mode_and_conversation() {
    let one = Mock::answering(|_| Reply::text("from one"));
    let two = Mock::answering(|_| Reply::text("from two"));
    let home = Home::with_config(&two_providers(&one.base_url(), &two.base_url()));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    set_option(&mut client, &session, "model", "two/b").unwrap();
    set_mode(&mut client, &session, "accept_edits");
    client.prompt(&session, "second");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let result = client.request("session/load", params).unwrap();
    assert_eq!(option(&result["configOptions"], "model")["currentValue"], "two/b");
    assert_eq!(option(&result["configOptions"], "mode")["currentValue"], "accept_edits");
    assert_eq!(result["modes"]["currentModeId"], "accept_edits");
    assert_eq!(asked(&client, from), ["first", "second"]);
    client.prompt(&session, "third");
    assert_eq!((one.requests().len(), two.requests().len()), (1, 2));
    let sent = conversation(&two.requests()[1]);
    let texts: Vec<&str> = sent.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert!(
        texts[0].contains("first") && texts[1] == "from one" && texts[3] == "from two",
        "{texts:?}"
    );
}

#[test]
fn only_a_session_that_is_listed_can_be_loaded() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let [empty, used] = [(); 2].map(|()| client.new_session(&home.workspace()));
    client.prompt(&used, "say hi");
    assert!(listed(&mut client, &empty).is_none() && listed(&mut client, &used).is_some());
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let error = load(&mut client, &empty, &home.workspace()).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["sessionId"]),
        (&json!(-32002), &json!(empty))
    );
    load(&mut client, &used, &home.workspace()).unwrap();
}

#[test]
fn two_loads_at_once_are_one_session() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say first");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let loads = [(); 2].map(|()| client.begin("session/load", params.clone()));
    let list = client.begin("session/list", json!({}));
    client.response(list).unwrap();
    for load in loads {
        client.response(load).unwrap();
    }
    assert_eq!(asked(&client, from), ["say first", "say first"]);
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say second"), "end_turn");
    assert_eq!(times_told(&client, from, "second"), 1);
}

#[test]
fn a_load_shows_calls_and_thoughts_as_they_were() {
    let home = home(&[
        json!({"steps": [{"thought": "the file first"}, {"call": {"name": "read_file", "input": {"path": "a.txt"}}}]}),
        calls(&[("no_such_tool", json!({}))]),
        json!({"steps": [{"thought": "only this"}]}),
        json!({"steps": [{"thought": "and this"}]}),
    ]);
    std::fs::write(home.workspace().join("a.txt"), "a\n").unwrap();
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let kinds = ["agent_thought_chunk", "tool_call", "tool_call_update"];
    let shown = |client: &Client, from: usize| -> Vec<Value> {
        let updates = client.updates(from).into_iter().cloned();
        updates
            .filter(|update| kinds.contains(&update["sessionUpdate"].as_str().unwrap()))
            .collect()
    };
    let live = shown(&client, from);
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let replayed = shown(&client, from);
    assert_eq!(replayed, live);
    assert_eq!(announced(&client, from).len(), 2);
    let thoughts = replayed
        .iter()
        .filter(|update| update["sessionUpdate"] == "agent_thought_chunk");
    assert_eq!(thoughts.count(), 3);
    for update in client.updates(from) {
        let is_chunk = update["sessionUpdate"].as_str().unwrap().ends_with("_chunk");
        assert!(!is_chunk || update["content"]["text"] != "", "{update}");
    }
}

#[test]
fn a_row_that_makes_no_sense_does_not_hinder_a_load_nor_the_next_prompt() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for prompt in ["first", "second", "third"] {
        client.prompt(&session, prompt);
    }
    assert!(client.close().success());
    let database = Connection::open(home.state().join("state.db")).unwrap();
    let broken = r#"{"event":"of_a_later_version","what":1}"#;
    let changed = database
        .execute(
            "UPDATE events SET kind = 'x', body = ?1 WHERE kind = 'user_message' AND body LIKE '%second%'",
            [broken],
        )
        .unwrap();
    let nonsense = database
        .execute("UPDATE events SET body = 'no JSON' WHERE kind = 'step_finished'", [])
        .unwrap();
    assert_eq!((changed, nonsense), (1, 3));
    drop(database);
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "third"]);
    assert!(client.said(from).starts_with("hello"));
    assert_eq!(client.prompt(&session, "fourth"), "end_turn");
    let sent = conversation(mock.requests().last().unwrap());
    let prompts: Vec<&str> = sent
        .iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, text)| text.as_str())
        .collect();
    assert!(
        prompts[0].contains("first") && prompts.last().unwrap().contains("fourth"),
        "{sent:?}"
    );
}

#[test]
fn text_of_any_kind_is_kept_and_sent_as_it_is() {
    let mock = Mock::answering(|_| Reply::text("e\u{301} 🦀 \u{202e}\0 {\"a\": 1}"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let prompts = [
        "[\"a\", \"list\"]",
        "{\"a\": \"map\"}",
        "日本語 한국어 e\u{301} 🦀\r\n\ttab \u{0} null \u{feff}",
        "\\u0041 'quoted' \"double\" -- ; DROP TABLE",
    ];
    for prompt in prompts {
        let from = client.log.len();
        client.prompt(&session, prompt);
        assert_eq!(client.said(from), "e\u{301} 🦀 \u{202e}\0 {\"a\": 1}");
    }
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), prompts);
    client.prompt(&session, "last");
    let sent = conversation(mock.requests().last().unwrap());
    let sent: Vec<&str> = sent
        .iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(sent[..4], prompts);
}

#[test]
fn the_models_own_reasoning_goes_back_to_it_after_a_restart() {
    let chunk = |delta: Value, finish: Value| {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
    };
    let body = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        chunk(json!({"reasoning_content": "because"}), Value::Null),
        chunk(json!({"content": "so"}), json!("stop")),
    );
    let mock = Mock::answering(move |_| Reply::sse(body.clone()));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "why?");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(times_told(&client, from, "because"), 1);
    client.prompt(&session, "and?");
    let request = mock.requests().pop().unwrap();
    let reasoned: Vec<&Value> = request
        .messages()
        .iter()
        .filter(|message| message["reasoning_content"] == "because")
        .collect();
    assert_eq!(reasoned.len(), 1);
    assert_eq!(
        (&reasoned[0]["role"], &reasoned[0]["content"]),
        (&json!("assistant"), &json!("so"))
    );
}
