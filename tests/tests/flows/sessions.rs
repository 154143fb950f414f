//! Sessions side by side, and prompts one behind the other.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

#[test]
fn two_sessions_work_at_once_in_their_own_folders() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let sessions: Vec<(String, String)> = ["one", "two"]
        .map(|name| {
            let folder = home.workspace().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("a.txt"), format!("in {name}\n")).unwrap();
            (name.to_owned(), client.new_session(&folder))
        })
        .into();
    let prompts: Vec<i64> = sessions
        .iter()
        .map(|(_, session)| client.begin_prompt(session, "read a.txt"))
        .collect();
    for prompt in prompts {
        assert_eq!(client.stop_reason(prompt), "end_turn");
    }
    for (name, session) in &sessions {
        let theirs = client
            .log
            .iter()
            .filter(|message| message["params"]["sessionId"] == session.as_str());
        let ends: Vec<String> = theirs
            .filter(|message| message["params"]["update"]["status"] == "completed")
            .map(Value::to_string)
            .collect();
        assert_eq!(ends.len(), 1);
        assert!(ends[0].contains(&format!("in {name}")), "{ends:?}");
    }
}

#[test]
fn questions_of_two_sessions_do_not_cross() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    client.permission = None;
    let folders = ["one", "two"].map(|name| home.workspace().join(name));
    let sessions = folders.clone().map(|folder| {
        std::fs::create_dir(&folder).unwrap();
        client.new_session(&folder)
    });
    let prompts = sessions
        .clone()
        .map(|session| client.begin_prompt(&session, "create a.txt with hello"));
    let questions: Vec<Value> = (0..2)
        .map(|_| client.wait_for(|message| message["method"] == "session/request_permission"))
        .collect();
    for question in questions {
        let is_first = question["params"]["sessionId"] == sessions[0].as_str();
        client.answer(&question, if is_first { "reject_once" } else { "allow_once" });
    }
    for prompt in prompts {
        assert_eq!(client.stop_reason(prompt), "end_turn");
    }
    assert!(!folders[0].join("a.txt").exists());
    assert!(folders[1].join("a.txt").exists());
}

#[test]
fn a_second_prompt_waits_for_the_first_and_each_is_answered_once() {
    let script = json!({"replies": [
        {"steps": [{"text": "one"}, {"delay_ms": 100}, {"text": " more"}]},
        {"steps": [{"text": "two"}]},
    ]});
    let home = Home::with_script(&script);
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    let first = client.begin_prompt(&session, "first");
    let second = client.begin_prompt(&session, "second");
    assert_eq!(client.stop_reason(first), "end_turn");
    assert_eq!(client.said(from), "one more");
    assert_eq!(client.stop_reason(second), "end_turn");
    assert_eq!(client.said(from), "one moretwo");
}

#[test]
fn nothing_of_a_session_comes_before_its_response() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let from = client.log.len();
    let session = client.new_session(&home.workspace());
    assert!(client.updates(from).is_empty());
    let update = client.wait_for_update("available_commands_update");
    let names: Vec<&str> = update["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|command| command["name"].as_str())
        .collect();
    let from = client.log.len();
    client.prompt(&session, "/help");
    let help = client.said(from);
    assert!(
        names.contains(&"help") && names.iter().all(|name| help.contains(&format!("/{name}"))),
        "{help}"
    );
}
