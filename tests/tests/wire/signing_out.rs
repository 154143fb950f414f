//! `logout`: what it ends, what it forgets, and how one comes back.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::exchange::check_turn;

fn sign_in(client: &mut Client, error: &Value) {
    let method = &error["data"]["authMethods"][0]["id"];
    client.request("authenticate", json!({"methodId": method})).unwrap();
}

#[test]
fn nothing_begins_after_a_logout_until_one_signs_in_again() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say hi");
    assert_eq!(client.request("logout", Value::Null).unwrap(), json!({}));
    let work = home.workspace();
    let opening = json!({"sessionId": session, "cwd": work, "mcpServers": []});
    let text = json!([{"type": "text", "text": "say pong"}]);
    let prompt = json!({"sessionId": session, "prompt": text});
    let mut last = Value::Null;
    for (method, params) in [
        ("session/new", json!({"cwd": work})),
        ("session/load", opening.clone()),
        ("session/resume", opening.clone()),
        ("session/fork", opening.clone()),
        ("session/prompt", prompt.clone()),
        ("_session/steering", prompt),
    ] {
        last = client.request(method, params).unwrap_err();
        assert_eq!(last["code"], -32000, "{method}");
    }
    client.request("session/list", json!({})).unwrap();
    sign_in(&mut client, &last);
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    check_turn(&home, &mut client);
    // Twice is once.
    for _ in 0..2 {
        client.request("logout", json!({})).unwrap();
    }
}

#[test]
fn a_logout_forgets_the_stored_key_of_the_configured_provider_for_good() {
    let home = Home::with_config(
        "model = \"mine/m\"\n[providers.mine]\napi = \"openai-chat\"\nbase_url = \"https://mine.invalid/v1\"\n\
         api_key_env = \"MINE_API_KEY\"\nmodels = [{ id = \"m\", context_window = 1000 }]\n",
    );
    let keys = home.state().join(".env");
    std::fs::write(&keys, "# mine\nMINE_API_KEY=\"sk-1\"\nOTHER_API_KEY=\"sk-2\"\n").unwrap();
    let mut client = Client::initialized(&home, json!({}));
    client.new_session(&home.workspace());
    client.request("logout", json!({})).unwrap();
    assert_eq!(
        std::fs::read_to_string(&keys).unwrap(),
        "# mine\nOTHER_API_KEY=\"sk-2\"\n"
    );
    let new = json!({"cwd": home.workspace()});
    let error = client.request("session/new", new.clone()).unwrap_err();
    sign_in(&mut client, &error);
    assert!(client.close().success());
    // The key is gone for every other process, too.
    let mut client = Client::initialized(&home, json!({}));
    let error = client.request("session/new", new).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["provider"]),
        (&json!(-32000), &json!("mine"))
    );
}
