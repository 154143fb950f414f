//! How full the model's context is, as an editor's gauge shows it, where no step of a turn says so.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{config_of, load};

use crate::play::set_option;

/// Each reply takes 15 tokens.
fn two_sizes(mock: &Mock) -> Home {
    let models = "models = [{ id = \"m\", context_window = 4096 }, { id = \"large\", context_window = 8192 }, \
                  { id = \"unknown\" }]\n";
    Home::with_config(&config_of(mock, models))
}

fn gauge(used: u64, size: u64) -> Value {
    json!({"sessionUpdate": "usage_update", "used": used, "size": size})
}

/// The gauges in the messages of the log from its `from`th on.
fn gauges(client: &Client, from: usize) -> Vec<Value> {
    let updates = client.updates(from).into_iter();
    let gauges = updates.filter(|update| update["sessionUpdate"] == "usage_update");
    gauges.cloned().collect()
}

#[test]
fn an_undo_is_on_the_gauge_also_after_a_load() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = two_sizes(&mock);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    client.prompt(&session, "second");
    let from = client.log.len();
    client.prompt(&session, "/undo");
    let live = gauges(&client, from);
    assert_eq!(live.len(), 1);
    let mut other = Client::initialized(&home, json!({}));
    load(&mut other, &session, &home.workspace()).unwrap();
    assert_eq!(other.wait_for_update("usage_update"), live[0]);
    let from = client.log.len();
    client.prompt(&session, "/undo");
    assert_eq!(gauges(&client, from), [gauge(0, 4096)]);
}

#[test]
fn clear_empties_the_gauge_also_after_a_load() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = two_sizes(&mock);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "hi");
    let from = client.log.len();
    client.prompt(&session, "/clear");
    assert_eq!(gauges(&client, from), [gauge(0, 4096)]);
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(client.wait_for_update("usage_update"), gauge(0, 4096));
    client.prompt(&session, "hi");
    assert_eq!(gauges(&client, 0).pop().unwrap(), gauge(15, 4096));
}

#[test]
fn another_model_gives_the_gauge_its_size() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = two_sizes(&mock);
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.wait_for_update("usage_update"), gauge(0, 4096));
    let from = client.log.len();
    set_option(&mut client, &session, "model", "mock/large").unwrap();
    assert_eq!(gauges(&client, from), [gauge(0, 8192)]);
    client.prompt(&session, "hi");
    let from = client.log.len();
    client.prompt(&session, "/model mock/m");
    assert_eq!(gauges(&client, from), [gauge(15, 4096)]);
    let from = client.log.len();
    let params = json!({"sessionId": session, "modelId": "mock/large"});
    client.request("session/set_model", params).unwrap();
    assert_eq!(gauges(&client, from), [gauge(15, 8192)]);
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(client.wait_for_update("usage_update"), gauge(15, 8192));
}

#[test]
fn a_model_of_unknown_size_has_no_gauge() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = two_sizes(&mock);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "hi");
    let from = client.log.len();
    set_option(&mut client, &session, "model", "mock/unknown").unwrap();
    client.prompt(&session, "/clear");
    assert_eq!(gauges(&client, from), [] as [Value; 0]);
}
