//! Text and calls: what the client sees, what happens on disk, and what the model is told of it.

use std::fs;

use serde_json::{Value, json};
use talaria_tests::mock::Reply;

use crate::{Stage, check_paired, last_of, roles};

fn with_status<'a>(updates: &[&'a Value], status: &str) -> Vec<&'a Value> {
    updates
        .iter()
        .filter(|update| update["status"] == status)
        .copied()
        .collect()
}

#[test]
fn text_streams_as_it_comes() {
    let reply = Reply::text("Grüße, 世界!").byte_by_byte();
    let mut stage = Stage::new(vec![reply, Reply::text("Again.")]);
    assert_eq!(stage.prompt("greet"), "end_turn");
    assert_eq!(stage.client.said(0), "Grüße, 世界!");
    assert_eq!(stage.prompt("again"), "end_turn");
    let asked = stage.last_request();
    assert_eq!(roles(&asked), "suau");
    assert_eq!(last_of(&asked, "assistant"), "Grüße, 世界!");
}

#[test]
fn an_edit_shows_its_diff_asks_and_is_made() {
    let read = Reply::calls(&[("r", "read_file", json!({"path": "a.txt"}))]);
    let arguments = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    let edit = Reply::calls(&[("e", "patch", arguments)]);
    let mut stage = Stage::new(vec![read, edit, Reply::text("Done.")]);
    let path = stage.home.workspace().join("a.txt");
    fs::write(&path, "one\ntwo\n").unwrap();
    assert_eq!(stage.prompt("make two 2"), "end_turn");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n2\n");
    let questions: Vec<&Value> = stage
        .client
        .log
        .iter()
        .filter(|message| message["method"] == "session/request_permission")
        .collect();
    assert_eq!(questions.len(), 1);
    let diff = &questions[0]["params"]["toolCall"]["content"][0];
    let shown = (&diff["type"], &diff["oldText"], &diff["newText"]);
    assert_eq!(shown, (&json!("diff"), &json!("one\ntwo\n"), &json!("one\n2\n")));
    let requests = stage.mock.requests();
    requests.iter().for_each(check_paired);
    assert!(
        last_of(&requests[1], "tool").contains("two"),
        "{}",
        last_of(&requests[1], "tool")
    );
    assert_eq!(roles(&requests[2]), "suatat");
}

#[test]
fn a_refused_edit_is_told_to_the_model_and_changes_nothing() {
    let write = Reply::calls(&[("w", "write_file", json!({"path": "a.txt", "content": "new"}))]);
    let mut stage = Stage::new(vec![write, Reply::text("As you wish.")]);
    stage.client.permission = Some("reject_once");
    assert_eq!(stage.prompt("write"), "end_turn");
    assert!(!stage.home.workspace().join("a.txt").exists());
    let asked = stage.last_request();
    check_paired(&asked);
    let told = last_of(&asked, "tool");
    assert!(
        told.contains("denied") || told.contains("refused") || told.contains("rejected"),
        "{told}"
    );
    assert!(told.contains("user"), "{told}");
    assert_eq!(stage.client.said(0), "As you wish.");
    let updates = stage.client.updates(0);
    assert_eq!(with_status(&updates, "failed").len(), 1);
    assert!(with_status(&updates, "completed").is_empty());
}

#[test]
fn a_command_runs_and_the_model_gets_output_and_exit_code() {
    let run = Reply::calls(&[("c", "terminal", json!({"command": "echo from-$((6*7)); exit 3"}))]);
    let mut stage = Stage::new(vec![run, Reply::text("It failed with 3.")]);
    assert_eq!(stage.prompt("run it"), "end_turn");
    let asked = stage.last_request();
    let told = last_of(&asked, "tool");
    assert!(told.contains("from-42") && told.contains('3'), "{told}");
    let updates = stage.client.updates(0);
    assert_eq!(with_status(&updates, "failed")[0]["rawOutput"]["exitCode"], 3);
}

#[test]
fn calls_of_one_reply_are_all_answered_in_the_models_order() {
    let calls = Reply::calls(&[
        ("1", "write_file", json!({"path": "b.txt", "content": "beta\n"})),
        ("2", "read_file", json!({"path": "b.txt"})),
        ("3", "read_file", json!({"path": "missing.txt"})),
        ("4", "no_such_tool", json!({})),
        ("5", "terminal", json!({"command": "cat b.txt"})),
    ]);
    let mut stage = Stage::new(vec![calls, Reply::text("All done.")]);
    assert_eq!(stage.prompt("go"), "end_turn");
    let asked = stage.last_request();
    check_paired(&asked);
    let results: Vec<(&str, &str)> = asked
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let text = |key: &str| message[key].as_str().unwrap();
            (text("tool_call_id"), text("content"))
        })
        .collect();
    let ids: Vec<&str> = results.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    assert!(
        results[1].1.contains("beta") && results[4].1.contains("beta"),
        "{results:#?}"
    );
    assert!(results[3].1.contains("no_such_tool"), "{results:#?}");
    let updates = stage.client.updates(0);
    assert_eq!(with_status(&updates, "completed").len(), 3);
    assert_eq!(with_status(&updates, "failed").len(), 2);
}

#[test]
fn a_second_prompt_waits_and_the_model_sees_both_turns() {
    let first = Reply::text("first answer").in_pieces(vec![20]);
    let mut stage = Stage::new(vec![first, Reply::text("second answer")]);
    let one = stage.client.begin_prompt(&stage.session, "one");
    let two = stage.client.begin_prompt(&stage.session, "two");
    assert_eq!(stage.client.stop_reason(one), "end_turn");
    assert_eq!(stage.client.said(0), "first answer");
    assert_eq!(stage.client.stop_reason(two), "end_turn");
    let asked = stage.last_request();
    assert_eq!(roles(&asked), "suau");
    assert_eq!(
        (last_of(&asked, "assistant"), last_of(&asked, "user")),
        ("first answer", "two")
    );
}

#[test]
fn arguments_that_are_no_json_are_told_to_the_model() {
    let function = json!({"name": "read_file", "arguments": "{\"path\": \"a.t"});
    let call = json!({"index": 0, "id": "x", "type": "function", "function": function});
    let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let cut = Reply::sse(format!("data: {chunk}\n\ndata: [DONE]\n\n"));
    let mut stage = Stage::new(vec![cut, Reply::text("Sorry.")]);
    assert_eq!(stage.prompt("read"), "end_turn");
    let asked = stage.last_request();
    check_paired(&asked);
    assert!(last_of(&asked, "tool").contains("JSON"), "{}", last_of(&asked, "tool"));
    let arguments = &asked.messages()[2]["tool_calls"][0]["function"]["arguments"];
    assert!(
        serde_json::from_str::<Value>(arguments.as_str().unwrap()).is_ok(),
        "{arguments}"
    );
}

#[test]
fn a_first_request_is_lean() {
    let mut stage = Stage::new(vec![Reply::text("hello")]);
    assert_eq!(stage.prompt("hi"), "end_turn");
    let asked = stage.last_request();
    let system = asked.messages()[0]["content"].as_str().unwrap().len();
    let tools = asked.body["tools"].to_string().len();
    assert!(
        system + tools <= 8_000,
        "{system} bytes of system prompt and {tools} of tools"
    );
}

#[test]
fn a_name_without_an_end_does_not_go_back_whole() {
    let name = "n".repeat(200_000);
    let replies = vec![Reply::calls(&[("a", &name, json!({}))]), Reply::text("Sorry.")];
    let mut stage = Stage::new(replies);
    assert_eq!(stage.prompt("go"), "end_turn");
    let asked = stage.last_request();
    assert!(
        last_of(&asked, "tool").starts_with("There is no tool `nnn"),
        "{}",
        asked.raw
    );
    assert!(asked.raw.len() < 50_000, "{}", asked.raw.len());
}
