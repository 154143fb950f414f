//! A session and its provider, which may move, lose its key or be gone.

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load};

use crate::play::conversation;

#[test]
fn the_first_row_of_a_session_names_its_service() {
    let mock = Mock::serve(vec![Reply::silence()]);
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.begin_prompt(&session, "go");
    client.wait_for_update("session_info_update");
    assert!(mock.wait_requests(1, talaria_tests::stage::LIMIT));
    client.kill();
    let database = Connection::open(home.state().join("state.db")).unwrap();
    let (model, origin): (String, String) = database
        .query_row("SELECT model, origin FROM sessions WHERE id = ?1", [&session], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let origin: Value = serde_json::from_str(&origin).unwrap();
    assert_eq!(model, "mock/m");
    assert_eq!(
        origin,
        json!({"api": "openai-chat", "base_url": mock.base_url(), "model": "m"})
    );
}

/// A session of `mock/m`, loaded under another configuration.
struct Reloaded {
    client: Client,
    session: String,
    loaded: Result<usize, Value>,
    _home: Home,
}

fn reload(second_config: &str) -> Reloaded {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "hi");
    assert!(client.close().success());
    home.write_config(second_config);
    let mut client = Client::initialized(&home, json!({}));
    let loaded = load(&mut client, &session, &home.workspace());
    Reloaded {
        client,
        session,
        loaded,
        _home: home,
    }
}

#[test]
fn a_session_whose_provider_is_gone_goes_on_with_the_configured_model_and_says_so() {
    let other = Mock::answering(|_| Reply::text("from the other"));
    let renamed = config_of(&other, "").replace("mock", "other");
    for (config, says, model) in [
        ("", "offline", "offline/offline"),
        (renamed.as_str(), "from the other", "other/m"),
    ] {
        let mut reloaded = reload(config);
        assert_eq!(asked(&reloaded.client, reloaded.loaded.unwrap()), ["hi"]);
        let from = reloaded.client.log.len();
        assert_eq!(reloaded.client.prompt(&reloaded.session, "again"), "end_turn");
        let said = reloaded.client.said(from);
        let note = format!("Note: {model} answers now: mock/m is not available");
        assert!(said.contains(&note) && said.contains(says), "{said}");
    }
}

#[test]
fn a_session_follows_its_provider_to_another_address() {
    let moved = Mock::answering(|_| Reply::text("from the new address"));
    let mut reloaded = reload(&config_of(&moved, ""));
    reloaded.loaded.unwrap();
    let from = reloaded.client.log.len();
    reloaded.client.prompt(&reloaded.session, "again");
    assert_eq!(reloaded.client.said(from), "from the new address");
    let sent = conversation(&moved.requests()[0]);
    assert_eq!(sent[1], ("assistant".into(), "hello".into()));
}

#[test]
fn a_session_whose_provider_has_no_key_any_more_is_refused_with_the_way_out() {
    let reloaded = reload(
        "model = \"mock/m\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"https://far.invalid/v1\"\n\
         api_key_env = \"FAR_KEY\"\n",
    );
    let error = reloaded.loaded.unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["code"], -32000, "{error}");
    assert!(
        message.contains("FAR_KEY") && message.contains("agent setup"),
        "{message}"
    );
    assert!(error["data"]["authMethods"].is_array(), "{error}");
}
