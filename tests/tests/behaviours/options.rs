//! A session's options: model and mode.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, option};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::stage::LIMIT;
use talaria_tests::start::{config_of, initialized};

use crate::play::{conversation, home, questions, says, set_mode, set_option, two_providers};

fn begin(client: &mut Client, home: &Home) -> (String, Value) {
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let result = client.request("session/new", params).unwrap();
    (
        result["sessionId"].as_str().unwrap().to_owned(),
        result["configOptions"].clone(),
    )
}

#[test]
fn a_model_takes_its_provider_along_and_the_conversation_stays() {
    let (one, two) = (
        Mock::answering(|_| Reply::text("one")),
        Mock::answering(|_| Reply::text("two")),
    );
    let home = Home::with_config(&two_providers(&one.base_url(), &two.base_url()));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    // The service's own name is enough where only one provider has it.
    let options = set_option(&mut client, &session, "model", "b").unwrap();
    assert_eq!(option(&options, "model")["currentValue"], "two/b");
    client.prompt(&session, "second");
    assert_eq!((one.requests().len(), two.requests().len()), (1, 1));
    let request = two.requests().pop().unwrap();
    assert_eq!(request.body["model"], "b");
    let sent = conversation(&request);
    assert_eq!(
        (sent[0].1.as_str(), sent[1].1.as_str(), sent.len()),
        ("first", "one", 3)
    );
    set_option(&mut client, &session, "model", "one/both").unwrap();
    client.prompt(&session, "third");
    assert_eq!(one.requests().pop().unwrap().body["model"], "both");
}

#[test]
fn models_are_an_option_without_doubles_that_holds_the_current_one() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let config = two_providers(&mock.base_url(), &mock.base_url());
    // The default is no model that its provider lists.
    for default in ["one/a", "two/both", "one/unlisted", "offline/offline"] {
        let home = Home::with_config(&config.replacen("one/a", default, 1));
        let mut client = Client::initialized(&home, json!({}));
        let (_, options) = begin(&mut client, &home);
        let model = option(&options, "model");
        assert_eq!(
            (&model["category"], &model["type"]),
            (&json!("model"), &json!("select"))
        );
        assert_eq!(model["currentValue"], default);
        let values: Vec<&str> = model["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["value"].as_str().unwrap())
            .collect();
        assert!(values.contains(&default), "{values:?}");
        assert_eq!(values.iter().collect::<BTreeSet<_>>().len(), values.len(), "{values:?}");
        assert!(
            values.contains(&"one/both") && values.contains(&"two/both"),
            "{values:?}"
        );
    }
}

#[test]
fn a_set_option_is_answered_with_the_whole_list_and_a_wrong_one_is_refused() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let (session, options) = begin(&mut client, &home);
    let names: Vec<&Value> = options.as_array().unwrap().iter().map(|option| &option["id"]).collect();
    for option in options.as_array().unwrap() {
        assert!(
            option["category"].is_string() && option["currentValue"].is_string(),
            "{option}"
        );
        assert!(option["name"].is_string() && option["options"].is_array(), "{option}");
    }
    let changed = set_option(&mut client, &session, "mode", "plan").unwrap();
    assert_eq!(
        changed
            .as_array()
            .unwrap()
            .iter()
            .map(|option| &option["id"])
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(option(&changed, "mode")["currentValue"], "plan");
    for (id, value, field) in [
        ("mode", "reckless", "value"),
        ("model", "nobody/x", "value"),
        ("model", "", "value"),
        ("colour", "red", "configId"),
    ] {
        let error = set_option(&mut client, &session, id, value).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32602), &json!(field)),
            "{id} {value}: {error}"
        );
    }
    let error = client
        .request(
            "session/set_config_option",
            json!({"sessionId": "none", "configId": "mode", "value": "plan"}),
        )
        .unwrap_err();
    assert_eq!(error["code"], -32002);
}

#[test]
fn a_model_that_its_providers_list_lacks_is_refused_when_it_is_chosen() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let models = "models = [{ id = \"m\", context_window = 4096 }, { id = \"large\", context_window = 4096 }]\n";
    let home = Home::with_config(&config_of(&mock, models));
    let mut command = home.command(&["acp", "--model", "mock/unlisted"]);
    command.current_dir(home.workspace());
    let mut client = initialized(command);
    let session = client.new_session(&home.workspace());
    for (wrong, says) in [
        ("mock/typo", "`mock/m`, `mock/large`"),
        ("mock/lareg", "did you mean `mock/large`?"),
    ] {
        let error = set_option(&mut client, &session, "model", wrong).unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32602), &json!("value"))
        );
        let from = client.log.len();
        client.prompt(&session, &format!("/model {wrong}"));
        let said = client.said(from);
        assert!(said.contains(says) && !said.contains("(now)"), "{said}");
    }
    for right in ["mock/large", "m", "mock/unlisted"] {
        set_option(&mut client, &session, "model", right).unwrap();
    }
    assert_eq!(client.prompt(&session, "hi"), "end_turn");
    assert_eq!(mock.requests()[0].body["model"], "unlisted");
}

#[test]
fn a_session_does_not_wait_for_a_list_of_models() {
    let mock = Mock::answering(|_| Reply::silence()).with_list();
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert!(mock.wait_requests(1, LIMIT), "the list is not asked for");
    client.request("session/list", json!({})).unwrap();
    assert_eq!(set_option(&mut client, &session, "mode", "plan").map(|_| ()), Ok(()));
    assert_eq!(mock.requests()[0].line, "GET /v1/models");
}

#[test]
fn options_of_sessions_that_work_at_the_same_time_stay_apart() {
    let create = json!({"call": {"name": "write_file", "input": {"path": "a.txt", "content": "x"}}});
    let home = home(&[json!({"steps": [{"delay_ms": 50}, create]}), says("done")]);
    let mut client = Client::initialized(&home, json!({}));
    client.permission = Some("reject_once");
    let folders = ["asking", "free"].map(|name| home.workspace().join(name));
    let [asking, free] = folders.clone().map(|folder| {
        std::fs::create_dir(&folder).unwrap();
        client.new_session(&folder)
    });
    set_mode(&mut client, &free, "accept_edits");
    let prompts = [&asking, &free].map(|session| client.begin_prompt(session, "go"));
    for prompt in prompts {
        assert_eq!(client.stop_reason(prompt), "end_turn");
    }
    let asked = questions(&client, 0);
    assert_eq!((asked.len(), &asked[0]["sessionId"]), (1, &json!(asking)));
    assert_eq!(folders.map(|folder| folder.join("a.txt").exists()), [false, true]);
}

#[test]
fn a_model_is_set_by_the_older_method_too() {
    let home = Home::with_config(&two_providers("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"));
    let (mut client, session) = Client::with_session(&home);
    let set = |client: &mut Client, model: &str| {
        client.request("session/set_model", json!({"sessionId": session, "modelId": model}))
    };
    assert_eq!(set(&mut client, "two/b").unwrap(), json!({}));
    let updates = client.updates(0);
    let update = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "config_option_update");
    assert_eq!(
        option(&update.unwrap()["configOptions"], "model")["currentValue"],
        "two/b"
    );
    let error = set(&mut client, "none/none").unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32602), &json!("modelId"))
    );
}
