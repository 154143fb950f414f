//! Questions of the model to the user: as a form where the editor has them, else as a text with which the turn ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{self, Client, Home};
use talaria_tests::editor::{Editor, capabilities};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

use crate::play::{self, calls, conversation, ends, says};

const FORM: &str = "elicitation/create";

fn ask() -> (&'static str, Value) {
    (
        "ask_user",
        json!({"question": "Which one?", "choices": ["red", "blue"]}),
    )
}

fn open(home: &Home, form: Option<Value>) -> (Client, String) {
    let mut client = Client::initialized(home, capabilities());
    client.editor = Some(Editor::new().with(|editor| editor.form = form));
    let session = client.new_session(&home.workspace());
    (client, session)
}

fn told(client: &Client) -> String {
    ends(client, 0)[0]["rawOutput"]["output"].as_str().unwrap().to_owned()
}

#[test]
fn a_form_has_each_way_out_told_in_its_own_words() {
    for (result, expect) in [
        (
            json!({"action": "accept", "content": {"choice": "red"}}),
            "The user chose: red",
        ),
        (
            json!({"action": "accept", "content": {"answer": "green"}}),
            "The user answered: green",
        ),
        (
            json!({"action": "accept", "content": {"choice": "red", "answer": "dark"}}),
            "The user chose: red\nand wrote: dark",
        ),
        (
            json!({"action": "accept", "content": {}}),
            "without an answer: decide yourself",
        ),
        (json!({"action": "decline"}), "declined to answer"),
        (json!({"action": "cancel"}), "closed the question"),
    ] {
        let home = play::home(&[calls(&[ask()]), says("done")]);
        let (mut client, session) = open(&home, Some(result.clone()));
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        assert!(told(&client).contains(expect), "{result}: {}", told(&client));
        assert_eq!(client.said(0), "done");
        let form = &client.asked_for(0, FORM)[0]["params"];
        assert_eq!(
            (&form["mode"], &form["message"]),
            (&json!("form"), &json!("Which one?"))
        );
        assert_eq!(
            form["requestedSchema"]["properties"]["choice"]["enum"],
            json!(["red", "blue"])
        );
    }
}

#[test]
fn without_forms_the_turn_ends_with_the_question_and_the_next_prompt_answers() {
    let (name, input) = ask();
    let mock = Mock::serve(vec![
        Reply::calls(&[("call-1", name, input)]),
        Reply::text("blue it is"),
    ]);
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "paint it"), "end_turn");
    assert_eq!(
        client.said(0),
        "Which one?\n\n1. red\n2. blue\n\nAnswer with a number or in your own words."
    );
    assert_eq!(client.asked_for(0, FORM).len(), 0);
    assert_eq!(client.prompt(&session, "2"), "end_turn");
    let roles: Vec<String> = conversation(&mock.requests()[1])
        .into_iter()
        .map(|(role, _)| role)
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn a_form_that_the_editor_refuses_becomes_a_text() {
    let home = play::home(&[calls(&[ask()]), says("never said")]);
    let (mut client, session) = open(&home, None);
    let id = client.begin_prompt(&session, "go");
    let form = client.wait_for(|message| message["method"] == FORM);
    client.send(&json!({"jsonrpc": "2.0", "id": form["id"], "error": {"code": -32601, "message": "no"}}));
    assert_eq!(client.stop_reason(id), "end_turn");
    assert!(client.said(0).starts_with("Which one?"));
}

#[test]
fn a_cancel_takes_the_form_back() {
    let home = play::home(&[calls(&[ask()]), says("done")]);
    let (mut client, session) = open(&home, None);
    let id = client.begin_prompt(&session, "go");
    let form = client.wait_for(|message| message["method"] == FORM);
    let begin = Instant::now();
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(id), "cancelled");
    assert!(begin.elapsed() < Duration::from_secs(1));
    let is_taken_back =
        |message: &Value| message["method"] == "$/cancel_request" && message["params"]["requestId"] == form["id"];
    assert!(client.log.iter().any(is_taken_back));
    let late = json!({"action": "accept", "content": {"choice": "red"}});
    client.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": late}));
    assert_eq!(client.prompt(&session, "go on"), "end_turn");
    assert!(client.close().success());
}

#[test]
fn a_client_that_leaves_before_it_answers_is_not_waited_for() {
    let home = play::home(&[calls(&[ask()]), says("done")]);
    let (mut client, session) = open(&home, None);
    client.begin_prompt(&session, "go");
    client.wait_for(|message| message["method"] == FORM);
    let begin = Instant::now();
    assert!(client.close().success());
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_question_that_nobody_answers_in_time_is_told_as_such() {
    let home = play::home(&[calls(&[ask()]), says("done")]);
    home.add_config("[approvals]\ntimeout_s = 1\n");
    let (mut client, session) = open(&home, None);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert!(told(&client).contains("nobody answered in time"), "{}", told(&client));
    assert_eq!(client.said(0), "done");
}

#[test]
fn secrets_and_riddles_are_not_asked_for() {
    let many: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for (input, expect) in [
        (
            json!({"question": "Please enter your API key"}),
            "no place for passwords",
        ),
        (
            json!({"question": "What is the database password?"}),
            "no place for passwords",
        ),
        (json!({"question": " "}), "is empty"),
        (json!({"question": "Which?", "choices": many}), "more than 12"),
        (json!({"question": "x".repeat(5000)}), "too long"),
    ] {
        let home = play::home(&[calls(&[("ask_user", input)]), says("done")]);
        let (mut client, session) = open(&home, None);
        client.prompt(&session, "go");
        assert_eq!(client.asked_for(0, FORM).len(), 0);
        assert!(told(&client).contains(expect), "{}", told(&client));
    }
    let about = json!({"question": "Should the password field be hidden, or which API key header do you prefer?"});
    let home = play::home(&[calls(&[("ask_user", about)]), says("done")]);
    let (mut client, session) = open(&home, Some(json!({"action": "decline"})));
    client.prompt(&session, "go");
    assert_eq!(client.asked_for(0, FORM).len(), 1);
}

#[test]
fn a_run_in_a_terminal_ends_with_the_question() {
    let home = play::home(&[calls(&[ask()]), says("never said")]);
    let (status, stdout, _) = client::run(home.command(&["run", "--quiet", "go"]), "");
    assert!(status.success());
    assert!(stdout.contains("Which one?") && stdout.contains("2. blue"), "{stdout}");
}

#[test]
fn no_client_is_asked_for_what_it_does_not_offer() {
    let tools = || {
        calls(&[
            ("write_file", json!({"path": "b.txt", "content": "b\n"})),
            ("read_file", json!({"path": "b.txt"})),
            ("terminal", json!({"command": "echo a"})),
            ask(),
        ])
    };
    for number in 0..16 {
        let has = |bit: u32| number >> bit & 1 == 1;
        let capabilities = json!({
            "fs": {"readTextFile": has(0), "writeTextFile": has(1)},
            "terminal": has(2),
            "elicitation": if has(3) { json!({"form": {}}) } else { json!({"url": {}}) },
        });
        let home = play::home(&[tools(), says("done")]);
        home.add_config("[terminal]\nbackend = \"client\"\n");
        let mut client = Client::initialized(&home, capabilities.clone());
        client.editor = Some(Editor::new().with(|editor| editor.form = Some(json!({"action": "decline"}))));
        let session = client.new_session(&home.workspace());
        client.prompt(&session, "go");
        let offered = [
            ("fs/read_text_file", has(0)),
            ("fs/write_text_file", has(1)),
            ("terminal/create", has(2)),
            ("terminal/release", has(2)),
            (FORM, has(3)),
        ];
        for (method, offered) in offered {
            let asked = !client.asked_for(0, method).is_empty();
            assert_eq!(asked, offered, "{method} with {capabilities}");
        }
    }
}
