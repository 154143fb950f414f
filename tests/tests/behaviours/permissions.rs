//! Questions before a call runs: when they are asked, what they hold, and what an answer does.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::config_of;

use crate::play::{announced, calls, diffs, ends, home, questions, says, set_mode, text_of};

fn creates(path: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": "x\n"}))
}

fn runs(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command}))
}

/// The kinds of the options of a question.
fn options(question: &Value) -> Vec<&str> {
    let options = question["options"].as_array().unwrap().iter();
    options.map(|option| option["kind"].as_str().unwrap()).collect()
}

#[test]
fn each_answer_has_its_effect_and_an_unknown_one_refuses() {
    for (answer, is_written, asked_again, stop) in [
        ("allow_once", true, 1, "end_turn"),
        ("allow_always", true, 0, "end_turn"),
        ("reject_once", false, 1, "end_turn"),
        ("reject_always", false, 1, "end_turn"),
        ("no such option", false, 1, "end_turn"),
        ("", false, 1, "end_turn"),
        ("cancelled", false, 1, "cancelled"),
    ] {
        let mut replies = vec![calls(&[creates("a.txt")])];
        if stop == "end_turn" {
            replies.push(says("done"));
        }
        replies.extend([calls(&[creates("b.txt")]), says("done")]);
        let home = home(&replies);
        let (mut client, session) = Client::with_session(&home);
        client.permission = Some(answer);
        assert_eq!(client.prompt(&session, "go"), stop, "{answer}");
        assert_eq!(home.workspace().join("a.txt").exists(), is_written, "{answer}");
        let from = client.log.len();
        client.prompt(&session, "again");
        assert_eq!(questions(&client, from).len(), asked_again, "{answer}");
    }
}

#[test]
fn an_answer_that_is_no_answer_refuses() {
    let home = home(&[calls(&[creates("a.txt")]), says("done")]);
    let (mut client, session) = Client::with_session(&home);
    client.permission = None;
    let prompt = client.begin_prompt(&session, "go");
    let question = client.wait_for(|message| message["method"] == "session/request_permission");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603, "message": "no window"}}));
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(client.said(0), "done");
    assert_eq!(ends(&client, 0).pop().unwrap()["status"], "failed");
    assert!(!home.workspace().join("a.txt").exists());
}

#[test]
fn the_model_is_told_of_a_refusal() {
    let mut replies = vec![
        Reply::calls(&[("x", "write_file", creates("a.txt").1)]),
        Reply::text("done"),
    ]
    .into_iter();
    let mock = Mock::answering(move |_| replies.next().unwrap());
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.permission = Some("reject_once");
    client.prompt(&session, "go");
    let request = mock.requests().pop().unwrap();
    let result = request.messages().last().unwrap();
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .contains("The user refused this call"),
        "{result}"
    );
    let end = ends(&client, 0).pop().unwrap();
    assert_eq!(end["status"], "failed");
    assert!(!home.workspace().join("a.txt").exists());
}

#[test]
fn a_question_holds_the_whole_call() {
    let home = home(&[calls(&[runs("touch a && echo ```; rm a")]), says("done")]);
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "go");
    let question = &questions(&client, 0)[0];
    let call = &announced(&client, 0)[0];
    let shown = &question["toolCall"];
    assert_eq!(question["sessionId"], session.as_str());
    for field in ["toolCallId", "kind", "title", "rawInput"] {
        assert_eq!(shown[field], call[field], "{field}");
    }
    assert_eq!(shown["kind"], "execute");
    assert!(text_of(shown).contains("touch a && echo ```; rm a"), "{shown}");
}

#[test]
fn a_question_about_a_command_says_why_it_is_one() {
    for (command, why) in [
        ("echo x > b", "it redirects to or from a file"),
        ("ls $(pwd)", "it has a substitution"),
        ("ls && touch b", "`touch` is not known to only read"),
        ("sort -o b a", "`sort` is not known to only read with the option `-o`"),
        ("cat /etc/hostname", "`/etc/hostname` is outside the workspace"),
        ("cat .env", "`.env` may hold secrets"),
        (&format!("{}ls", "! ".repeat(200)), "it is more than simple commands"),
        (
            &format!("ls {}", "a ".repeat(10_000)),
            "it is too long to be sure what it does",
        ),
    ] {
        let home = home(&[calls(&[runs(command)]), says("done")]);
        let (mut client, session) = Client::with_session(&home);
        client.permission = Some("reject_once");
        client.prompt(&session, "go");
        let question = &questions(&client, 0)[0];
        let shown = text_of(&question["toolCall"]);
        assert!(shown.contains(why), "{shown}");
    }
}

#[test]
fn always_is_offered_only_where_it_has_an_exact_meaning() {
    let table: [(&str, (&str, Value), bool); 19] = [
        ("an edit inside", creates("a.txt"), true),
        ("a plain command", runs("touch b"), true),
        ("a compound command", runs("touch b; touch c"), false),
        ("a pipe", runs("touch b | cat"), false),
        ("a redirection", runs("echo x > b"), false),
        ("an interpreter", runs("python3 -c 'print(1)'"), false),
        ("a package runner", runs("npx something"), false),
        ("a secret file", creates(".env"), false),
        ("a protected file", creates(".git/config"), false),
        ("a file outside", creates("../outside.txt"), false),
        ("a command on a hook", runs("touch .git/hooks/x"), false),
        ("a command that reads a secret", runs("cat .env"), false),
        ("a command that adds to a secret", runs("tee -a .env"), false),
        ("a command that makes a protected file", runs("cp a.txt .envrc"), false),
        ("a command on instructions", runs("touch AGENTS.md"), false),
        ("a command on a file outside", runs("touch ../outside"), false),
        ("a command that reads outside", runs("cat /etc/shadow"), false),
        ("a command that removes outside", runs("rm -r /tmp/talaria-none"), false),
        (
            "an option that leads outside",
            runs("touch --reference=../outside b"),
            false,
        ),
    ];
    let mut replies: Vec<Value> = table
        .iter()
        .map(|(_, call, _)| calls(std::slice::from_ref(call)))
        .collect();
    replies.push(says("done"));
    let home = home(&replies);
    let (mut client, session) = Client::with_session(&home);
    client.permission = Some("reject_once");
    client.prompt(&session, "go");
    let questions = questions(&client, 0);
    assert_eq!(questions.len(), table.len());
    for (question, (what, _, is_offered)) in questions.iter().zip(table) {
        let offered = options(question);
        assert_eq!(offered.contains(&"allow_always"), is_offered, "{what}: {offered:?}");
        assert!(
            offered.contains(&"allow_once") && offered.contains(&"reject_once"),
            "{what}: {offered:?}"
        );
    }
}

/// How a call goes in a mode: `asks`, `runs` or `refuses`.
fn goes(mode: &str, call: (&str, Value)) -> &'static str {
    let home = home(&[calls(&[call]), says("done")]);
    std::fs::write(home.workspace().join(".env"), "KEY=1\n").unwrap();
    std::os::unix::fs::symlink(".env", home.workspace().join("plain.txt")).unwrap();
    let (mut client, session) = Client::with_session(&home);
    client.permission = Some("reject_once");
    set_mode(&mut client, &session, mode);
    client.prompt(&session, "go");
    let completed = ends(&client, 0)[0]["status"] == "completed";
    match (questions(&client, 0).len(), completed) {
        (1, false) => "asks",
        (0, true) => "runs",
        (0, false) => "refuses",
        other => panic!("{mode}: {other:?}"),
    }
}

#[test]
fn what_is_asked_depends_on_mode_and_place() {
    let read = |path: &str| ("read_file", json!({"path": path}));
    let table = [
        (creates("a.txt"), ["refuses", "asks", "runs", "runs"]),
        (creates(".env.local"), ["refuses", "asks", "asks", "asks"]),
        (creates("../outside.txt"), ["refuses", "asks", "asks", "asks"]),
        (creates(".git/hooks/post-commit"), ["refuses", "asks", "asks", "asks"]),
        (
            creates("../home/notes.txt"),
            ["refuses", "refuses", "refuses", "refuses"],
        ),
        (read(".env"), ["asks", "asks", "asks", "asks"]),
        // A link has the name of what it leads to, too.
        (read("plain.txt"), ["asks", "asks", "asks", "asks"]),
        (runs("ls"), ["runs", "runs", "runs", "runs"]),
        (runs("touch a"), ["refuses", "asks", "asks", "runs"]),
        (("todo", json!({"items": []})), ["runs", "runs", "runs", "runs"]),
    ];
    for (call, expect) in table {
        let got = ["plan", "default", "accept_edits", "dont_ask"].map(|mode| goes(mode, call.clone()));
        assert_eq!(got, expect, "{call:?}");
    }
}

#[test]
fn a_link_to_a_secret_is_written_only_after_a_question() {
    let patch = (
        "patch",
        json!({"path": "plain.txt", "old_string": "KEY=1", "new_string": "KEY=2"}),
    );
    assert_eq!(goes("accept_edits", patch.clone()), "asks");
    assert_eq!(goes("dont_ask", patch), "asks");
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-alpha\n+ALPHA\n*** Update File: b.txt\n@@\n-beta\n\
                     +BETA\n*** Add File: NAME\n+new\n*** End Patch\n";

#[test]
fn a_patch_over_several_files_is_shown_and_asked_as_a_whole() {
    for (third, mode, asked) in [
        ("c.txt", "default", 1),
        ("c.txt", "accept_edits", 0),
        (".env", "accept_edits", 1),
        (".env", "dont_ask", 1),
    ] {
        let patch = json!({"patch": PATCH.replace("NAME", third)});
        let home = home(&[calls(&[("patch", patch)]), says("done")]);
        for (name, text) in [("a.txt", "alpha\n"), ("b.txt", "beta\n")] {
            std::fs::write(home.workspace().join(name), text).unwrap();
        }
        let (mut client, session) = Client::with_session(&home);
        client.permission = Some("reject_once");
        set_mode(&mut client, &session, mode);
        client.prompt(&session, "go");
        let questions = questions(&client, 0);
        assert_eq!(questions.len(), asked, "{third} {mode}");
        let updates = client.updates(0);
        let planned = updates.iter().find(|update| !diffs(update).is_empty()).unwrap();
        for shown in questions.iter().map(|question| &question["toolCall"]).chain([*planned]) {
            let shown: Vec<(&Value, &Value)> = diffs(shown)
                .iter()
                .map(|diff| (&diff["path"], &diff["newText"]))
                .collect();
            let expect = [("a.txt", "ALPHA\n"), ("b.txt", "BETA\n"), (third, "new\n")]
                .map(|(name, text)| (json!(home.workspace().join(name)), json!(text)));
            assert_eq!(
                shown,
                expect.iter().map(|(path, text)| (path, text)).collect::<Vec<_>>()
            );
        }
        let text = std::fs::read_to_string(home.workspace().join("a.txt")).unwrap();
        assert_eq!(text, if asked == 0 { "ALPHA\n" } else { "alpha\n" }, "{third} {mode}");
        for question in questions.iter().filter(|_| third == ".env") {
            assert!(!options(question).contains(&"allow_always"));
            assert!(
                text_of(&question["toolCall"]).contains("may hold secrets"),
                "{question}"
            );
        }
    }
}

#[test]
fn what_changed_while_the_question_was_open_is_not_overwritten() {
    let patch = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    let home = home(&[calls(&[("patch", patch)]), says("done")]);
    let path = home.workspace().join("a.txt");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let (mut client, session) = Client::with_session(&home);
    client.permission = None;
    let prompt = client.begin_prompt(&session, "go");
    let question = client.wait_for(|message| message["method"] == "session/request_permission");
    std::fs::write(&path, "by another program: two\n").unwrap();
    client.answer(&question, "allow_once");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "by another program: two\n");
    let end = ends(&client, 0).pop().unwrap();
    assert_eq!(end["status"], "failed");
    assert!(text_of(&end).contains("changed"), "{end}");
}
