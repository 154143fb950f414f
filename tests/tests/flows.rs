//! The main flows, on the built binary and over its real pipes.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::process::is_alive;

fn status_of<'a>(updates: &[&'a Value], call: &str) -> Vec<&'a str> {
    let of_call = updates.iter().filter(|update| update["toolCallId"] == call);
    of_call.filter_map(|update| update["status"].as_str()).collect()
}

/// Each call that was announced has exactly one end, and it comes before the last message.
fn check_calls(client: &Client, from: usize) {
    let updates = client.updates(from);
    let announced = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call");
    for call in announced.filter_map(|update| update["toolCallId"].as_str()) {
        let ends = status_of(&updates, call)
            .into_iter()
            .filter(|status| ["completed", "failed"].contains(status));
        assert_eq!(ends.count(), 1, "{call}: {updates:#?}");
    }
}

fn contents(update: &Value) -> Vec<&Value> {
    update["content"]
        .as_array()
        .map(|items| items.iter().collect())
        .unwrap_or_default()
}

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

/// Cancels when the message that is meant has come; the prompt must end as cancelled and the next one work.
fn check_cancel(
    home: &Home,
    permission: Option<&'static str>,
    prompts: &[&str],
    is_meant: impl Fn(&Value) -> bool,
) -> Client {
    let (mut client, session) = Client::with_session(home);
    client.permission = permission;
    let from = client.log.len();
    let prompt = client.begin_prompt(&session, prompts[0]);
    client.wait_for(is_meant);
    let at = Instant::now();
    client.notify("session/cancel", json!({"sessionId": session}));
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert!(at.elapsed() < Duration::from_secs(2), "{:?}", at.elapsed());
    check_calls(&client, from);
    assert_eq!(client.prompt(&session, prompts[1]), "end_turn");
    client
}

fn is_update(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["params"]["update"]["sessionUpdate"] == kind
}

/// The process that a call's output names behind `started-`. The command itself has no number there.
fn started(message: &Value) -> Option<u32> {
    let update = &message["params"]["update"];
    if update["sessionUpdate"] != "tool_call_update" {
        return None;
    }
    let output = update["content"].to_string();
    let number = output.split("started-").nth(1)?;
    let end = number.find(|c: char| !c.is_ascii_digit())?;
    number[..end].parse().ok()
}

#[test]
fn cancel_while_a_command_runs_takes_its_processes_along() {
    let home = Home::new();
    let client = check_cancel(
        &home,
        Some("allow_once"),
        &["run sleep 611 & sleep 611 & echo started-$!; wait", "say pong"],
        |message| started(message).is_some(),
    );
    let pid = client.log.iter().find_map(started).unwrap();
    assert!(!is_alive(pid), "process {pid} is left");
}

#[test]
fn cancel_while_a_question_is_open_runs_nothing() {
    let home = Home::new();
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let mut client = check_cancel(&home, None, &["create a.txt with hello", "say pong"], is_question);
    let question = client.log.iter().find(|message| is_question(message)).cloned().unwrap();
    let withdrawn = client
        .log
        .iter()
        .any(|message| message["method"] == "$/cancel_request" && message["params"]["requestId"] == question["id"]);
    assert!(withdrawn, "the question is withdrawn");
    client.answer(&question, "allow_once");
    client.request("session/list", json!({})).unwrap();
    assert!(!home.workspace().join("a.txt").exists());
}

#[test]
fn cancel_while_waiting_for_the_model_says_nothing() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let from = client.log.len();
    let prompt = client.begin_prompt(&session, "go");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    assert_eq!(client.said(from), "");
    assert_eq!(client.prompt(&session, "/version"), "end_turn");
}

#[test]
fn cancel_in_mid_stream_keeps_what_was_said() {
    let script =
        json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}, {"steps": [{"text": "fine"}]}]});
    let home = Home::with_script(&script);
    let client = check_cancel(&home, None, &["go", "again"], is_update("agent_message_chunk"));
    assert_eq!(client.said(0), "so farfine");
}

#[test]
fn cancel_request_on_a_prompt_cancels_it() {
    let home = Home::with_script(&json!({"replies": [{"steps": [{"text": "so far"}, {"wait_cancel": true}]}]}));
    let (mut client, session) = Client::with_session(&home);
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for_update("agent_message_chunk");
    client.notify("$/cancel_request", json!({"requestId": prompt}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
}

#[test]
fn a_session_loads_after_a_kill_with_all_that_was_answered() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    std::fs::write(home.workspace().join("a.txt"), "alpha\n").unwrap();
    assert_eq!(client.prompt(&session, "read a.txt"), "end_turn");
    assert_eq!(client.prompt(&session, "create b.txt with beta"), "end_turn");
    assert_eq!(client.prompt(&session, "run exit 3"), "end_turn");
    let live: Vec<Value> = client.updates(0).into_iter().cloned().collect();
    client.kill();

    let mut client = Client::initialized(&home, json!({}));
    let from = client.log.len();
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    client.request("session/load", params).unwrap();
    let replayed = client.updates(from);
    let text = |updates: &[&Value], kind: &str| -> String {
        let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    };
    let live: Vec<&Value> = live.iter().collect();
    assert_eq!(
        text(&replayed, "agent_message_chunk"),
        text(&live, "agent_message_chunk")
    );
    assert_eq!(
        text(&replayed, "user_message_chunk"),
        "read a.txtcreate b.txt with betarun exit 3"
    );
    let calls = |updates: &[&Value]| -> Vec<(String, Vec<String>)> {
        let announced = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call");
        let ids = announced.map(|update| update["toolCallId"].as_str().unwrap().to_owned());
        ids.map(|id| {
            let last = status_of(updates, &id).last().map(|status| (*status).to_owned());
            (id, last.into_iter().collect())
        })
        .collect()
    };
    assert_eq!(calls(&replayed), calls(&live));
    assert!(
        replayed
            .iter()
            .any(|update| contents(update).iter().any(|item| item["type"] == "diff"))
    );
    check_calls(&client, from);
    let from = client.log.len();
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
    assert!(client.said(from).contains("pong"));
}

#[test]
fn a_kill_in_mid_turn_loses_nothing_that_was_stored() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert_eq!(client.prompt(&session, "say first"), "end_turn");
    client.begin_prompt(&session, "run echo started; sleep 612");
    client.wait_for(|message| message.to_string().contains("started\\n"));
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = client.log.len();
    client
        .request(
            "session/load",
            json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []}),
        )
        .unwrap();
    check_calls(&client, from);
    let said = client.said(from);
    assert!(
        said.contains("first") && said.contains("ended before this turn was finished"),
        "{said}"
    );
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

#[test]
fn resume_replays_nothing() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say first");
    assert!(client.close().success());
    let mut client = Client::initialized(&home, json!({}));
    let from = client.log.len();
    client
        .request("session/resume", json!({"sessionId": session, "cwd": home.workspace()}))
        .unwrap();
    assert_eq!(client.said(from), "");
    assert_eq!(client.prompt(&session, "say pong"), "end_turn");
}

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

#[test]
fn a_childs_output_never_reaches_the_protocol() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    // Every line that comes is parsed as JSON-RPC by the client.
    client.prompt(
        &session,
        "run echo out > /proc/self/fd/1; echo err >&2; cat; ls -l /proc/self/fd",
    );
    let text = serde_json::to_string(&client.log).unwrap();
    assert!(text.contains("out\\n") && text.contains("/dev/null"), "{text}");
    check_calls(&client, 0);
}

#[test]
fn the_end_of_stdin_ends_everything() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    client.begin_prompt(&session, "run echo $$-; sleep 613");
    let progress = client.wait_for(|message| {
        message["params"]["update"]["content"][0]["content"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("-\n"))
    });
    let text = progress["params"]["update"]["content"][0]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let pid: String = text.chars().filter(char::is_ascii_digit).collect();
    let at = Instant::now();
    assert!(client.close().success());
    assert!(at.elapsed() < Duration::from_secs(3), "{:?}", at.elapsed());
    assert!(!Path::new(&format!("/proc/{pid}")).exists() || !cfg!(target_os = "linux"));
}
