//! When a server's tool is asked about, and what a standing permission covers.

use serde_json::{Value, json};
use talaria_tests::client::{Client, run};
use talaria_tests::mock::Reply;

use crate::play::{Play, begin, call, call_and_end, server};

fn questions(client: &Client, from: usize) -> Vec<&Value> {
    let messages = client.log[from..].iter();
    messages
        .filter(|message| message["method"] == "session/request_permission")
        .collect()
}

/// How often a call of this tool is asked about in a mode.
fn asked(mode: &str, tool: &str) -> usize {
    let mut play = Play::new(
        call_and_end(&format!("mcp__t__{tool}"), json!({})),
        json!([server("t", &[])]),
    );
    play.command(&format!("/mode {mode}"));
    let from = play.prompt();
    assert_eq!(play.end_of_call(from)["status"], "completed");
    questions(&play.client, from).len()
}

#[test]
fn a_tool_is_asked_about_in_every_mode_but_one() {
    for mode in ["plan", "default", "accept_edits"] {
        assert_eq!(asked(mode, "echo"), 1, "{mode}");
    }
    assert_eq!(asked("dont_ask", "echo"), 0);
}

#[test]
fn that_it_only_reads_is_a_servers_word_and_changes_no_question() {
    assert_eq!(asked("default", "read"), 1);
}

#[test]
fn the_question_shows_all_that_is_passed_on_and_hides_nothing() {
    let long = "x".repeat(20_000);
    let arguments = json!({"text": format!("a\u{202e}b {long} end")});
    let mut play = Play::new(call_and_end("mcp__t__echo", arguments), json!([server("t", &[])]));
    let from = play.prompt();
    let question = questions(&play.client, from)[0];
    let call = &question["params"]["toolCall"];
    assert_eq!(call["title"], "t: echo");
    let shown = call["content"].to_string();
    assert!(shown.contains("Calls echo of the MCP server t with:"), "{shown}");
    assert!(shown.contains("end") && shown.contains(&long), "all of it is there");
    assert!(
        !shown.contains('\u{202e}') && shown.contains("u{202e}"),
        "what hides is written out"
    );
    let names: Vec<&str> = question["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names[1],
        "Always allow the tool echo of the MCP server t as it is now, until revoked"
    );
}

#[test]
fn a_refused_call_reaches_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note.txt").display().to_string();
    let mut play = Play::new(
        call_and_end("mcp__t__echo", json!({})),
        json!([server("t", &["--note", &note])]),
    );
    play.client.permission = Some("reject_once");
    play.prompt();
    assert!(play.told(1).contains("The user refused this call"));
    assert!(!std::fs::read_to_string(&note).unwrap().contains("tools/call"));
}

#[test]
fn a_standing_permission_is_for_this_tool_of_this_server_as_it_is() {
    let echo = || call_and_end("mcp__t__echo", json!({}));
    let mut replies: Vec<Reply> = echo();
    replies.extend(echo());
    replies.extend(call_and_end("mcp__t__fail", json!({})));
    replies.extend(echo());
    replies.extend(call_and_end("mcp__t__alter", json!({})));
    replies.extend(echo());
    replies.extend(echo());
    let mut play = Play::new(replies, json!([server("t", &[])]));
    play.client.permission = Some("allow_always");
    let asks = |play: &mut Play| {
        let from = play.prompt();
        questions(&play.client, from).len()
    };
    assert_eq!(asks(&mut play), 1, "at first");
    assert_eq!(asks(&mut play), 0, "it is granted");
    assert_eq!(asks(&mut play), 1, "another tool");
    // The same words in another session, and the same server under another name would be no other.
    play.session = begin(&mut play.client, &play.home, json!([server("t", &[])]));
    assert_eq!(asks(&mut play), 0, "in another session");
    assert_eq!(asks(&mut play), 1, "the one that alters another");
    assert_eq!(asks(&mut play), 1, "it describes itself in other words now");
    play.session = begin(&mut play.client, &play.home, json!([server("t", &["--odd"])]));
    assert_eq!(asks(&mut play), 1, "another server");
    let (_, listed, _) = run(play.home.command(&["permissions", "list", "--json"]), "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let of_echo = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|grant| grant["tool"] == "echo");
    assert_eq!(of_echo.count(), 3, "{listed}");
    assert_eq!(listed[0]["kind"], "mcp_tool");
    assert_eq!(listed[0]["server"], "t");
}

#[test]
fn a_revoked_permission_is_asked_about_again() {
    let mut replies = call_and_end("mcp__t__echo", json!({}));
    replies.extend(call_and_end("mcp__t__echo", json!({})));
    let mut play = Play::new(replies, json!([server("t", &[])]));
    play.client.permission = Some("allow_always");
    play.prompt();
    let (status, _, stderr) = run(play.home.command(&["permissions", "revoke", "1"]), "");
    assert!(
        status.success() && stderr.contains("MCP tool \"echo\" of \"t\""),
        "{stderr}"
    );
    let from = play.prompt();
    assert_eq!(questions(&play.client, from).len(), 1);
}

#[test]
fn a_client_that_can_do_nothing_else_is_asked_and_the_call_is_made() {
    let mut play = Play::new(
        vec![call("mcp__t__echo", json!({"text": "hi"})), Reply::text("done")],
        json!([]),
    );
    let mut client = Client::initialized(&play.home, json!({}));
    let session = begin(&mut client, &play.home, json!([server("t", &[])]));
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    play.client = client;
    assert!(play.told(1).contains("hi"));
}
