//! What opening a session and setting its options says, and in which order.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, option};
use talaria_tests::start::asked;

use crate::exchange::{check_field, exchange, request};

fn position(client: &Client, is_meant: impl Fn(&Value) -> bool) -> usize {
    client.log.iter().position(is_meant).expect("the message is in the log")
}

#[test]
fn of_a_new_session_the_response_comes_first_and_its_commands_follow() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.wait_for_update("available_commands_update");
    let response = position(&client, |message| message["result"]["sessionId"] == session);
    let update = position(&client, |message| message["params"]["sessionId"] == session);
    assert!(response < update);
    assert_eq!(
        client.log[response + 1]["params"]["update"]["sessionUpdate"],
        "available_commands_update"
    );
}

/// The kinds of the updates in the messages of the log from its `from`th on.
fn kinds(client: &Client, from: usize) -> Vec<&str> {
    let updates = client.updates(from).into_iter();
    updates
        .map(|update| update["sessionUpdate"].as_str().unwrap())
        .collect()
}

#[test]
fn a_load_replays_all_before_its_response_and_a_resume_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    for text in ["say one", "say two"] {
        client.prompt(&session, text);
    }
    client.request("session/close", json!({"sessionId": session})).unwrap();
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let replay = &[
        "user_message_chunk",
        "session_info_update",
        "agent_message_chunk",
        "user_message_chunk",
        "agent_message_chunk",
    ][..];
    for (method, replayed) in [
        ("session/resume", &[][..]),
        ("session/load", replay),
        ("session/resume", &[]),
    ] {
        let from = client.log.len();
        client.request(method, params.clone()).unwrap();
        assert_eq!(kinds(&client, from), replayed, "{method}");
        let from = client.log.len();
        client.request("session/list", json!({})).unwrap();
        assert_eq!(kinds(&client, from), ["available_commands_update"], "{method}");
    }
}

#[test]
fn two_loads_of_one_session_at_once_are_both_answered() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say one");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let loads = [0; 2].map(|_| client.begin("session/load", params.clone()));
    // The reader goes on meanwhile.
    client.request("session/list", json!({})).unwrap();
    let answers = loads.map(|load| client.response(load).unwrap());
    assert_eq!(answers[0], answers[1]);
    let first = position(&client, |message| {
        message["id"] == loads[0] && message.get("method").is_none()
    });
    let asked = |message: &Value| message["params"]["update"]["sessionUpdate"] == "user_message_chunk";
    assert!(
        client.log[from..first].iter().any(asked),
        "the first answer has its replay before it"
    );
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert_eq!(client.said(from).matches("pong").count(), 1);
}

/// The last update of a kind among all that came up to now, before or after a response.
fn last_update(client: &mut Client, kind: &str) -> Value {
    exchange(client, b"");
    let updates = client.updates(0);
    let last = updates.iter().rfind(|update| update["sessionUpdate"] == kind);
    (*last.expect("an update of this kind came")).clone()
}

#[test]
fn every_option_has_a_category_and_a_value_that_is_one_of_its_choices() {
    let models = "models = [{ id = \"b\" }, { id = \"a\" }]\n";
    let home = Home::with_config(&format!(
        "model = \"local/a\"\n[providers.local]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n{models}"
    ));
    let mut client = Client::initialized(&home, json!({}));
    let new = json!({"cwd": home.workspace(), "mcpServers": []});
    let opened = client.request("session/new", new).unwrap();
    let options = &opened["configOptions"];
    for option in options.as_array().unwrap() {
        assert!(option["category"].is_string(), "{option}");
        let choices = option["options"].as_array().unwrap().iter();
        let values: Vec<&str> = choices.map(|choice| choice["value"].as_str().unwrap()).collect();
        assert!(values.contains(&option["currentValue"].as_str().unwrap()), "{option}");
        let mut once = values.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), values.len(), "{option}");
    }
    let model = option(options, "model");
    assert_eq!(
        (&model["category"], &model["currentValue"]),
        (&json!("model"), &json!("local/a"))
    );
    assert_eq!(model["options"].as_array().unwrap().len(), 3, "{model}");
    assert_eq!(
        option(options, "mode")["currentValue"],
        opened["modes"]["currentModeId"]
    );
}

#[test]
fn setting_an_option_answers_the_whole_list_and_keeps_modes_in_step() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let set = |client: &mut Client, option: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": option, "value": value});
        client.request("session/set_config_option", params)
    };
    let answer = set(&mut client, "mode", "plan").unwrap();
    assert_eq!(option(&answer["configOptions"], "mode")["currentValue"], "plan");
    assert!(option(&answer["configOptions"], "model")["currentValue"].is_string());
    assert_eq!(last_update(&mut client, "current_mode_update")["currentModeId"], "plan");
    let params = json!({"sessionId": session, "modeId": "accept_edits"});
    assert_eq!(client.request("session/set_mode", params).unwrap(), json!({}));
    let update = last_update(&mut client, "config_option_update");
    assert_eq!(option(&update["configOptions"], "mode")["currentValue"], "accept_edits");
    for (id, value, field) in [
        ("mode", "none", "value"),
        ("model", "none/none", "value"),
        ("none", "x", "configId"),
    ] {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        check_field(&mut client, "session/set_config_option", &params, field);
    }
    // It survives a restart, once there is something to keep.
    client.prompt(&session, "say hello");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace()});
    let resumed = client.request("session/resume", params).unwrap();
    assert_eq!(resumed["modes"]["currentModeId"], "accept_edits");
}

#[test]
fn options_can_be_set_during_a_turn() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    let params = json!({"sessionId": session, "configId": "mode", "value": "plan"});
    client.request("session/set_config_option", params).unwrap();
    client
        .request("session/set_mode", json!({"sessionId": session, "modeId": "default"}))
        .unwrap();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
}

#[test]
fn a_close_ends_the_turn_and_the_prompt_answers_first() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    let close = client.begin("session/close", json!({"sessionId": session}));
    assert_eq!(client.response(close).unwrap(), json!({}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    let answered = |id: i64| {
        position(&client, |message| {
            message["id"] == id && message.get("method").is_none()
        })
    };
    assert!(answered(prompt) < answered(close));
}

#[test]
fn a_load_that_is_cancelled_beside_another_shows_nothing_more() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say one");
    // The cancel meets the first load at some point of its way, often before its past.
    for round in 0..50 {
        let from = client.log.len();
        let load = |id: &str| {
            let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
            request(id, "session/load", &params)
        };
        let ids = ["first", "second"].map(|which| format!("{which}-{round}"));
        let cancel = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": ids[0]}});
        client.send_raw(format!("{}\n{}\n{cancel}\n", load(&ids[0]), load(&ids[1])).as_bytes());
        client.wait_for(|message| message["id"] == *ids[1]);
        let first = client.log[from..].iter().position(|message| message["id"] == *ids[0]);
        let first = from + first.expect("the first is answered before the second");
        let asked = asked(&client, first);
        assert_eq!(asked, ["say one"], "{:#?}", &client.log[from..]);
    }
}
