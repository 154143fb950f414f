//! Parameters that are missing or wrong: the field is named, and nothing of what was sent comes back.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::exchange::{Expect, agent, check, check_field, check_turn, request};

#[test]
fn missing_and_wrong_params_are_refused_by_the_fields_name() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let text = json!([{"type": "text", "text": "hi"}]);
    let table = [
        ("session/new", json!({}), "cwd"),
        ("session/new", json!("SECRET"), "params"),
        ("session/new", json!(["SECRET"]), "params"),
        ("session/new", json!({"cwd": 1}), "cwd"),
        ("session/new", json!({"cwd": null}), "cwd"),
        ("session/new", json!({"cwd": "/", "mcpServers": "SECRET"}), "mcpServers"),
        (
            "session/new",
            json!({"cwd": "/", "mcpServers": [{"name": "SECRET"}]}),
            "mcpServers[0]",
        ),
        (
            "session/new",
            json!({"cwd": "/", "additionalDirectories": [1]}),
            "additionalDirectories[0]",
        ),
        ("session/load", json!({"cwd": "/"}), "sessionId"),
        (
            "session/load",
            json!({"sessionId": {"SECRET": 1}, "cwd": "/"}),
            "sessionId",
        ),
        ("session/load", json!({"sessionId": session}), "cwd"),
        ("session/resume", json!({"sessionId": session}), "cwd"),
        ("session/resume", json!({"cwd": "/"}), "sessionId"),
        ("session/list", json!({"cursor": ["SECRET"]}), "cursor"),
        ("session/list", json!({"cwd": 5}), "cwd"),
        ("session/close", json!({}), "sessionId"),
        ("session/prompt", json!({"prompt": text}), "sessionId"),
        ("session/prompt", json!({"sessionId": session}), "prompt"),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": "SECRET"}),
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "SECRET"}]}),
            "prompt[0].type",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text"}]}),
            "prompt[0].text",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "image", "mimeType": "image/png", "data": "SECRET!"}]}),
            "prompt[0].data",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "audio", "mimeType": "audio/wav", "data": "YQ=="}]}),
            "prompt[0]",
        ),
        ("session/set_mode", json!({"sessionId": session}), "modeId"),
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": "unheard-of"}),
            "modeId",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "mode"}),
            "value",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "value": "default"}),
            "configId",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "mode", "value": ["SECRET"]}),
            "value",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "mode", "value": "unheard-of"}),
            "value",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "model", "value": "unheard-of"}),
            "value",
        ),
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": "SECRET", "value": "x"}),
            "configId",
        ),
        ("authenticate", json!({}), "methodId"),
        ("authenticate", json!({"methodId": 5}), "methodId"),
    ];
    for (method, params, field) in table {
        check_field(&mut client, method, &params, field);
    }
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

#[test]
fn an_unknown_session_is_not_found_and_its_id_is_in_data() {
    let (home, mut client) = agent();
    let check_all = |client: &mut Client, session: &str, stored: bool| {
        let table = [
            (
                "session/load",
                json!({"cwd": home.workspace(), "mcpServers": []}),
                false,
            ),
            ("session/resume", json!({"cwd": home.workspace()}), false),
            (
                "session/prompt",
                json!({"prompt": [{"type": "text", "text": "hi"}]}),
                true,
            ),
            ("session/close", json!({}), true),
            ("session/set_mode", json!({"modeId": "plan"}), true),
            (
                "session/set_config_option",
                json!({"configId": "mode", "value": "plan"}),
                true,
            ),
        ];
        for (method, mut params, wants_open) in table {
            if stored && !wants_open {
                continue;
            }
            params["sessionId"] = json!(session);
            let answer = check(client, request(4, method, &params), &Expect::Error(-32002, json!(4)));
            assert_eq!(answer["error"]["data"], json!({"sessionId": session}), "{method}");
        }
    };
    for session in [
        "none",
        "",
        "../../etc/passwd",
        "0199c3a0-0000-7000-8000-000000000000",
        "' OR 1=1",
    ] {
        check_all(&mut client, session, false);
    }
    let listed = client.request("session/list", json!({})).unwrap();
    assert_eq!(listed["sessions"], json!([]), "nothing is created");
    let session = client.new_session(&home.workspace());
    client.prompt(&session, "say hello");
    client.request("session/close", json!({"sessionId": session})).unwrap();
    check_all(&mut client, &session, true);
}

#[test]
fn folders_must_be_absolute_and_there() {
    let (home, mut client) = agent();
    let file = home.workspace().join("a.txt");
    std::fs::write(&file, "a").unwrap();
    let session = client.new_session(&home.workspace());
    client.prompt(&session, "say hello");
    let wrong = [
        json!("rel"),
        json!(""),
        json!("."),
        json!("~"),
        json!(file),
        json!(home.workspace().join("missing")),
    ];
    for cwd in wrong {
        for method in ["session/new", "session/load", "session/resume"] {
            let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
            check_field(&mut client, method, &params, "cwd");
        }
    }
    let relative = json!({"cwd": home.workspace(), "mcpServers": [], "additionalDirectories": ["/", "rel"]});
    check_field(&mut client, "session/new", &relative, "additionalDirectories[1]");
    check_field(&mut client, "session/list", &json!({"cwd": "rel"}), "cwd");
    check_turn(&home, &mut client);
}

#[test]
fn no_mcp_servers_may_be_said_in_every_way() {
    let (home, mut client) = agent();
    let mut session = Value::Null;
    for servers in [None, Some(Value::Null), Some(json!([]))] {
        let with = |mut params: Value| {
            if let Some(servers) = &servers {
                params["mcpServers"] = servers.clone();
            }
            params
        };
        let new = client.request("session/new", with(json!({"cwd": home.workspace()})));
        session = new.unwrap()["sessionId"].clone();
        client.prompt(session.as_str().unwrap(), "say hello");
        for method in ["session/load", "session/resume"] {
            let params = with(json!({"sessionId": session, "cwd": home.workspace()}));
            client.request(method, params).unwrap();
        }
    }
    assert_eq!(client.prompt(session.as_str().unwrap(), "say pong"), "end_turn");
}

#[test]
fn params_may_be_absent_null_or_empty_where_none_are_needed() {
    let (_home, mut client) = agent();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cwd":null,"cursor":null}}"#,
    ] {
        check(&mut client, line, &Expect::Result(json!(1)));
    }
}
