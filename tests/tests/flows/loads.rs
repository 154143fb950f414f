//! A session in a new process: loaded after a kill, and resumed.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::{check_calls, contents, status_of};

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
