//! What commands print, in editors that show it as a terminal does.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::editor::Editor;
use talaria_tests::start::load;

use crate::play::{self, announced, calls, ends, says, set_mode, text_of};

/// What such an editor says of itself; Zed says it with these words.
fn shows_terminals() -> Value {
    json!({"_meta": {"terminal_output": true}})
}

fn run(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command, "timeout": 20}))
}

fn open(home: &Home, capabilities: Value) -> (Client, String) {
    let mut client = Client::initialized(home, capabilities);
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    (client, session)
}

/// A terminal as an editor would have it after all updates of a call: its folder, its text, and its end.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    cwd: Option<String>,
    text: String,
    exit: Option<(Value, Value)>,
}

/// The terminals of the log from `from` on, by their calls, each checked to be opened before it is written to, embedded
/// in its call, and ended once.
fn terminals(client: &Client, from: usize) -> Vec<(String, Shown)> {
    let mut terminals: Vec<(String, Shown)> = Vec::new();
    for update in client.updates(from) {
        let meta = &update["_meta"];
        let call = update["toolCallId"].as_str().unwrap_or_default();
        if let Some(info) = meta.get("terminal_info") {
            assert_eq!(update["sessionUpdate"], "tool_call");
            assert_eq!(
                update["content"],
                json!([{"type": "terminal", "terminalId": info["terminal_id"]}])
            );
            let cwd = info["cwd"].as_str().map(str::to_owned);
            let shown = Shown {
                cwd,
                ..Shown::default()
            };
            terminals.push((info["terminal_id"].as_str().unwrap().to_owned(), shown));
        }
        for (key, is_exit) in [("terminal_output", false), ("terminal_exit", true)] {
            let Some(news) = meta.get(key) else { continue };
            assert_eq!(update["sessionUpdate"], "tool_call_update");
            let known = |(id, _): &&mut (String, Shown)| *id == news["terminal_id"];
            let (id, shown) = terminals.iter_mut().find(known).unwrap();
            assert_eq!((id.as_str(), &shown.exit), (call, &None));
            if is_exit {
                shown.exit = Some((news["exit_code"].clone(), news["signal"].clone()));
            } else {
                let data = news["data"].as_str().unwrap();
                assert!(!data.is_empty() && data.len() < 40 * 1024);
                shown.text.push_str(data);
            }
        }
    }
    assert!(terminals.iter().all(|(_, shown)| shown.exit.is_some()), "{terminals:?}");
    terminals
}

fn shown(client: &Client, from: usize) -> Vec<Shown> {
    terminals(client, from).into_iter().map(|(_, shown)| shown).collect()
}

#[test]
fn a_command_is_shown_as_it_prints_and_again_after_a_load() {
    let home = play::home(&[
        calls(&[
            run(
                "printf '\\033[31mred'; sleep 0.4; printf '\\033[0m \\033]0;title\\007\\033[2Jplain\\n'; sleep 0.4; echo end",
            ),
            run("cd /; echo bad >&2; exit 3"),
            run("true"),
            run("kill -9 $$"),
        ]),
        says("done"),
    ]);
    // Behind bubblewrap a signal is an exit code of 128 and its number.
    let config = std::fs::read_to_string(home.state().join("config.toml")).unwrap();
    home.write_config(&format!("{config}\n[sandbox]\nmode = \"off\"\n"));
    let (mut client, session) = open(&home, shows_terminals());
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let cwd = home.workspace().display().to_string();
    let expect = |text: &str, code: Value, signal: Value| Shown {
        cwd: Some(cwd.clone()),
        text: text.into(),
        exit: Some((code, signal)),
    };
    let all = [
        expect("\u{1b}[31mred\u{1b}[0m plain\nend\n", json!(0), Value::Null),
        expect("bad\nexit code: 3\n", json!(3), Value::Null),
        expect("exit code: 0\n", json!(0), Value::Null),
        expect("killed by signal 9\n", Value::Null, json!("SIGKILL")),
    ];
    assert_eq!(shown(&client, 0), all);
    let outputs = client
        .updates(0)
        .iter()
        .filter(|update| !update["_meta"]["terminal_output"].is_null())
        .count();
    assert!(outputs >= 5, "it comes as it is printed: {outputs}");
    let statuses: Vec<Value> = ends(&client, 0).iter().map(|end| end["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "failed", "completed", "failed"]);
    assert!(client.close().success());
    let mut client = Client::initialized(&home, shows_terminals());
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(shown(&client, from), all);
}

#[test]
fn the_model_is_told_no_colours() {
    let mock = talaria_tests::mock::Mock::serve(vec![
        talaria_tests::mock::Reply::calls(&[("c", "terminal", json!({"command": "printf '\\033[31mred\\033[0m\\n'"}))]),
        talaria_tests::mock::Reply::text("done"),
    ]);
    let home = Home::with_config(&talaria_tests::start::config_of(&mock, ""));
    let (mut client, session) = open(&home, shows_terminals());
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(shown(&client, 0)[0].text, "\u{1b}[31mred\u{1b}[0m\n");
    let told = play::conversation(&mock.requests()[1]);
    assert!(told.iter().any(|(_, text)| text == "red\nexit code: 0"), "{told:?}");
}

#[test]
fn what_is_printed_too_fast_is_left_out_by_count() {
    let home = play::home(&[calls(&[run("seq 3; yes | head -c 20M; seq 4 6")]), says("done")]);
    let (mut client, session) = open(&home, shows_terminals());
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    let text = shown(&client, 0).remove(0).text;
    assert!(text.starts_with("1\n2\n3\ny\n") && text.ends_with("y\n4\n5\n6\n"));
    let marks: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with(" bytes left out …"))
        .collect();
    let left_out: usize = marks
        .iter()
        .map(|mark| {
            mark.split(' ')
                .nth(1)
                .unwrap()
                .replace(',', "")
                .parse::<usize>()
                .unwrap()
        })
        .sum();
    let of_marks: usize = marks.iter().map(|mark| mark.len() + "\u{1b}[0m\n\n".len()).sum();
    assert_eq!(text.len() - of_marks + left_out, 12 + 20 * 1024 * 1024, "{marks:?}");
}

#[test]
fn a_question_shows_the_command_and_the_terminal_comes_with_the_answer() {
    let home = play::home(&[
        calls(&[run("touch a; echo made")]),
        calls(&[run("touch b")]),
        says("done"),
    ]);
    let mut client = Client::initialized(&home, shows_terminals());
    client.permission = None;
    let session = client.new_session(&home.workspace());
    let prompt = client.begin_prompt(&session, "go");
    for option in ["allow_once", "reject_once"] {
        let request = client.wait_for(|message| message["method"] == "session/request_permission");
        assert!(text_of(&request["params"]["toolCall"]).contains("touch"), "{request}");
        client.answer(&request, option);
    }
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let shown = shown(&client, 0);
    assert_eq!(shown[0].text, "made\n");
    assert_eq!(
        (shown[1].text.as_str(), &shown[1].exit),
        ("", &Some((Value::Null, Value::Null)))
    );
    let ends = ends(&client, 0);
    assert_eq!(ends[0]["content"][0]["type"], "terminal");
    assert!(text_of(&ends[1]).contains("refused"), "{}", ends[1]);
    let id = &ends[0]["toolCallId"];
    let embeds = |update: &&&Value| update["toolCallId"] == *id && update["content"][0]["type"] == "terminal";
    assert_eq!(
        client.updates(0).iter().filter(embeds).count(),
        3,
        "announced, let go, ended"
    );
}

#[test]
fn only_commands_of_our_own_and_only_clients_that_ask_have_such_terminals() {
    let steps = [
        run("echo out"),
        ("terminal", json!({"command": "sleep 60", "background": true})),
        ("read_file", json!({"path": "nothing"})),
    ];
    for (capabilities, count) in [
        (shows_terminals(), 1),
        (json!({"_meta": {"terminal_output": "yes"}}), 0),
        (json!({}), 0),
    ] {
        let home = play::home(&[calls(&steps), says("done")]);
        let (mut client, session) = open(&home, capabilities);
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        assert_eq!(terminals(&client, 0).len(), count);
        let metas = client
            .updates(0)
            .iter()
            .filter(|update| !update["_meta"].is_null())
            .count();
        assert!(count > 0 || metas == 0);
        assert_eq!(announced(&client, 0).len(), 3);
    }
    // The editor's own terminals go before.
    let home = play::home(&[calls(&[run("echo out")]), says("done")]);
    home.add_config("[terminal]\nbackend = \"client\"\n");
    let mut client = Client::initialized(&home, json!({"terminal": true, "_meta": {"terminal_output": true}}));
    client.editor = Some(Editor::new());
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(client.asked_for(0, "terminal/create").len(), 1);
    assert_eq!(terminals(&client, 0).len(), 0);
}

#[test]
fn a_cancelled_command_keeps_its_terminal() {
    let home = play::home(&[calls(&[run("echo begun; sleep 60")])]);
    let (mut client, session) = open(&home, shows_terminals());
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for(|message| message["params"]["update"]["_meta"]["terminal_output"]["data"] == "begun\n");
    client.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    let shown = shown(&client, 0).remove(0);
    assert_eq!(shown.text, "begun\ncancelled\n");
    assert_eq!(ends(&client, 0)[0]["content"][0]["type"], "terminal");
}

#[test]
fn a_cancelled_load_sends_nothing_again_of_a_command_that_runs() {
    let wait = "echo begun; until [ -e go ]; do sleep 0.05; done; echo over";
    let home = play::home(&[calls(&[run(wait)]), says("done")]);
    let (mut client, session) = open(&home, shows_terminals());
    let prompt = client.begin_prompt(&session, "go");
    client.wait_for(|message| message["params"]["update"]["_meta"]["terminal_output"]["data"] == "begun\n");
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    let load = json!({"jsonrpc": "2.0", "id": 1000, "method": "session/load", "params": params});
    let cancel = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1000}});
    client.send_raw(format!("{load}\n{cancel}\n").as_bytes());
    let is_cancelled = client.response(1000).is_err();
    // Its answer comes after all that the load leads to.
    set_mode(&mut client, &session, "dont_ask");
    std::fs::write(home.workspace().join("go"), "").unwrap();
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let updates = client.updates(0).into_iter();
    let printed = updates.filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str());
    let printed: String = printed.collect();
    // A load that was faster than its cancel shows all again.
    let times = if is_cancelled { 1 } else { 2 };
    assert_eq!(printed.matches("begun").count(), times, "{printed}");
    assert_eq!(printed.matches("over").count(), 1, "{printed}");
}
