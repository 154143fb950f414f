//! Sessions: begun, listed, loaded, resumed, closed, and what is kept of them.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, option};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load, times_told};

use crate::play::{announced, calls, conversation, home, listed, says, set_mode, set_option, text_of, two_providers};

fn resume(client: &mut Client, session: &str, cwd: &Path) -> Value {
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    client.request("session/resume", params).unwrap()
}

/// The folder that a command of the session starts in.
fn works_in(client: &mut Client, session: &str) -> String {
    let from = client.log.len();
    assert_eq!(client.prompt(session, "run pwd"), "end_turn");
    let end = crate::play::ends(client, from).pop().unwrap();
    text_of(&end)
        .lines()
        .find(|line| line.starts_with('/'))
        .unwrap()
        .to_owned()
}

#[test]
fn each_session_has_an_id_of_its_own_and_works_in_its_folder_from_the_first_call() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let folders = ["one", "two", "two"].map(|name| home.workspace().join(name));
    let sessions = folders.clone().map(|folder| {
        std::fs::create_dir_all(&folder).unwrap();
        client.new_session(&folder)
    });
    assert!(sessions[0] != sessions[1] && sessions[1] != sessions[2] && sessions[0] != sessions[2]);
    for (session, folder) in sessions.iter().zip(&folders) {
        assert_eq!(works_in(&mut client, session), folder.to_str().unwrap());
        assert_eq!(listed(&mut client, session).unwrap()["cwd"], folder.to_str().unwrap());
    }
}

#[test]
fn a_session_that_is_opened_elsewhere_works_there_and_says_so() {
    let home = Home::new();
    let [old, new, newest] = ["old", "new", "newest"].map(|name| home.workspace().join(name));
    for folder in [&old, &new, &newest] {
        std::fs::create_dir(folder).unwrap();
    }
    let mut client = Client::initialized(&home, json!({}));
    let session = client.new_session(&old);
    assert_eq!(works_in(&mut client, &session), old.to_str().unwrap());
    assert!(client.close().success());
    // The old folder need not exist any more: projects move.
    std::fs::remove_dir(&old).unwrap();
    let mut client = Client::initialized(&home, json!({"session": {"notices": {}}}));
    load(&mut client, &session, &new).unwrap();
    assert_eq!(works_in(&mut client, &session), new.to_str().unwrap());
    assert_eq!(listed(&mut client, &session).unwrap()["cwd"], new.to_str().unwrap());
    assert_eq!(times_told(&client, 0, "now works in"), 1);
    resume(&mut client, &session, &newest);
    assert_eq!(works_in(&mut client, &session), newest.to_str().unwrap());
    assert_eq!(listed(&mut client, &session).unwrap()["cwd"], newest.to_str().unwrap());
}

#[test]
fn a_fresh_process_restores_model_mode_and_conversation() {
    let one = Mock::answering(|_| Reply::text("from one"));
    let two = Mock::answering(|_| Reply::text("from two"));
    let home = Home::with_config(&two_providers(&one.base_url(), &two.base_url()));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    set_option(&mut client, &session, "model", "two/b").unwrap();
    set_mode(&mut client, &session, "accept_edits");
    client.prompt(&session, "second");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let result = client.request("session/load", params).unwrap();
    assert_eq!(option(&result["configOptions"], "model")["currentValue"], "two/b");
    assert_eq!(option(&result["configOptions"], "mode")["currentValue"], "accept_edits");
    assert_eq!(result["modes"]["currentModeId"], "accept_edits");
    assert_eq!(asked(&client, from), ["first", "second"]);
    client.prompt(&session, "third");
    assert_eq!((one.requests().len(), two.requests().len()), (1, 2));
    let sent = conversation(&two.requests()[1]);
    let texts: Vec<&str> = sent.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert!(
        texts[0].contains("first") && texts[1] == "from one" && texts[3] == "from two",
        "{texts:?}"
    );
}

#[test]
fn only_a_session_that_is_listed_can_be_loaded() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let [empty, used] = [(); 2].map(|()| client.new_session(&home.workspace()));
    client.prompt(&used, "say hi");
    assert!(listed(&mut client, &empty).is_none() && listed(&mut client, &used).is_some());
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let error = load(&mut client, &empty, &home.workspace()).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["sessionId"]),
        (&json!(-32002), &json!(empty))
    );
    load(&mut client, &used, &home.workspace()).unwrap();
}

#[test]
fn a_title_is_listed_before_there_is_a_conversation_and_survives_a_restart() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "/title  The   great\u{202e} plan ");
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "The great plan");
    client.prompt(&session, "say hi");
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "The great plan");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "The great plan");
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(times_told(&client, from, "session_info_update"), 1);
    let from = client.log.len();
    client.prompt(&session, "/title");
    assert_eq!(client.said(from), "Title: The great plan");
}

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

#[test]
fn two_loads_at_once_are_one_session() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say first");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let loads = [(); 2].map(|()| client.begin("session/load", params.clone()));
    let list = client.begin("session/list", json!({}));
    client.response(list).unwrap();
    for load in loads {
        client.response(load).unwrap();
    }
    assert_eq!(asked(&client, from), ["say first", "say first"]);
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say second"), "end_turn");
    assert_eq!(times_told(&client, from, "second"), 1);
}

#[test]
fn a_load_shows_calls_and_thoughts_as_they_were() {
    let home = home(&[
        json!({"steps": [{"thought": "the file first"}, {"call": {"name": "read_file", "input": {"path": "a.txt"}}}]}),
        calls(&[("no_such_tool", json!({}))]),
        json!({"steps": [{"thought": "only this"}]}),
        json!({"steps": [{"thought": "and this"}]}),
    ]);
    std::fs::write(home.workspace().join("a.txt"), "a\n").unwrap();
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let kinds = ["agent_thought_chunk", "tool_call", "tool_call_update"];
    let shown = |client: &Client, from: usize| -> Vec<Value> {
        let updates = client.updates(from).into_iter().cloned();
        updates
            .filter(|update| kinds.contains(&update["sessionUpdate"].as_str().unwrap()))
            .collect()
    };
    let live = shown(&client, from);
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let replayed = shown(&client, from);
    assert_eq!(replayed, live);
    assert_eq!(announced(&client, from).len(), 2);
    let thoughts = replayed
        .iter()
        .filter(|update| update["sessionUpdate"] == "agent_thought_chunk");
    assert_eq!(thoughts.count(), 3);
    for update in client.updates(from) {
        let is_chunk = update["sessionUpdate"].as_str().unwrap().ends_with("_chunk");
        assert!(!is_chunk || update["content"]["text"] != "", "{update}");
    }
}

#[test]
fn a_row_that_makes_no_sense_does_not_hinder_a_load_nor_the_next_prompt() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for prompt in ["first", "second", "third"] {
        client.prompt(&session, prompt);
    }
    assert!(client.close().success());
    let database = Connection::open(home.state().join("state.db")).unwrap();
    let broken = r#"{"event":"of_a_later_version","what":1}"#;
    let changed = database
        .execute(
            "UPDATE events SET kind = 'x', body = ?1 WHERE kind = 'user_message' AND body LIKE '%second%'",
            [broken],
        )
        .unwrap();
    let nonsense = database
        .execute("UPDATE events SET body = 'no JSON' WHERE kind = 'step_finished'", [])
        .unwrap();
    assert_eq!((changed, nonsense), (1, 3));
    drop(database);
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "third"]);
    assert!(client.said(from).starts_with("hello"));
    assert_eq!(client.prompt(&session, "fourth"), "end_turn");
    let sent = conversation(mock.requests().last().unwrap());
    let prompts: Vec<&str> = sent
        .iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, text)| text.as_str())
        .collect();
    assert!(
        prompts[0].contains("first") && prompts.last().unwrap().contains("fourth"),
        "{sent:?}"
    );
}

#[test]
fn a_long_list_comes_in_pages() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let mut sessions: Vec<String> = (0..53)
        .map(|_| {
            let session = client.new_session(&home.workspace());
            client.prompt(&session, "/version");
            session
        })
        .collect();
    sessions.reverse();
    let first = client.request("session/list", json!({})).unwrap();
    let cursor = first["nextCursor"].as_str().unwrap().to_owned();
    let second = client.request("session/list", json!({"cursor": cursor})).unwrap();
    assert_eq!(second.get("nextCursor"), None);
    let ids = [&first, &second]
        .map(|page| page["sessions"].as_array().unwrap().clone())
        .concat();
    let ids: Vec<&str> = ids.iter().map(|listed| listed["sessionId"].as_str().unwrap()).collect();
    assert_eq!(ids, sessions);
    for wrong in ["", "nonsense", &cursor[1..]] {
        let error = client.request("session/list", json!({"cursor": wrong})).unwrap_err();
        assert_eq!(error["code"], -32602, "{wrong}: {error}");
    }
}

#[test]
fn the_commands_and_the_context_follow_each_way_into_a_session() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let more = "models = [{ id = \"m\", context_window = 4096 }]\n";
    let home = Home::with_config(&config_of(&mock, more));
    let (mut client, session) = Client::with_session(&home);
    let check = |update: Value| {
        let commands = update["availableCommands"].as_array().unwrap().clone();
        let named = |name: &str| commands.iter().find(|command| command["name"] == name).unwrap().clone();
        assert!(
            commands
                .iter()
                .all(|command| !command["name"].as_str().unwrap().starts_with('/'))
        );
        assert!(named("mode")["input"]["hint"].as_str().unwrap().contains("plan"));
        assert_eq!(named("help").get("input"), None);
    };
    check(client.wait_for_update("available_commands_update"));
    let empty = json!({"sessionUpdate": "usage_update", "used": 0, "size": 4096});
    assert_eq!(client.wait_for_update("usage_update"), empty);
    client.prompt(&session, "hi");
    let used = json!({"sessionUpdate": "usage_update", "used": 15, "size": 4096});
    assert!(client.updates(0).contains(&&used));
    assert!(client.close().success());
    for method in ["session/load", "session/resume"] {
        let mut client = Client::initialized(&home, json!({}));
        let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
        client.request(method, params).unwrap();
        check(client.wait_for_update("available_commands_update"));
        assert_eq!(client.wait_for_update("usage_update"), used);
    }
}

#[test]
fn a_closed_session_takes_no_prompt_and_can_be_opened_again() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say first");
    assert_eq!(
        client.request("session/close", json!({"sessionId": session})),
        Ok(json!({}))
    );
    let prompt = client.begin_prompt(&session, "say second");
    assert_eq!(client.response(prompt).unwrap_err()["code"], -32002);
    resume(&mut client, &session, &home.workspace());
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say third"), "end_turn");
    assert!(client.said(from).contains("third"));
}

#[test]
fn text_of_any_kind_is_kept_and_sent_as_it_is() {
    let mock = Mock::answering(|_| Reply::text("e\u{301} 🦀 \u{202e}\0 {\"a\": 1}"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let prompts = [
        "[\"a\", \"list\"]",
        "{\"a\": \"map\"}",
        "日本語 한국어 e\u{301} 🦀\r\n\ttab \u{0} null \u{feff}",
        "\\u0041 'quoted' \"double\" -- ; DROP TABLE",
    ];
    for prompt in prompts {
        let from = client.log.len();
        client.prompt(&session, prompt);
        assert_eq!(client.said(from), "e\u{301} 🦀 \u{202e}\0 {\"a\": 1}");
    }
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), prompts);
    client.prompt(&session, "last");
    let sent = conversation(mock.requests().last().unwrap());
    let sent: Vec<&str> = sent
        .iter()
        .filter(|(role, _)| role == "user")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(sent[..4], prompts);
}

#[test]
fn the_models_own_reasoning_goes_back_to_it_after_a_restart() {
    let chunk = |delta: Value, finish: Value| {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string()
    };
    let body = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        chunk(json!({"reasoning_content": "because"}), Value::Null),
        chunk(json!({"content": "so"}), json!("stop")),
    );
    let mock = Mock::answering(move |_| Reply::sse(body.clone()));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "why?");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(times_told(&client, from, "because"), 1);
    client.prompt(&session, "and?");
    let request = mock.requests().pop().unwrap();
    let reasoned: Vec<&Value> = request
        .messages()
        .iter()
        .filter(|message| message["reasoning_content"] == "because")
        .collect();
    assert_eq!(reasoned.len(), 1);
    assert_eq!(
        (&reasoned[0]["role"], &reasoned[0]["content"]),
        (&json!("assistant"), &json!("so"))
    );
}

#[test]
fn a_session_is_listed_while_its_first_turn_runs() {
    let home = home(&[
        json!({"steps": [{"text": "half"}, {"wait_cancel": true}]}),
        says("next"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    assert_eq!(listed(&mut client, &session).unwrap()["title"], "go");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert_eq!(client.said(0), "half");
}
