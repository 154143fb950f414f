//! What a service says of its models.

use std::sync::mpsc;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Asked, Mock, Reply};
use talaria_tests::start::wait_until;

use crate::set_up;

#[test]
fn what_a_service_says_of_its_models_is_known_from_then_on() {
    let mock = Mock::answering(|asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => {
            let list = json!({"data": [{"id": "m", "context_length": 4000}, {"id": "n"}]});
            Reply::json(list.to_string())
        }
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::new();
    set_up(&home, &mock);
    let mut client = Client::initialized(&home, json!({}));
    let (session, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "mine/n", "offline/offline"]);
    assert_eq!(gauge(&mut client, &session)["size"], 4000);
}

#[test]
fn what_a_service_holds_is_asked_in_the_background_where_nobody_has_asked_it() {
    let (said, hears) = mpsc::channel::<()>();
    let mock = Mock::answering(move |asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => {
            // The first session is there before the service has said anything.
            hears.recv().unwrap();
            let list = json!({"data": [{"id": "m", "context_length": 4000}, {"id": "n"}]});
            Reply::json(list.to_string())
        }
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::with_config(&format!(
        "model = \"mine/m\"\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        mock.base_url()
    ));
    let mut client = Client::initialized(&home, json!({}));
    let (_, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "offline/offline"]);
    said.send(()).unwrap();
    wait_until("the list", || home.state().join("models.json").exists());
    let (session, models) = new_session(&mut client, &home);
    assert_eq!(models, ["mine/m", "mine/n", "offline/offline"]);
    assert_eq!(gauge(&mut client, &session)["size"], 4000);
    let lists = mock
        .requests()
        .into_iter()
        .filter(|asked| asked.line.starts_with("GET"));
    assert_eq!(lists.count(), 1);
}

#[test]
fn a_slip_in_a_models_name_is_told_where_the_service_has_one_like_it() {
    let mock = Mock::answering(|asked: &Asked| match asked.line.as_str() {
        "GET /v1/models" => Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m"}, {"id": "alpha-2"}]}"#),
        _ => Reply::text("ok"),
    })
    .with_list();
    let home = Home::new();
    set_up(&home, &mock);
    let (mut client, session) = Client::with_session(&home);
    let mut told = |command: &str| {
        let from = client.log.len();
        client.prompt(&session, command);
        client.said(from)
    };
    let said = told("/model mine/alhpa-2");
    assert!(said.contains("did you mean `mine/alpha-2`?"), "{said}");
    assert!(told("/model").contains("`mine/m` (now)"));
    assert!(told("/model mine/something-else").contains("`mine/something-else` (now)"));
}

/// A new session, and the models that can be chosen in it.
fn new_session(client: &mut Client, home: &Home) -> (String, Vec<String>) {
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let answer = client.request("session/new", params).unwrap();
    let options = answer["configOptions"].as_array().unwrap();
    let models = options.iter().find(|option| option["id"] == "model").unwrap();
    let values = models["options"].as_array().unwrap().iter();
    let values = values.map(|option| option["value"].as_str().unwrap().to_owned());
    (answer["sessionId"].as_str().unwrap().to_owned(), values.collect())
}

/// What the gauge shows after a prompt.
fn gauge(client: &mut Client, session: &str) -> Value {
    assert_eq!(client.prompt(session, "hi"), "end_turn");
    let mut updates = client.updates(0).into_iter();
    updates
        .rfind(|update| update["sessionUpdate"] == "usage_update")
        .unwrap()
        .clone()
}
