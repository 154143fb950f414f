#![allow(clippy::unwrap_used, reason = "tests")]
use serde_json::json;

use super::*;

fn folders() -> Folders {
    Folders {
        cwd: "/w".into(),
        extra_roots: vec!["/x".into()],
        servers: Vec::new(),
    }
}

#[track_caller]
fn check(method: &str, params: Value, expect: Call) {
    assert_eq!(Call::read(method, params).unwrap(), expect);
}

#[track_caller]
fn refuses(method: &str, params: Value, code: i32, field: Option<&str>) {
    let error = Call::read(method, params).unwrap_err();
    assert_eq!(i32::from(error.code), code);
    assert_eq!(error.data, field.map(|field| json!({ "field": field })));
}

#[test]
fn every_method_that_is_served_is_read() {
    check(
        "authenticate",
        json!({ "methodId": "a" }),
        Call::Authenticate { method: "a".into() },
    );
    check(
        "session/new",
        json!({ "cwd": "/w", "additionalDirectories": ["/x"], "mcpServers": [] }),
        Call::New {
            folders: folders(),
            instructions: None,
        },
    );
    check(
        "session/fork",
        json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"] }),
        Call::Fork {
            session: "s".into(),
            folders: folders(),
            instructions: None,
        },
    );
    check("session/delete", json!({ "sessionId": "s" }), Call::Delete("s".into()));
    check("logout", Value::Null, Call::Logout);
    check("logout", json!({}), Call::Logout);
    for (method, replay) in [("session/load", true), ("session/resume", false)] {
        check(
            method,
            json!({ "sessionId": "s", "cwd": "/w", "additionalDirectories": ["/x"], "mcpServers": [] }),
            Call::Open {
                session: "s".into(),
                folders: folders(),
                instructions: None,
                replay,
            },
        );
    }
    check(
        "session/list",
        Value::Null,
        Call::List {
            cwd: None,
            cursor: None,
        },
    );
    check(
        "session/list",
        json!({ "cwd": "/w", "cursor": "c" }),
        Call::List {
            cwd: Some("/w".into()),
            cursor: Some("c".into()),
        },
    );
    check("session/close", json!({ "sessionId": "s" }), Call::Close("s".into()));
    check(
        "session/prompt",
        json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "hi" }] }),
        Call::Prompt {
            session: "s".into(),
            content: vec![Content::text("hi")],
            joins: false,
        },
    );
    check(
        "session/prompt",
        json!({ "sessionId": "s", "prompt": [], "_meta": { "talaria/steer": true } }),
        Call::Prompt {
            session: "s".into(),
            content: Vec::new(),
            joins: true,
        },
    );
    for (meta, idle) in [
        (Value::Null, Idle::Prompts),
        (json!({ "steering": {} }), Idle::Prompts),
        (
            json!({ "steering": { "idleBehavior": "promptRequired" } }),
            Idle::GivesBack,
        ),
    ] {
        check(
            "_session/steering",
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "hi" }], "_meta": meta }),
            Call::Steer {
                session: "s".into(),
                content: vec![Content::text("hi")],
                idle,
            },
        );
    }
    check(
        "session/set_model",
        json!({ "sessionId": "s", "modelId": "a/b" }),
        Call::SetModel {
            session: "s".into(),
            option: SetOption::Model("a/b".into()),
        },
    );
    let mode = || SetOption::Mode("plan".into());
    check(
        "session/set_mode",
        json!({ "sessionId": "s", "modeId": "plan" }),
        Call::SetMode {
            session: "s".into(),
            option: mode(),
        },
    );
    check(
        "session/set_config_option",
        json!({ "sessionId": "s", "configId": "mode", "value": "plan" }),
        Call::SetOption {
            session: "s".into(),
            option: mode(),
        },
    );
    check(
        "session/set_config_option",
        json!({ "sessionId": "s", "configId": "model", "value": "a/b" }),
        Call::SetOption {
            session: "s".into(),
            option: SetOption::Model("a/b".into()),
        },
    );
}

#[test]
fn unknown_and_unadvertised_methods_are_not_served() {
    for method in [
        "session/set_title",
        "session/archive",
        "providers/list",
        "_custom",
        "",
        "Initialize",
    ] {
        refuses(method, json!({ "sessionId": "s" }), -32601, None);
    }
}

#[test]
fn missing_or_null_mcp_servers_are_none() {
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        let mut params = json!({ "sessionId": "s", "cwd": "/w", "unknown": 1, "_meta": { "a": 1 } });
        Call::read(method, params.clone()).unwrap();
        params["mcpServers"] = Value::Null;
        Call::read(method, params).unwrap();
    }
}

#[test]
fn wrong_params_are_refused_by_the_fields_name() {
    refuses("authenticate", json!({}), -32602, Some("methodId"));
    refuses("session/new", json!({ "cwd": "rel" }), -32602, Some("cwd"));
    refuses("session/new", json!({ "cwd": 1 }), -32602, Some("cwd"));
    refuses("session/new", json!([]), -32602, Some("params"));
    let prompt = json!({ "cwd": "/w", "sessionId": "s", "systemPrompt": { "mode": "append", "content": [] } });
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        refuses(method, prompt.clone(), -32602, Some("systemPrompt.content"));
    }
    refuses("session/delete", json!({}), -32602, Some("sessionId"));
    refuses("session/fork", json!({ "cwd": "/w" }), -32602, Some("sessionId"));
    refuses(
        "session/set_model",
        json!({ "sessionId": "s" }),
        -32602,
        Some("modelId"),
    );
    let steer = json!({ "sessionId": "s", "prompt": [], "_meta": { "steering": { "idleBehavior": "x" } } });
    refuses("_session/steering", steer, -32602, Some("_meta.steering.idleBehavior"));
    for empty in [json!([]), json!([{ "type": "text", "text": " \n" }])] {
        let steer = json!({ "sessionId": "s", "prompt": empty });
        refuses("_session/steering", steer, -32602, Some("prompt"));
    }
    refuses(
        "session/new",
        json!({ "cwd": "/w", "mcpServers": [{ "name": 1 }] }),
        -32602,
        Some("mcpServers[0]"),
    );
    refuses("session/load", json!({ "cwd": "/w" }), -32602, Some("sessionId"));
    refuses("session/resume", json!({ "sessionId": "s" }), -32602, Some("cwd"));
    refuses("session/list", json!({ "cwd": "rel" }), -32602, Some("cwd"));
    refuses("session/list", json!({ "cursor": 1 }), -32602, Some("cursor"));
    refuses("session/close", json!({}), -32602, Some("sessionId"));
    refuses("session/prompt", json!({ "sessionId": "s" }), -32602, Some("prompt"));
    refuses("session/set_mode", json!({ "sessionId": "s" }), -32602, Some("modeId"));
    let option = |value: Value| json!({ "sessionId": "s", "configId": "mode", "value": value });
    refuses("session/set_config_option", option(json!(true)), -32602, Some("value"));
    refuses(
        "session/set_config_option",
        json!({ "sessionId": "s", "configId": "mode" }),
        -32602,
        Some("value"),
    );
    let unknown = json!({ "sessionId": "s", "configId": "x", "value": "y" });
    refuses("session/set_config_option", unknown, -32602, Some("configId"));
}
