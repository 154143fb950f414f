//! What came of a tool call, as the user and the model see it.

use serde_json::{Value, json};
use talaria_tests::client::Home;
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

use crate::calls::{turn, write};
use crate::play::{announced, calls, conversation, diffs, ends, home, says, text_of};

#[test]
fn a_finished_call_shows_what_came_of_it() {
    let home = home(&[
        calls(&[
            ("terminal", json!({"command": "sleep 0.1; echo at the end"})),
            ("read_file", json!({"path": "a.txt"})),
            ("search_files", json!({"pattern": "needle"})),
            ("search_files", json!({"pattern": "needle", "output": "count"})),
            ("search_files", json!({"pattern": "no such thing"})),
            (
                "todo",
                json!({"items": [{"id": "1", "content": "one", "status": "pending"}]}),
            ),
            ("write_file", json!({"path": "b.txt", "content": "new\n"})),
        ]),
        says("done"),
    ]);
    write(&home, "a.txt", "alpha\nneedle\nneedle again\n");
    let client = turn(&home);
    let ends = ends(&client, 0);
    let expect = ["at the end", "alpha", "a.txt", "a.txt", "", "one"];
    for (end, expect) in ends.iter().zip(expect) {
        assert_eq!(end["status"], "completed", "{end}");
        let text = text_of(end);
        assert!(!text.trim().is_empty() && text.contains(expect), "{expect}: {end}");
    }
    assert!(text_of(&ends[2]).contains("needle again"), "{}", ends[2]);
    assert!(
        text_of(&ends[3]).contains('2') && !text_of(&ends[3]).contains("again"),
        "{}",
        ends[3]
    );
    // The diff stays: an update without content leaves the one before.
    let edit = &announced(&client, 0)[6]["toolCallId"];
    let updates = client.updates(0);
    let last = updates
        .iter()
        .rfind(|update| update["toolCallId"] == *edit && update["content"].is_array());
    assert_eq!(diffs(last.unwrap()).len(), 1);
    assert_eq!(ends[6]["status"], "completed");
}

#[test]
fn a_failure_is_failed_and_says_why() {
    let home = home(&[
        calls(&[
            (
                "patch",
                json!({"path": "a.txt", "old_string": "not there", "new_string": "x"}),
            ),
            ("read_file", json!({"path": "missing.txt"})),
            ("terminal", json!({"command": "echo out; exit 3"})),
            ("no_such_tool", json!({"a": 1})),
        ]),
        says("done"),
    ]);
    write(&home, "a.txt", "alpha\n");
    let client = turn(&home);
    let ends = ends(&client, 0);
    for (end, expect) in ends.iter().zip(["not there", "missing.txt", "out", "no_such_tool"]) {
        assert_eq!(end["status"], "failed", "{end}");
        assert!(text_of(end).contains(expect), "{expect}: {end}");
        assert!(!end["rawOutput"].is_null(), "{end}");
    }
    assert_eq!(ends[2]["rawOutput"]["exitCode"], 3);
    assert!(text_of(&ends[2]).contains("exit code: 3"), "{}", ends[2]);
    // An unknown tool is shown with all that is known of it.
    let unknown = &announced(&client, 0)[3];
    assert_eq!(
        (&unknown["rawInput"], &unknown["title"]),
        (&json!({"a": 1}), &json!("no_such_tool"))
    );
    assert!(unknown.get("kind").is_none_or(|kind| kind == "other"), "{unknown}");
}

#[test]
fn output_that_speaks_of_errors_is_no_failure() {
    let home = home(&[
        calls(&[
            (
                "terminal",
                json!({"command": "echo 'error: failed'; echo 'Error: traceback' >&2"}),
            ),
            ("read_file", json!({"path": "error.log"})),
            ("search_files", json!({"pattern": "error"})),
        ]),
        says("done"),
    ]);
    write(&home, "error.log", "{\"error\": \"failed\"}\nerror: exit code 1\n");
    let client = turn(&home);
    for end in ends(&client, 0) {
        assert_eq!(end["status"], "completed", "{end}");
    }
}

#[test]
fn results_go_back_to_the_model_with_their_calls() {
    let call = |id: &'static str, path: &str| (id, "read_file", json!({"path": path}));
    let first = [call("x", "a.txt"), call("y", "b.txt"), ("z", "no_such_tool", json!({}))];
    let mut replies = vec![Reply::calls(&first), Reply::text("done")].into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap());
    let home = Home::with_config(&config_of(&mock, ""));
    write(&home, "a.txt", "alpha\n");
    write(&home, "b.txt", "beta\n");
    turn(&home);
    let request = mock.requests().pop().unwrap();
    let results: Vec<&Value> = request
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .collect();
    for (result, (id, text)) in results
        .iter()
        .zip([("x", "alpha"), ("y", "beta"), ("z", "no_such_tool")])
    {
        assert_eq!(result["tool_call_id"], id);
        assert!(result["content"].as_str().unwrap().contains(text), "{result}");
    }
    assert_eq!(results.len(), 3);
}

#[test]
fn arguments_of_a_wrong_type_are_a_failed_call() {
    let names = [
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "terminal",
        "process",
        "todo",
    ];
    let wrong = [
        json!(null),
        json!([]),
        json!("text"),
        json!(7),
        json!({"path": 5, "pattern": [], "command": {}, "action": 1, "items": "x", "content": false}),
        json!({"path": {"a": [null]}, "old_string": 1, "new_string": 2, "offset": "x", "limit": -1}),
    ];
    let mut replies: Vec<Value> = Vec::new();
    for input in &wrong {
        let made: Vec<(&str, Value)> = names.iter().map(|name| (*name, input.clone())).collect();
        replies.push(calls(&made));
    }
    replies.push(says("done"));
    let home = home(&replies);
    let client = turn(&home);
    let ends = ends(&client, 0);
    assert_eq!(ends.len(), names.len() * wrong.len());
    for (call, end) in announced(&client, 0).iter().zip(&ends) {
        // Without items the list is read, and no arguments at all are none.
        let reads_the_list = call["name"] == "todo" && end["status"] == "completed";
        assert!(end["status"] == "failed" || reads_the_list, "{call} {end}");
        assert!(!text_of(end).is_empty(), "{end}");
    }
}

#[test]
fn a_call_that_failed_is_told_to_the_model_as_it_is_to_the_user() {
    let mut replies = vec![
        Reply::calls(&[("x", "terminal", json!({"command": "echo out; exit 3"}))]),
        Reply::text("done"),
    ]
    .into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap());
    let home = Home::with_config(&config_of(&mock, ""));
    turn(&home);
    let sent = conversation(&mock.requests()[1]);
    let result = &sent.last().unwrap().1;
    assert!(result.contains("out") && result.contains('3'), "{result}");
}
