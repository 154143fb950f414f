//! Which providers there are, and which of them answer.

use serde_json::{Value, json};
use talaria_tests::client::{Home, run};
use talaria_tests::mock::{Asked, Mock, Reply};

#[test]
fn every_provider_is_told_with_its_key_and_whether_it_answers() {
    let mock = Mock::answering(|asked: &Asked| match asked.header("authorization") {
        Some("Bearer right") => Reply::answer("HTTP/1.1 200 OK", r#"{"data": [{"id": "m"}, {"id": "n"}]}"#),
        _ => Reply::answer("HTTP/1.1 401 Unauthorized", "no entry"),
    })
    .with_list();
    let entry = format!(
        "model = \"mock/m\"\n[providers.mock]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         api_key_env = \"MOCK_API_KEY\"\n",
        mock.base_url()
    );
    let home = Home::with_config(&entry);
    let ask = |arguments: &[&str], key: &str, code: i32| {
        let mut command = home.command(arguments);
        // Nobody listens there: what is on this machine is asked past it.
        command.env("MOCK_API_KEY", key).env("HTTP_PROXY", "http://127.0.0.1:9");
        let (status, stdout, stderr) = run(command, "");
        assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
        stdout
    };
    let json = ask(&["providers", "--json"], "right", 0);
    let host = mock.base_url().replace("http://", "").replace("/v1", "");
    assert_eq!(
        provider(&json, "mock"),
        json!({
            "name": "mock", "api": "openai-chat", "host": host, "key_env": "MOCK_API_KEY", "key_from": "environment",
            "usable": true, "state": "answers, 2 models", "models": 2, "default": true,
        })
    );
    assert_eq!(provider(&json, "offline")["state"], "built in");
    assert_eq!(provider(&json, "groq"), Value::Null, "it has no key");

    let table = ask(&["providers"], "wrong-key", 1);
    let row = table.lines().find(|row| row.starts_with("mock ")).unwrap();
    for part in [
        host.as_str(),
        "MOCK_API_KEY from the environment",
        "not usable: ",
        "401 Unauthorized",
    ] {
        assert!(row.contains(part), "{row}");
    }
    assert!(!table.contains("wrong-key"), "{table}");

    let models = ask(&["models", "mock"], "right", 0);
    assert_eq!(
        models,
        format!(
            "mock: {} answers, 2 models\n  mock/m  (default)\n  mock/n\n",
            mock.base_url()
        )
    );
    assert!(ask(&["models"], "right", 0).contains("\n  mock/n\n"));
    ask(&["models"], "wrong", 1);
    ask(&["models", "mock"], "wrong", 1);
    ask(&["models", "offline"], "wrong", 0);
    ask(&["models", "mokc"], "right", 1);
}

/// What `agent providers --json` says of a provider; null if it is not among them.
fn provider(array: &str, name: &str) -> Value {
    let array: Vec<Value> = serde_json::from_str(array).unwrap();
    let found = array.into_iter().find(|provider| provider["name"] == name);
    found.unwrap_or_default()
}
