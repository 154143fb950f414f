//! A file that is edited, and a command that runs.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::{check_calls, contents};

#[test]
fn an_edit_shows_its_diff_asks_and_is_made() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    std::fs::write(home.workspace().join("a.txt"), "one\ntwo\n").unwrap();
    assert_eq!(client.prompt(&session, "read a.txt"), "end_turn");
    let from = client.log.len();
    assert_eq!(
        client.prompt(&session, "replace \"two\" with \"2\" in a.txt"),
        "end_turn"
    );
    assert_eq!(
        std::fs::read_to_string(home.workspace().join("a.txt")).unwrap(),
        "one\n2\n"
    );
    let asked: Vec<&Value> = client.log[from..]
        .iter()
        .filter(|message| message["method"] == "session/request_permission")
        .collect();
    assert_eq!(asked.len(), 1);
    let call = &asked[0]["params"]["toolCall"];
    let diff = &call["content"][0];
    let path = home.workspace().join("a.txt");
    assert_eq!(diff["type"], "diff");
    assert_eq!(diff["path"], path.to_str().unwrap());
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("one\ntwo\n"), &json!("one\n2\n"))
    );
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["locations"][0]["path"], path.to_str().unwrap());
    assert_eq!(call["rawInput"]["path"], "a.txt");
    check_calls(&client, from);
}

#[test]
fn a_command_shows_its_output_while_it_runs() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let fifo = home.workspace().join("go");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let prompt = client.begin_prompt(&session, "run echo first; cat go");
    let shows = |text: &'static str| {
        move |message: &Value| {
            let update = &message["params"]["update"];
            update["sessionUpdate"] == "tool_call_update"
                && contents(update).iter().any(|item| {
                    item["content"]["text"]
                        .as_str()
                        .is_some_and(|shown| shown.contains(text))
                })
        }
    };
    let live = client.wait_for(shows("first\n"));
    assert_ne!(live["params"]["update"]["status"], "completed");
    std::fs::write(&fifo, "second\n").unwrap();
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let updates = client.updates(0);
    let end = updates.iter().rfind(|update| update["status"] == "completed").unwrap();
    let text = end["content"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("first\nsecond\n"), "{text}");
    assert_eq!(end["rawOutput"]["exitCode"], 0);
    check_calls(&client, 0);
}
