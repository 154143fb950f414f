//! Sessions: begun, named, listed, opened, closed.

use std::path::Path;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{config_of, load, times_told};

use crate::play::{home, listed, says, text_of};

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
fn a_long_list_comes_in_pages() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    let mut sessions: Vec<String> = (0..53)
        .map(|_| {
            let session = client.new_session(&home.workspace());
            client.prompt(&session, "say hello");
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
