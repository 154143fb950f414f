//! What the history has, found from the prompt, by the model and on the command line.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};

use crate::play::{calls, ends, home, says};

/// Says something in a session of its own, whose model begins with its first reply, and gives back its id.
fn said(client: &mut Client, home: &Home, text: &str) -> String {
    let session = client.new_session(&home.workspace());
    assert_eq!(client.prompt(&session, text), "end_turn");
    session
}

/// What a command is answered.
fn told(client: &mut Client, session: &str, command: &str) -> String {
    let from = client.log.len();
    assert_eq!(client.prompt(session, command), "end_turn");
    client.said(from)
}

#[test]
fn the_command_finds_the_other_sessions_and_says_how_to_open_them() {
    let home = home(&[says("Here is a *pear* for you."), says("own"), says("again")]);
    let mut client = Client::initialized(&home, json!({}));
    let other = said(&mut client, &home, "buy a quince, 日本語");
    let own = said(&mut client, &home, "my own quince");
    let answer = told(&mut client, &own, "/search quince");
    assert!(
        answer.contains("buy a **quince**") && answer.contains(&other),
        "{answer}"
    );
    assert!(
        answer.contains("agent sessions show") && !answer.contains("my own"),
        "{answer}"
    );
    let folder = home.workspace();
    assert!(answer.contains(folder.to_str().unwrap()), "{answer}");
    assert!(told(&mut client, &own, "/search 本").contains("日**本**語"));
    let answer = told(&mut client, &own, "/search pear");
    assert!(answer.contains(r"a \***pear**\* for"), "shown as it was said: {answer}");
    assert!(told(&mut client, &own, "/search medlar").starts_with("Nothing is found"));
    assert!(told(&mut client, &own, "/search").contains("role:user"));
    let answer = told(&mut client, &own, "/search quince role:assistant");
    assert!(
        answer.ends_with("`role:assistant` was searched for as text; role: takes user, agent, tool or title."),
        "{answer}"
    );
    // What was answered is not found in its turn.
    let from = client.log.len();
    let third = client.new_session(&home.workspace());
    let answer = told(&mut client, &third, "/search quince role:agent");
    assert!(answer.starts_with("Nothing is found"), "{answer} {from}");
}

#[test]
fn the_command_is_answered_beside_a_turn() {
    let home = home(&[
        says("a quince"),
        json!({"steps": [{"text": "begun"}, {"wait_cancel": true}]}),
    ]);
    let mut client = Client::initialized(&home, json!({}));
    let other = said(&mut client, &home, "go");
    let own = said(&mut client, &home, "go");
    let running = client.begin_prompt(&own, "go on");
    client.wait_for(|message| message["params"]["update"]["content"]["text"] == "begun");
    assert!(told(&mut client, &own, "/search quince").contains(&other));
    client.notify("session/cancel", json!({"sessionId": own}));
    assert_eq!(client.stop_reason(running), "cancelled");
}

#[test]
fn the_model_searches_reads_and_lists_the_other_sessions_unasked() {
    let search = |input: Value| calls(&[("session_search", input)]);
    let home = home(&[
        says("the quince is ripe"),
        search(json!({"query": "quince -unripe role:agent"})),
        search(json!({})),
        says("done"),
    ]);
    let mut client = Client::initialized(&home, json!({}));
    client.permission = None;
    let other = said(&mut client, &home, "how is it?");
    let own = said(&mut client, &home, "hello");
    let from = client.log.len();
    assert_eq!(client.prompt(&own, "look for the quince"), "end_turn");
    let ended = ends(&client, from);
    let texts: Vec<String> = ended.iter().map(|end| end["content"].to_string()).collect();
    let short = &other[other.len() - 10..];
    assert!(ended.iter().all(|end| end["status"] == "completed"), "{ended:?}");
    assert!(
        texts[0].contains("the **quince** is ripe") && texts[0].contains(short),
        "{texts:?}"
    );
    assert!(texts[1].contains("how is it?") && texts[1].contains(short), "{texts:?}");
    assert!(
        !texts[1].contains("look for the quince"),
        "the session itself is left out: {texts:?}"
    );
    // What it has found is not found again.
    assert!(client.close().success());
    let found = found(&home, &["quince role:tool"]);
    assert_eq!(found, json!([]));
}

fn found(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["sessions", "search", "--json"];
    all.extend(arguments);
    let (status, out, errors) = run(home.command(&all), "");
    assert!(status.success(), "{errors}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_command_line_prints_hits_for_people_and_programs() {
    let home = home(&[says("quince one"), says("quince two"), says("nothing")]);
    let mut client = Client::initialized(&home, json!({}));
    let session = client.new_session(&home.workspace());
    client.prompt(&session, "first");
    client.prompt(&session, "second, with sk-proj-abcdef0123456789XYZ");
    let other = said(&mut client, &home, "a quince too");
    assert!(client.close().success());
    let hits = found(&home, &["quince"]);
    let hits = hits.as_array().unwrap();
    let one = hits.iter().find(|hit| hit["session"] == session).unwrap();
    let names: Vec<&String> = one.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["session", "title", "cwd", "seq", "role", "at", "snippet", "hits"]
    );
    assert_eq!((&one["snippet"], &one["hits"]), (&json!("**quince** two"), &json!(2)));
    assert_eq!((&one["role"], &one["title"]), (&json!("agent"), &json!("first")));
    assert!(hits.iter().any(|hit| hit["session"] == other), "{hits:?}");
    assert_eq!(
        found(&home, &["quince", "--all-hits"]).as_array().unwrap().len(),
        5,
        "a title too"
    );
    assert_eq!(
        found(&home, &["quince", "--limit", "1", "--offset", "1"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        found(&home, &["role:user", "second"])[0]["snippet"],
        "**second**, with sk-***"
    );
    assert_eq!(found(&home, &["\"*("]), json!([]));
    let without = found(&home, &["-two quince", "--limit", "9"]);
    assert!(
        without.to_string().contains("one") && !without.to_string().contains("two"),
        "{without}"
    );
    let (status, out, errors) = run(home.command(&["sessions", "search", "quince", "--limit", "1"]), "");
    assert!(status.success(), "{errors}");
    assert!(out.contains("**quince**") && out.lines().count() == 2, "{out}");
    assert!(errors.contains("--offset 1"), "{errors}");
    let (_, _, errors) = run(home.command(&["sessions", "search", "medlar"]), "");
    assert!(errors.contains("nothing is found"), "{errors}");
}
