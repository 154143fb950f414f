//! What comes of a call of a server's tool.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::mock::Reply;
use talaria_tests::start::wait_until;

use crate::play::{PROGRAM, Play, begin, call, call_and_end, ends_unread, note, noted, pids, server, unread};

fn one(tool: &str, arguments: Value) -> Play {
    Play::new(
        call_and_end(&format!("mcp__t__{tool}"), arguments),
        json!([server("t", &[])]),
    )
}

#[test]
fn content_of_all_sorts_reaches_the_model_and_the_editor() {
    let mut play = one("media", json!({}));
    let from = play.prompt();
    let told = play.mock.requests()[1].raw.clone();
    for part in ["one picture", "what is in it", "test:///b", "answer", "image/png"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let end = play.end_of_call(from);
    assert_eq!(end["status"], "completed");
    let shown = end["content"].to_string();
    assert!(shown.contains("one picture") && shown.contains("\"image\""), "{shown}");
    assert_eq!(end["rawOutput"]["structuredContent"]["answer"], 42);
}

#[test]
fn json_is_set_out_for_people_and_the_model_gets_it_as_it_is() {
    let said = r#"{"answer":1e999,"list":[true]}"#;
    let mut play = one("echo", json!({ "text": said }));
    let from = play.prompt();
    let shown = "```json\n{\n  \"answer\": 1e999,\n  \"list\": [\n    true\n  ]\n}\n```";
    assert_eq!(play.end_of_call(from)["content"][0]["content"]["text"], shown);
    let told = play.mock.requests()[1].messages().last().unwrap().clone();
    assert_eq!(told["content"], said);
}

#[test]
fn an_error_of_the_tool_is_a_failed_call_with_its_reason() {
    for (tool, reason) in [("fail", "it did not work"), ("refuse", "not like this (error -32602)")] {
        let mut play = one(tool, json!({}));
        let from = play.prompt();
        let end = play.end_of_call(from);
        assert_eq!(end["status"], "failed");
        assert!(end["content"].to_string().contains(reason), "{end}");
        assert!(play.told(1).contains(reason));
    }
}

#[test]
fn a_very_long_result_loses_its_middle() {
    let mut play = one("big", json!({}));
    play.prompt();
    let told = play.told(1);
    assert!(told.contains("begin") && told.contains("bytes left out") && told.len() < 200_000);
}

#[test]
fn an_answer_that_nobody_reads_ends_its_call_at_once() {
    let play = Play::new(unread("mcp__t"), json!([server("t", &["--vast"])]));
    ends_unread(play, "17825865 bytes");
}

#[test]
fn a_call_that_a_server_is_silent_about_is_shown_to_go_on() {
    let more = format!("[mcp_servers.t]\ncommand = {PROGRAM:?}\ntimeout_s = 6\n");
    let mut play = Play::configured(call_and_end("mcp__t__hang", json!({})), &more, json!([]));
    let from = play.prompt();
    let shows_life = |update: &&Value| update["content"][0]["content"]["text"] == "… 4 s so far";
    assert!(play.client.updates(from).iter().any(shows_life));
    assert_eq!(play.end_of_call(from)["status"], "failed");
    assert!(!play.told(1).contains("so far"), "{}", play.told(1));
}

#[test]
fn progress_is_shown_and_keeps_a_call_alive() {
    let more = format!("[mcp_servers.t]\ncommand = {PROGRAM:?}\ntimeout_s = 1\n");
    let mut play = Play::configured(call_and_end("mcp__t__steps", json!({})), &more, json!([]));
    let from = play.prompt();
    assert!(play.told(1).contains("all steps done"), "{}", play.told(1));
    let updates = play.client.updates(from).into_iter();
    let shown: String = updates
        .filter(|update| update["status"] == "in_progress")
        .map(Value::to_string)
        .collect();
    assert!(shown.contains("1/5 step 1") && shown.contains("3/5 step 3"), "{shown}");
}

#[test]
fn a_call_that_is_not_answered_ends_and_the_server_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let more = format!(
        "[mcp_servers.t]\ncommand = {PROGRAM:?}\nargs = [\"--note\", {:?}]\ntimeout_s = 1\n",
        note.display().to_string()
    );
    let replies = vec![
        call("mcp__t__hang", json!({})),
        call("mcp__t__echo", json!({"text": "still here"})),
        Reply::text("done"),
    ];
    let mut play = Play::configured(replies, &more, json!([]));
    play.prompt();
    assert!(
        play.told(1).contains("gave no sign of life for 1 s"),
        "{}",
        play.told(1)
    );
    assert!(play.told(2).contains("still here"));
    wait_until("the server hears of the end", || {
        noted(&note).contains("notifications/cancelled")
    });
}

#[test]
fn a_cancel_is_passed_on_and_the_turn_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let servers = json!([server("t", &["--note", &note.display().to_string()])]);
    let mut replies = vec![call("mcp__t__hang", json!({}))];
    replies.extend(call_and_end("mcp__t__echo", json!({"text": "hi"})));
    let mut play = Play::new(replies, servers);
    play.command("/mode dont_ask");
    let id = play.client.begin_prompt(&play.session, "go");
    wait_until("the call is made", || noted(&note).contains("\"hang\""));
    let begun = Instant::now();
    play.client.notify("session/cancel", json!({"sessionId": play.session}));
    assert_eq!(play.client.stop_reason(id), "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    wait_until("the server hears of the end", || {
        noted(&note).contains("notifications/cancelled")
    });
    play.prompt();
    assert!(play.told(2).contains("hi"), "the session and the server go on");
}

#[test]
fn a_server_that_ends_is_told_and_started_again_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let die = || call("mcp__t__die", json!({}));
    let mut replies = vec![die(), Reply::text("done")];
    replies.extend(call_and_end("mcp__t__echo", json!({"text": "back"})));
    // Each of these starts it again, the last one in vain.
    replies.extend([die(), die(), die(), die(), Reply::text("done"), Reply::text("done")]);
    let mut play = Play::new(replies, json!([server("t", &["--note", &note.display().to_string()])]));
    let from = play.prompt();
    let end = play.end_of_call(from);
    assert_eq!(end["status"], "failed");
    let told = play.told(1);
    assert!(
        told.contains("has ended during the call") && told.contains("exit code: 7"),
        "{told}"
    );
    assert!(told.contains("these are my last words"), "{told}");
    let from = play.prompt();
    assert!(play.told(3).contains("back"));
    let notices = play.notices(from);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].starts_with("the MCP server `t` has ended: exit code: 7"),
        "{notices:?}"
    );
    assert_eq!(pids(&note, 2).len(), 2);
    assert_eq!(play.tools(0), play.tools(2), "its tools are the same");
    play.prompt();
    assert!(play.told(8).contains("it has ended 4 times"), "{}", play.told(8));
    assert_eq!(pids(&note, 4).len(), 4);
    play.prompt();
    assert_eq!(play.tools(9), [""; 0]);
}

#[test]
fn a_list_that_has_changed_holds_from_the_next_turn_on() {
    let mut replies = call_and_end("mcp__t__change", json!({}));
    replies.extend(call_and_end("mcp__t__fresh", json!({})));
    let mut play = Play::new(replies, json!([server("t", &[])]));
    play.prompt();
    play.prompt();
    let has_fresh = |request: usize| play.tools(request).contains(&"mcp__t__fresh".to_owned());
    assert_eq!([0, 1, 2, 3].map(has_fresh), [false, false, true, true]);
    assert!(play.told(3).contains("this was fresh"));
}

#[test]
fn a_changed_list_that_could_not_be_had_is_asked_for_again() {
    let mut replies = call_and_end("mcp__t__change", json!({}));
    replies.extend([Reply::text("two"), Reply::text("three")]);
    let mut play = Play::new(replies, json!([server("t", &["--shy"])]));
    play.prompt();
    let from = play.prompt();
    let told = play.notices(from).join("\n");
    assert!(told.contains("can't say which") && told.contains("not now"), "{told}");
    play.prompt();
    let has_fresh = |request: usize| play.tools(request).contains(&"mcp__t__fresh".to_owned());
    assert_eq!([2, 3].map(has_fresh), [false, true]);
}

/// Servers that all say that their tools have changed, of which some never say which they are.
fn all_change(mute: &[&str], others: &[&str], later: usize) -> Play {
    let mutes = mute.iter().map(|name| server(name, &["--mute"]));
    let servers: Vec<Value> = mutes.chain(others.iter().map(|name| server(name, &[]))).collect();
    let tools: Vec<String> = [mute, others]
        .concat()
        .iter()
        .map(|name| format!("mcp__{name}__change"))
        .collect();
    let calls: Vec<_> = tools
        .iter()
        .map(|tool| (tool.as_str(), tool.as_str(), json!({})))
        .collect();
    let mut replies = vec![Reply::calls(&calls), Reply::text("done")];
    replies.extend((0..later).map(|_| Reply::text("later")));
    Play::new(replies, json!(servers))
}

#[test]
fn servers_that_do_not_say_how_their_lists_have_changed_cost_one_wait_and_are_told() {
    let mut play = all_change(&["a", "b", "c"], &["good"], 2);
    play.prompt();
    let begun = Instant::now();
    let from = play.prompt();
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    let notices = play.notices(from);
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert!(
        notices[0].starts_with("asking MCP servers for their changed tools, 5 s at most: `a`, `b`, `c`:"),
        "{notices:?}"
    );
    for (notice, name) in notices[1..].iter().zip(["a", "b", "c"]) {
        let told = format!("the MCP server `{name}` has other tools now, and does not say which: ");
        assert!(notice.starts_with(&told), "{notice}");
    }
    let begun = Instant::now();
    let from = play.prompt();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(play.notices(from), [""; 0]);
    let fresh = |request: usize| -> Vec<String> {
        let tools = play.tools(request).into_iter();
        tools.filter(|tool| tool.ends_with("__fresh")).collect()
    };
    assert_eq!([2, 3].map(fresh), [["mcp__good__fresh"], ["mcp__good__fresh"]]);
    assert_eq!(play.tools(3).len(), 4 * 12 + 1);
}

#[test]
fn a_cancel_ends_the_wait_for_a_changed_list() {
    let mut play = all_change(&["a"], &[], 0);
    play.prompt();
    let from = play.client.log.len();
    let id = play.client.begin_prompt(&play.session, "go");
    let notice = play.client.wait_for_update("notice");
    assert_eq!(
        notice["title"],
        "asking MCP servers for their changed tools, 5 s at most: `a`"
    );
    let begun = Instant::now();
    play.client.notify("session/cancel", json!({"sessionId": play.session}));
    assert_eq!(play.client.stop_reason(id), "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(play.notices(from).len(), 1, "the server is not to blame");
    assert_eq!(play.mock.requests().len(), 2);
}

#[test]
fn two_sessions_have_a_server_each() {
    let folder = tempfile::tempdir().unwrap();
    let note = note(folder.path());
    let servers = json!([server("t", &["--note", &note.display().to_string()])]);
    let mut replies = call_and_end("mcp__t__die", json!({}));
    replies.extend(call_and_end("mcp__t__echo", json!({"text": "unharmed"})));
    let mut play = Play::new(replies, servers.clone());
    let other = begin(&mut play.client, &play.home, servers);
    pids(&note, 2);
    play.prompt();
    play.session = other;
    let from = play.prompt();
    assert!(play.told(3).contains("unharmed"));
    assert_eq!(play.notices(from), [""; 0]);
}

#[test]
fn a_tool_of_no_server_is_refused_by_name() {
    let mut play = one("nope", json!({}));
    let from = play.prompt();
    assert_eq!(play.end_of_call(from)["status"], "failed");
    assert!(play.told(1).contains("There is no tool `mcp__t__nope`"));
}

#[test]
fn a_tool_can_be_disabled_by_its_name() {
    let more = "[agent]\ndisabled_tools = [\"mcp__t__die\"]\n";
    let mut play = Play::configured(vec![Reply::text("done")], more, json!([server("t", &[])]));
    play.prompt();
    assert_eq!(play.tools(0).len(), 11);
}
