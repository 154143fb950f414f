//! Sessions that begin with the past of another one, and sessions that go for good.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, option, run};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load};

use crate::play::{conversation, home, listed, says, set_mode, set_option};

/// Forks a session into the home's workspace: the answer.
fn fork(client: &mut Client, home: &Home, session: &str) -> Result<Value, Value> {
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    client.request("session/fork", params)
}

/// The id of a fork.
fn forked(client: &mut Client, home: &Home, session: &str) -> String {
    let answer = fork(client, home, session).unwrap();
    answer["sessionId"].as_str().unwrap().to_owned()
}

fn delete(client: &mut Client, session: &str) -> Result<Value, Value> {
    client.request("session/delete", json!({"sessionId": session}))
}

/// The session can't be opened any more.
fn check_gone(client: &mut Client, home: &Home, session: &str) {
    assert!(listed(client, session).is_none());
    let error = load(client, session, &home.workspace()).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["sessionId"]),
        (&json!(-32002), &json!(session))
    );
}

fn waits() -> Value {
    json!({"steps": [{"text": "so far"}, {"wait_cancel": true}]})
}

#[test]
fn a_fork_goes_its_own_way_from_the_same_past() {
    let mock = Mock::answering(|_| Reply::text("yes"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, parent) = Client::with_session(&home);
    client.prompt(&parent, "first");
    set_mode(&mut client, &parent, "plan");
    set_option(&mut client, &parent, "thought_level", "low").unwrap();
    let from = client.log.len();
    let answer = fork(&mut client, &home, &parent).unwrap();
    let child = answer["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(child, parent);
    assert_eq!(answer["modes"]["currentModeId"], "plan");
    assert_eq!(option(&answer["configOptions"], "thought_level")["currentValue"], "low");
    assert!(client.updates(from).is_empty(), "nothing comes before the answer");
    let title = client.wait_for_update("session_info_update");
    assert_eq!(title["title"], "first (fork)");
    let kinds: Vec<&Value> = client
        .updates(from)
        .iter()
        .map(|update| &update["sessionUpdate"])
        .collect();
    assert_eq!(kinds[0], "available_commands_update");
    client.prompt(&child, "second of the child");
    client.prompt(&parent, "second of the parent");
    let sent = mock.requests();
    let words = |asked: usize| {
        conversation(&sent[asked])
            .iter()
            .map(|(_, text)| text.clone())
            .collect::<String>()
    };
    assert!(words(1).contains("first") && words(1).contains("of the child"));
    assert!(words(2).contains("first") && !words(2).contains("of the child"));
    // The service finds what it has cached of the past.
    assert_eq!(sent[1].messages()[..3], sent[2].messages()[..3]);
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &child, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "second of the child"]);
    let from = load(&mut client, &parent, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "second of the parent"]);
    assert_eq!(listed(&mut client, &child).unwrap()["title"], "first (fork)");
    // A stored one that is not open can be forked as well.
    client.request("session/close", json!({"sessionId": child})).unwrap();
    let grandchild = forked(&mut client, &home, &child);
    assert_eq!(listed(&mut client, &grandchild).unwrap()["title"], "first (fork 2)");
}

#[test]
fn a_turn_that_runs_is_not_in_a_fork_and_both_go_on() {
    let home = home(&[says("one"), waits(), says("two")]);
    let (mut client, parent) = Client::with_session(&home);
    client.prompt(&parent, "first");
    let running = client.begin_prompt(&parent, "second");
    client.wait_for(|message| message["params"]["update"]["content"]["text"] == "so far");
    let child = forked(&mut client, &home, &parent);
    assert_eq!(client.prompt(&child, "of the child"), "end_turn");
    client.notify("session/cancel", json!({"sessionId": parent}));
    assert_eq!(client.stop_reason(running), "cancelled");
    let from = load(&mut client, &child, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["first", "of the child"]);
    assert_eq!(client.prompt(&parent, "third"), "end_turn");
}

#[test]
fn a_session_is_forked_at_any_moment_of_its_first_prompt() {
    let home = Home::new();
    let mut client = Client::initialized(&home, json!({}));
    for _ in 0..60 {
        let session = client.new_session(&home.workspace());
        let prompt = client.begin_prompt(&session, "say pong");
        forked(&mut client, &home, &session);
        assert_eq!(client.stop_reason(prompt), "end_turn");
    }
}

#[test]
fn what_is_not_there_or_was_never_prompted_is_forked_as_what_it_is() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let error = fork(&mut client, &home, "none").unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["sessionId"]),
        (&json!(-32002), &json!("none"))
    );
    set_mode(&mut client, &session, "plan");
    let answer = fork(&mut client, &home, &session).unwrap();
    assert_eq!(answer["modes"]["currentModeId"], "plan");
    let list = client.request("session/list", json!({})).unwrap();
    assert_eq!(list["sessions"], json!([]), "nothing is stored of either");
    let child = answer["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.prompt(&child, "say pong"), "end_turn");
}

#[test]
fn a_deleted_session_is_gone_whether_it_was_stored_open_or_running() {
    // Each session has its own model.
    let home = home(&[says("one"), waits()]);
    let mut client = Client::initialized(&home, json!({}));
    let [stored, open, running] = [(); 3].map(|()| client.new_session(&home.workspace()));
    for session in [&stored, &open, &running] {
        client.prompt(session, "a");
    }
    client.request("session/close", json!({"sessionId": stored})).unwrap();
    let prompt = client.begin_prompt(&running, "c");
    let queued = client.begin_prompt(&running, "d");
    client.wait_for(|message| message["params"]["update"]["content"]["text"] == "so far");
    for session in [&stored, &open, &running] {
        assert_eq!(delete(&mut client, session).unwrap(), json!({}));
        check_gone(&mut client, &home, session);
    }
    for prompt in [prompt, queued] {
        assert_eq!(client.stop_reason(prompt), "cancelled");
    }
    // The prompt was answered before the delete.
    let place = |id: i64| client.log.iter().position(|message| message["id"] == id).unwrap();
    assert!(place(prompt) < place(queued));
    for session in ["none", &stored] {
        assert_eq!(delete(&mut client, session).unwrap(), json!({}), "it is gone already");
    }
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, "e"), "end_turn");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    for session in [&stored, &open, &running] {
        check_gone(&mut client, &home, session);
    }
}

#[test]
fn a_delete_during_a_load_waits_for_it() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    for _ in 0..20 {
        client.prompt(&session, &format!("say {}", "word ".repeat(2000)));
    }
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let from = client.log.len();
    let load = client.begin("session/load", params.clone());
    let gone = client.begin("session/delete", json!({"sessionId": session}));
    let late = client.begin("session/load", params);
    client.response(load).unwrap();
    assert_eq!(asked(&client, from).len(), 60, "its replay is whole");
    client.response(gone).unwrap();
    assert_eq!(client.response(late).unwrap_err()["code"], -32002);
    check_gone(&mut client, &home, &session);
}

#[test]
fn a_session_of_another_process_is_forked_and_not_deleted() {
    let home = home(&[says("one"), waits(), says("two")]);
    let (mut owner, session) = Client::with_session(&home);
    owner.prompt(&session, "first");
    let running = owner.begin_prompt(&session, "second");
    owner.wait_for(|message| message["params"]["update"]["content"]["text"] == "so far");
    let mut other = Client::initialized(&home, json!({}));
    let child = forked(&mut other, &home, &session);
    let from = load(&mut other, &child, &home.workspace()).unwrap();
    assert_eq!(asked(&other, from), ["first"]);
    for _ in 0..2 {
        let error = delete(&mut other, &session).unwrap_err();
        assert_eq!(
            (&error["data"]["class"], &error["data"]["pid"]),
            (&json!("held"), &json!(owner.pid()))
        );
        // Whether it is open here changes nothing, and it stays open.
        load(&mut other, &session, &home.workspace()).unwrap();
    }
    owner.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(owner.stop_reason(running), "cancelled");
    owner.kill();
    delete(&mut other, &session).unwrap();
    check_gone(&mut other, &home, &session);
    assert_eq!(other.prompt(&child, "of the child"), "end_turn");
}

#[test]
fn the_command_line_forks_and_deletes_too() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say one");
    client.prompt(&session, "say two");
    assert!(client.close().success());
    let agent = |arguments: &[&str]| run(home.command(arguments), "");
    let (status, out, _) = agent(&["sessions", "fork", &session, "--json"]);
    assert!(status.success());
    let child: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&child["title"], &child["messages"]),
        (&json!("say one (fork)"), &json!(4))
    );
    let (status, out, _) = agent(&["sessions", "fork", &session, "--at", "6"]);
    assert!(status.success());
    let (_, shown, _) = agent(&["sessions", "show", out.trim(), "--json"]);
    assert!(shown.contains("say one") && !shown.contains("say two"), "{shown}");
    let child = child["id"].as_str().unwrap();
    let (status, _, errors) = agent(&["sessions", "delete", child, "zzzz"]);
    assert_eq!(status.code(), Some(4), "{errors}");
    let (status, _, errors) = agent(&["sessions", "delete", child, &session]);
    assert!(status.success(), "{errors}");
    let (_, list, _) = agent(&["sessions", "list", "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
}
