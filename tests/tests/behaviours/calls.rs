//! Tool calls: announced once, shown in their kind and place, planned.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

use crate::play::{announced, calls, diffs, ends, home, questions, says, set_mode, text_of};

/// One turn in which the model makes these calls at once.
pub(crate) fn turn(home: &Home) -> Client {
    let (mut client, session) = Client::with_session(home);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    client
}

pub(crate) fn write(home: &Home, name: &str, text: &str) {
    std::fs::write(home.workspace().join(name), text).unwrap();
}

#[test]
fn a_call_whose_arguments_come_in_pieces_is_announced_once() {
    let arguments = json!({"path": "a.txt", "offset": 1, "limit": 100}).to_string();
    let mut pieces: Vec<Value> = Vec::new();
    for (number, piece) in arguments.as_bytes().chunks(arguments.len().div_ceil(20)).enumerate() {
        let function = match number {
            0 => json!({"name": "read_file", "arguments": String::from_utf8_lossy(piece)}),
            _ => json!({"arguments": String::from_utf8_lossy(piece)}),
        };
        let mut call = json!({"index": 0, "function": function});
        if number == 0 {
            call["id"] = json!("c");
        }
        pieces.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
    }
    assert!(pieces.len() > 15);
    pieces.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
    let mut replies = vec![Reply::events(&pieces), Reply::text("done")].into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap());
    let home = Home::with_config(&config_of(&mock, ""));
    write(&home, "a.txt", "alpha\n");
    let client = turn(&home);
    let calls = announced(&client, 0);
    assert_eq!(calls.len(), 1);
    assert_eq!(
        calls[0]["rawInput"],
        json!({"path": "a.txt", "offset": 1, "limit": 100})
    );
    assert!(text_of(&ends(&client, 0)[0]).contains("alpha"));
}

#[test]
fn each_call_has_an_id_of_its_own_and_ends_with_its_own_result() {
    let read = |name: &str| json!({"call": {"id": "same", "name": "read_file", "input": {"path": name}}});
    let search = json!({"call": {"id": "same", "name": "search_files", "input": {"pattern": "text of b"}}});
    let reply = json!({"steps": [read("a.txt"), search, read("b.txt"), read("c.txt")]});
    let home = home(&[reply.clone(), says("done"), reply, says("done")]);
    for name in ["a.txt", "b.txt", "c.txt"] {
        write(&home, name, &format!("text of {}\n", &name[..1]));
    }
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "go");
    client.prompt(&session, "again");
    let calls = announced(&client, 0);
    let ids: BTreeSet<&str> = calls.iter().map(|call| call["toolCallId"].as_str().unwrap()).collect();
    assert_eq!((calls.len(), ids.len()), (8, 8));
    for (number, end) in ends(&client, 0).iter().enumerate() {
        let expect = ["text of a", "b.txt", "text of b", "text of c"][number % 4];
        assert!(text_of(end).contains(expect), "{expect}: {end}");
        let others = ["text of a", "text of c"].into_iter().filter(|other| *other != expect);
        assert!(others.clone().all(|other| !text_of(end).contains(other)), "{end}");
    }
    // Whatever is said of a call, it was announced before.
    let mut known = BTreeSet::new();
    for update in client.updates(0) {
        match update["sessionUpdate"].as_str().unwrap() {
            "tool_call" => assert!(known.insert(update["toolCallId"].as_str().unwrap())),
            "tool_call_update" => assert!(known.contains(update["toolCallId"].as_str().unwrap())),
            _ => {}
        }
    }
}

#[test]
fn every_tool_has_its_kind_and_shows_its_arguments() {
    let inputs = [
        ("read_file", "read", json!({"path": "a.txt"})),
        ("write_file", "edit", json!({"path": "n.txt", "content": "x"})),
        (
            "patch",
            "edit",
            json!({"path": "a.txt", "old_string": "alpha", "new_string": "beta"}),
        ),
        ("search_files", "search", json!({"pattern": "x"})),
        ("terminal", "execute", json!({"command": "true"})),
        ("process", "execute", json!({"action": "list"})),
        ("todo", "think", json!({"items": []})),
        ("session_search", "search", json!({"query": "x"})),
        ("web_fetch", "fetch", json!({"url": "http://127.0.0.1:9/"})),
        ("ask_user", "other", json!({"question": "which?"})),
        ("of_no_kind", "other", json!({"deep": {"er": [1, null]}})),
    ];
    let made: Vec<(&str, Value)> = inputs.iter().map(|(name, _, input)| (*name, input.clone())).collect();
    let home = home(&[calls(&made), says("done")]);
    write(&home, "a.txt", "alpha\n");
    let client = turn(&home);
    for (call, (name, kind, input)) in announced(&client, 0).iter().zip(&inputs) {
        assert_eq!(call["name"], *name);
        assert_eq!(
            call.get("kind").map_or("other", |kind| kind.as_str().unwrap()),
            *kind,
            "{call}"
        );
        assert_eq!(call["rawInput"], *input);
        let title = call["title"].as_str().unwrap();
        assert!(
            !title.is_empty() && title.len() < 200 && !title.contains('\n'),
            "{title}"
        );
    }
    let (mut client, session) = Client::with_session(&Home::new());
    let from = client.log.len();
    client.prompt(&session, "/tools");
    let offered: BTreeSet<String> = client
        .said(from)
        .lines()
        .map(|line| line.split('`').nth(1).unwrap().to_owned())
        .collect();
    let tested: BTreeSet<String> = inputs
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .filter(|name| name != "of_no_kind")
        .collect();
    assert_eq!(offered, tested, "a tool is missing in this table");
}

#[test]
fn locations_are_absolute_and_say_the_line() {
    let home = home(&[
        calls(&[
            ("read_file", json!({"path": "sub/../a.txt", "offset": 3})),
            ("write_file", json!({"path": "sub/new.txt", "content": "x"})),
            ("search_files", json!({"pattern": "x", "path": "sub"})),
        ]),
        says("done"),
    ]);
    std::fs::create_dir(home.workspace().join("sub")).unwrap();
    write(&home, "a.txt", "1\n2\n3\n4\n");
    let client = turn(&home);
    let located = |call: &Value| -> Value {
        let updates = client.updates(0);
        let with = updates
            .iter()
            .find(|update| update["toolCallId"] == call["toolCallId"] && update["locations"].is_array());
        with.map_or(Value::Null, |update| update["locations"].clone())
    };
    let places: Vec<Value> = announced(&client, 0).iter().map(located).collect();
    let path = |name: &str| home.workspace().join(name).display().to_string();
    assert_eq!(places[0], json!([{"path": path("a.txt"), "line": 3}]));
    assert_eq!(places[1][0]["path"], path("sub/new.txt"));
    assert_eq!(places[2][0]["path"], path("sub"));
}

#[test]
fn an_edit_that_needs_no_question_shows_its_diff_before_it_is_made() {
    let home = home(&[
        calls(&[(
            "patch",
            json!({"path": "a.txt", "old_string": "alpha", "new_string": "beta"}),
        )]),
        says("done"),
    ]);
    write(&home, "a.txt", "alpha\n");
    let (mut client, session) = Client::with_session(&home);
    set_mode(&mut client, &session, "accept_edits");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(questions(&client, 0).len(), 0);
    let updates = client.updates(0);
    let shown = updates.iter().position(|update| !diffs(update).is_empty()).unwrap();
    let ended = updates
        .iter()
        .position(|update| update["status"] == "completed")
        .unwrap();
    assert!(shown < ended);
    let diff = diffs(updates[shown])[0];
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("alpha\n"), &json!("beta\n"))
    );
}

#[test]
fn a_to_do_list_is_a_plan_and_a_broken_one_is_none() {
    let item = |id: &str, status: &str| json!({"id": id, "content": format!("step {id}"), "status": status});
    let all = json!([
        item("1", "completed"),
        item("2", "in_progress"),
        item("3", "pending"),
        item("4", "cancelled")
    ]);
    let broken = json!({"steps": [{"call": {"name": "todo", "arguments": "{\"items\": [{\"id\""}}]});
    let home = home(&[
        calls(&[("todo", json!({"items": all}))]),
        broken,
        calls(&[("todo", json!({"items": [item("1", "no such state")]}))]),
        says("done"),
    ]);
    let client = turn(&home);
    let updates = client.updates(0);
    let plans: Vec<&&Value> = updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "plan")
        .collect();
    assert_eq!(plans.len(), 1);
    let entries = plans[0]["entries"].as_array().unwrap();
    let states: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| (entry["content"].as_str().unwrap(), entry["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("step 1", "completed"),
            ("step 2", "in_progress"),
            ("step 3", "pending")
        ]
    );
    let statuses: Vec<Value> = ends(&client, 0).iter().map(|end| end["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "failed", "failed"]);
}
