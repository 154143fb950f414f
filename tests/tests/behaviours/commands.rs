//! Slash commands, answered by the agent itself.

use agent_core::slash::COMMANDS;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load, times_told};

use crate::play::{calls, conversation, home, listed, says, two_providers};

/// What a command is answered.
fn told(client: &mut Client, session: &str, command: &str) -> String {
    let from = client.log.len();
    assert_eq!(client.prompt(session, command), "end_turn");
    client.said(from)
}

/// Begins an agent anew on a session.
fn again(home: &Home, session: &str) -> Client {
    let mut client = Client::initialized(home, json!({}));
    load(&mut client, session, &home.workspace()).unwrap();
    client
}

#[test]
fn the_model_is_shown_and_switched_for_good() {
    let (one, two) = (
        Mock::answering(|_| Reply::text("one")),
        Mock::answering(|_| Reply::text("two")),
    );
    let home = Home::with_config(&two_providers(&one.base_url(), &two.base_url()));
    let (mut client, session) = Client::with_session(&home);
    assert!(told(&mut client, &session, "/model").contains("`one/a` (now)"));
    assert_eq!(told(&mut client, &session, "hi"), "one");
    assert!(told(&mut client, &session, "/model two/b").contains("`two/b` (now)"));
    assert_eq!(told(&mut client, &session, "hi"), "two");
    for unknown in ["nobody/x", "nothing", "both"] {
        let answer = told(&mut client, &session, &format!("/model {unknown}"));
        assert!(
            answer.contains(unknown) && !answer.contains("(now)"),
            "{unknown}: {answer}"
        );
    }
    client.kill();
    let mut client = again(&home, &session);
    assert!(told(&mut client, &session, "/model").contains("`two/b` (now)"));
}

#[test]
fn the_mode_is_shown_and_switched_for_good() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    assert!(told(&mut client, &session, "/mode").contains("`default` (now)"));
    assert!(told(&mut client, &session, "/mode plan").contains("`plan` (now)"));
    let wrong = told(&mut client, &session, "/mode reckless");
    assert!(wrong.contains("reckless") && wrong.contains("accept_edits"), "{wrong}");
    told(&mut client, &session, "create a.txt with x");
    assert!(!home.workspace().join("a.txt").exists());
    client.kill();
    let mut client = again(&home, &session);
    assert!(told(&mut client, &session, "/mode").contains("`plan` (now)"));
}

#[test]
fn the_tools_are_those_that_the_model_gets() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, "[agent]\ndisabled_tools = [\"patch\"]\n"));
    let (mut client, session) = Client::with_session(&home);
    let tools = told(&mut client, &session, "/tools");
    told(&mut client, &session, "hi");
    let offered = mock.requests()[0].body["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = offered
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools.lines().count(), names.len(), "{tools}");
    assert!(
        names.iter().all(|name| tools.contains(&format!("- `{name}`: "))),
        "{tools}"
    );
    assert!(names.contains(&"read_file") && !names.contains(&"patch"), "{names:?}");
}

#[test]
fn the_context_is_counted_by_who_spoke() {
    let home = home(&[
        calls(&[("todo", json!({"items": []})), ("read_file", json!({"path": "none"}))]),
        says("done"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    let counts = |text: String| text.split("Messages: ").nth(1).unwrap().to_owned();
    let empty = "0 of yours, 0 of the model, 0 results of tools.";
    assert_eq!(counts(told(&mut client, &session, "/context")), empty);
    told(&mut client, &session, "go");
    let full = "1 of yours, 2 of the model, 2 results of tools.";
    assert_eq!(counts(told(&mut client, &session, "/context")), full);
    told(&mut client, &session, "/clear");
    let answer = told(&mut client, &session, "/context");
    assert!(
        answer.starts_with("About 0 tokens; how many the model's context holds is unknown."),
        "{answer}"
    );
    assert_eq!(counts(answer), empty);
}

#[test]
fn what_was_cleared_fills_no_context_in_another_process_either() {
    let counted = || {
        let chunk = json!({"choices": [{"delta": {"content": "hello"}, "finish_reason": "stop"}]});
        let counts = json!({"choices": [], "usage": {"prompt_tokens": 5000, "completion_tokens": 10}});
        Reply::events(&[chunk, counts])
    };
    let mock = Mock::answering(move |_| counted());
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "hi");
    assert!(told(&mut client, &session, "/context").starts_with("About 5010 tokens; "));
    told(&mut client, &session, "/clear");
    client.kill();
    let mut client = again(&home, &session);
    let answer = told(&mut client, &session, "/context");
    assert!(!answer.contains("5010"), "{answer}");
}

#[test]
fn the_thought_level_is_shown_and_switched_for_good() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let said = told(&mut client, &session, "/thought");
    assert!(
        said.contains("- `default` (now)") && said.contains("- `high`"),
        "{said}"
    );
    assert!(told(&mut client, &session, "/thought high").contains("- `high` (now)"));
    client.prompt(&session, "hi");
    assert_eq!(mock.requests()[0].body["reasoning_effort"], "high");
    let wrong = told(&mut client, &session, "/thought max");
    assert!(
        wrong.contains("max") && wrong.contains("off, low, medium or high"),
        "{wrong}"
    );
    client.kill();
    let mut client = again(&home, &session);
    assert!(told(&mut client, &session, "/thought").contains("- `high` (now)"));
    assert!(told(&mut client, &session, "/thought default").contains("- `default` (now)"));
}

#[test]
fn a_model_that_calls_no_tools_has_none() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, "models = [{ id = \"m\", tools = false }]\n"));
    let (mut client, session) = Client::with_session(&home);
    let said = told(&mut client, &session, "/tools");
    assert!(said.starts_with("`mock/m` gets none of these"), "{said}");
}

#[test]
fn a_cleared_conversation_is_gone_for_model_and_load() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    told(&mut client, &session, "/clear");
    client.prompt(&session, "second");
    let check = |number: usize, expect: &[&str]| {
        let sent = conversation(&mock.requests()[number]);
        let users = sent
            .iter()
            .filter(|(role, _)| role == "user")
            .map(|(_, text)| text.clone());
        assert_eq!(users.collect::<Vec<_>>(), expect);
    };
    check(1, &["second"]);
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let shown = asked(&client, from);
    assert!(
        !shown.contains(&"first".to_owned()) && shown.contains(&"second".to_owned()),
        "{shown:?}"
    );
    client.prompt(&session, "third");
    check(2, &["second", "third"]);
}

#[test]
fn the_version_is_that_of_the_program() {
    let home = Home::new();
    let (_, version, _) = talaria_tests::client::run(home.command(&["--version"]), "");
    let (mut client, session) = Client::with_session(&home);
    let said = told(&mut client, &session, "/version");
    assert_eq!(said.split(' ').next_back(), version.trim().split(' ').next_back());
}

#[test]
fn what_only_looks_like_a_command_goes_to_the_model() {
    let mock = Mock::answering(|_| Reply::text("the model"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for text in [
        "/etc/hosts what is it?",
        "/no-such-command",
        "/HELP",
        "// a comment",
        "/",
        "see /help",
    ] {
        assert_eq!(told(&mut client, &session, text), "the model", "{text}");
        let sent = conversation(mock.requests().last().unwrap());
        assert_eq!(sent.last().unwrap().1, text);
    }
    let image = json!({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="});
    let prompt = json!([{"type": "text", "text": "/help"}, image]);
    let from = client.log.len();
    client
        .request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
        .unwrap();
    assert!(client.said(from).ends_with("the model"));
}

#[test]
fn commands_are_no_part_of_the_conversation() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for command in [
        "/help", "/model", "/mode", "/thought", "/tools", "/context", "/title A", "/version",
    ] {
        assert_ne!(told(&mut client, &session, command), "", "{command}");
    }
    assert_eq!(mock.requests().len(), 0);
    client.prompt(&session, "hi");
    assert_eq!(conversation(&mock.requests()[0]), [("user".into(), "hi".into())]);
}

#[test]
fn what_is_advertised_is_what_there_is_and_what_help_lists() {
    let mock = Mock::answering(|_| Reply::text("the model"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    let update = client.wait_for_update("available_commands_update");
    let table = COMMANDS.map(|command| match command.hint {
        Some(hint) => json!({"name": command.name, "description": command.description, "input": {"hint": hint}}),
        None => json!({"name": command.name, "description": command.description}),
    });
    assert_eq!(update["availableCommands"], json!(table));
    let line = |command: &Value| {
        let text = |field: &Value| field.as_str().unwrap().to_owned();
        let hint = command["input"]["hint"].as_str();
        let hint = hint.map_or_else(String::new, |hint| format!(" [{hint}]"));
        format!(
            "- `/{}{hint}`: {}",
            text(&command["name"]),
            text(&command["description"])
        )
    };
    let help = told(&mut client, &session, "/help");
    assert_eq!(help.lines().collect::<Vec<_>>(), table.each_ref().map(line));
    for command in COMMANDS {
        assert_ne!(told(&mut client, &session, &format!("/{}", command.name)), "");
    }
    assert_eq!(mock.requests().len(), 0, "the agent answers each itself");
}

#[test]
fn a_title_is_what_can_be_seen_of_it_and_refused_where_that_is_nothing_or_too_long() {
    let home = Home::new();
    let (mut client, session) = Client::with_session(&home);
    let longest = "語".repeat(80);
    for (text, title) in [
        (" The \t great\n\u{a0} plan\u{2028}", "The great plan"),
        ("a\u{200b}b\u{feff}c\u{202e}d\u{7}e\u{2066}", "abcde"),
        ("直す 고치다 🎉", "直す 고치다 🎉"),
        (&longest, &longest),
    ] {
        let answer = told(&mut client, &session, &format!("/title {text}"));
        assert_eq!(answer, format!("Title: {title}"));
        assert_eq!(listed(&mut client, &session).unwrap()["title"], title);
    }
    for (text, why) in [("\u{200b}\u{202e}", "can be seen"), (&"a".repeat(81), "81 characters")] {
        let answer = told(&mut client, &session, &format!("/title {text}"));
        assert!(answer.contains(why) && answer.contains("stays as it was"), "{answer}");
        assert_eq!(listed(&mut client, &session).unwrap()["title"], longest);
    }
    for _ in 0..2 {
        let session = client.new_session(&home.workspace());
        told(&mut client, &session, "/version");
        assert_eq!(
            listed(&mut client, &session),
            None,
            "without a name it is no session to go back to"
        );
    }
}

#[test]
fn a_session_of_commands_alone_is_neither_listed_nor_continued() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let (status, stdout, stderr) = talaria_tests::client::run(home.command(args), "");
        assert!(status.success(), "{stderr}");
        stdout
    };
    let listed = || run(&["sessions", "list"]);
    run(&["run", "say one"]);
    let before = listed();
    run(&["run", "/version"]);
    assert_eq!(listed(), before);
    run(&["run", "--continue", "say two"]);
    assert_eq!(listed().lines().count(), before.lines().count());
    run(&["run", "/title Named"]);
    assert!(listed().contains("Named"), "{}", listed());
}

#[test]
fn a_slip_in_a_commands_name_goes_to_the_model_and_is_told() {
    let mock = Mock::answering(|_| Reply::text("what do you mean?"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    for (prompt, times) in [("/modle mock/m", 1), ("/models/x is a path", 0)] {
        let from = client.log.len();
        assert!(told(&mut client, &session, prompt).contains("what do you mean?"));
        assert_eq!(times_told(&client, from, "`/model` is the nearest"), times, "{prompt}");
        assert_eq!(conversation(mock.requests().last().unwrap()).last().unwrap().1, prompt);
    }
}
