//! `initialize`, what it advertises and what follows from it, and signing in.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, binary};

use crate::exchange::{Expect, check, check_field, check_turn, request};

const KEYED: &str = "model = \"openai/gpt-5\"\n";

fn greeting(home: &Home, params: Value) -> (Client, Value) {
    let mut client = Client::start(home);
    let greeting = client.request("initialize", params).unwrap();
    (client, greeting)
}

fn method_ids(methods: &Value) -> Vec<&str> {
    let methods = methods.as_array().unwrap().iter();
    methods.map(|method| method["id"].as_str().unwrap()).collect()
}

#[test]
fn nothing_is_served_before_initialize() {
    let home = Home::new();
    let mut client = Client::start(&home);
    for method in [
        "session/new",
        "session/list",
        "authenticate",
        "session/prompt",
        "unknown",
        "",
    ] {
        check(
            &mut client,
            request(5, method, &json!({})),
            &Expect::Error(-32600, json!(5)),
        );
    }
    client.notify("session/cancel", json!({"sessionId": "none"}));
    client.request("initialize", json!({"protocolVersion": 1})).unwrap();
    check_turn(&home, &mut client);
}

#[test]
fn initialize_may_come_again_until_something_else_has() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let initialize = request(1, "initialize", &json!({"protocolVersion": 1}));
    check(&mut client, &initialize, &Expect::Result(json!(1)));
    check(&mut client, &initialize, &Expect::Result(json!(1)));
    check(
        &mut client,
        request(2, "session/list", &json!({})),
        &Expect::Result(json!(2)),
    );
    check(&mut client, &initialize, &Expect::Error(-32600, json!(1)));
    check_turn(&home, &mut client);
}

#[test]
fn every_version_is_answered_with_one_and_what_is_no_version_is_refused() {
    for version in [0, 1, 2, 99, 65535] {
        let (_client, greeting) = greeting(&Home::new(), json!({ "protocolVersion": version }));
        assert_eq!(greeting["protocolVersion"], json!(1));
        assert_eq!(greeting["agentInfo"]["name"], "talaria");
        assert!(greeting["agentInfo"]["version"].is_string());
    }
    let home = Home::new();
    let mut client = Client::start(&home);
    for version in [
        json!("1"),
        json!(-1),
        json!(70000),
        json!(1.5),
        Value::Null,
        json!({"SECRET": 1}),
    ] {
        let params = json!({ "protocolVersion": version });
        check_field(&mut client, "initialize", &params, "protocolVersion");
    }
    check_field(&mut client, "initialize", &json!({}), "protocolVersion");
    check_field(&mut client, "initialize", &json!(["SECRET"]), "params");
    // A refused one is none.
    check(
        &mut client,
        request(1, "session/list", &json!({})),
        &Expect::Error(-32600, json!(1)),
    );
    client.request("initialize", json!({"protocolVersion": 1})).unwrap();
    check_turn(&home, &mut client);
}

#[test]
fn what_is_advertised_is_served_and_nothing_else() {
    let home = Home::new();
    let (mut client, greeting) = greeting(&home, json!({"protocolVersion": 1}));
    let optional = [
        ("/loadSession", "session/load"),
        ("/sessionCapabilities/list", "session/list"),
        ("/sessionCapabilities/resume", "session/resume"),
        ("/sessionCapabilities/close", "session/close"),
        ("/sessionCapabilities/delete", "session/delete"),
        ("/sessionCapabilities/fork", "session/fork"),
        ("/sessionCapabilities/options", "session/options"),
        ("/sessionCapabilities/title", "session/set_title"),
        ("/sessionCapabilities/archive", "session/archive"),
        ("/sessionCapabilities/archive", "session/unarchive"),
        ("/sessionCapabilities/status", "session/status"),
        ("/auth/logout", "logout"),
        ("/auth/status", "auth/status"),
        ("/providers", "providers/list"),
        ("/mcpCapabilities/acp", "mcp/message"),
    ];
    for (capability, method) in optional {
        let capability = greeting["agentCapabilities"].pointer(capability);
        let advertised = capability.is_some_and(|value| !value.is_null() && *value != json!(false));
        let answer = client.request(method, json!({}));
        let is_unknown = answer.is_err_and(|error| error["code"] == -32601);
        assert_eq!(advertised, !is_unknown, "{method}: {greeting}");
    }
    let method = &greeting["authMethods"][0]["id"];
    client.request("authenticate", json!({"methodId": method})).unwrap();
    for method in [
        "session/inject",
        "initialized",
        "session/update",
        "fs/read_text_file",
        "_mine",
        "Session/list",
        "",
    ] {
        check(
            &mut client,
            request(3, method, &json!({"SECRET": 1})),
            &Expect::Error(-32601, json!(3)),
        );
    }
    check_turn(&home, &mut client);
}

#[test]
fn the_providers_method_comes_first_and_set_up_last_for_clients_with_a_terminal() {
    let check = |capabilities: Value, expect: &[&str]| {
        let home = Home::with_config(KEYED);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let (_client, greeting) = greeting(&home, params);
        assert_eq!(method_ids(&greeting["authMethods"]), expect);
        if let Some(method) = greeting["authMethods"].get(1) {
            assert_eq!(
                (&method["type"], &method["args"]),
                (&json!("terminal"), &json!(["--setup"]))
            );
        }
    };
    check(json!({}), &["openai"]);
    check(json!({"auth": {"terminal": false}}), &["openai"]);
    check(json!({"auth": {"terminal": true}}), &["openai", "talaria-setup"]);
    check(json!({"_meta": {"terminal-auth": true}}), &["openai", "talaria-setup"]);
}

#[test]
fn authenticate_succeeds_only_by_a_method_that_can_work() {
    let home = Home::with_config(KEYED);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": true}}});
    let (mut client, _) = greeting(&home, params);
    for method in ["nobody", "", "SECRET", "anthropic", "ollama"] {
        check_field(&mut client, "authenticate", &json!({ "methodId": method }), "methodId");
    }
    check_field(&mut client, "authenticate", &json!({}), "methodId");
    let set_up = json!({"methodId": "talaria-setup"});
    assert_eq!(
        client.request("authenticate", set_up.clone()).unwrap_err()["code"],
        -32000
    );
    store_key(&home);
    assert_eq!(client.request("authenticate", set_up).unwrap(), json!({}));
    assert_eq!(
        client.request("authenticate", json!({"methodId": "openai"})).unwrap(),
        json!({})
    );
}

fn store_key(home: &Home) {
    std::fs::write(home.state().join(".env"), "OPENAI_API_KEY=sk-test\n").unwrap();
}

#[test]
fn a_key_that_comes_later_works_without_a_restart() {
    let home = Home::with_config(KEYED);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": true}}});
    let (mut client, greeting) = greeting(&home, params);
    let new = json!({"cwd": home.workspace(), "mcpServers": []});
    let error = client.request("session/new", new.clone()).unwrap_err();
    assert_eq!(error["code"], -32000);
    assert_eq!(error["data"]["authMethods"], greeting["authMethods"]);
    assert_eq!(error["data"]["provider"], "openai");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("agent setup") && message.contains("OPENAI_API_KEY"),
        "{message}"
    );
    store_key(&home);
    let opened = client.request("session/new", new).unwrap();
    assert!(opened["sessionId"].is_string());
}

#[test]
fn the_terminal_method_works_when_it_is_run() {
    let home = Home::with_config(KEYED);
    let capabilities = json!({"_meta": {"terminal-auth": true}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let (mut client, greeting) = greeting(&home, params);
    let launch = &greeting["authMethods"][1]["_meta"]["terminal-auth"];
    assert_eq!(launch["command"], binary().canonicalize().unwrap().to_str().unwrap());
    let args = launch["args"].as_array().unwrap().iter();
    let args: Vec<&str> = args.map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(args, ["acp", "--setup"]);
    // Without a terminal to ask at it says which flags do the same.
    let mut command: Command = home.command(&args);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("--provider"), "{text}");
    let set_up = ["setup", "--provider", "offline", "--no-check"];
    let output = home.command(&set_up).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    check_turn(&home, &mut client);
}

#[test]
fn a_broken_configuration_still_initializes_and_says_what_is_wrong_at_the_session() {
    let home = Home::with_config("modle = \"offline/offline\"\n");
    let mut client = Client::initialized(&home, json!({}));
    let new = json!({"cwd": home.workspace(), "mcpServers": []});
    let error = client.request("session/new", new).unwrap_err();
    assert_eq!(error["data"]["class"], "config");
    assert!(
        error["message"].as_str().unwrap().contains("did you mean `model`?"),
        "{error}"
    );
    home.write_config("model = \"offline/offline\"\n");
    check_turn(&home, &mut client);
}
