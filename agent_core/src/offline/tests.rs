#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

/// The model's answer to a conversation: its text and its calls as `(tool, arguments)`.
fn ask(messages: &[Message]) -> (String, Vec<(String, Value)>, Finish) {
    let request = Request {
        system: "",
        tools: &[],
        messages,
        thinking: None,
        counted: None,
    };
    let mut text = String::new();
    let reply = Offline::new()
        .complete(&request, &Cancel::new(), &mut |delta| {
            match delta {
                Delta::Text(piece) => text.push_str(&piece),
                Delta::Thought(thought) => panic!("a thought: {thought}"),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let calls = reply.calls.into_iter().map(|call| match call.input {
        CallInput::Json(input) => (call.name, input),
        CallInput::Malformed(text) => panic!("malformed: {text}"),
    });
    (text, calls.collect(), reply.finish)
}

fn prompt(content: &[Content]) -> (String, Vec<(String, Value)>, Finish) {
    ask(&[Message::User(content.to_vec())])
}

/// What is said below the notice.
fn below_notice(text: &str) -> &str {
    text.strip_prefix(NOTICE).unwrap().trim_start()
}

#[test]
fn each_instruction_is_its_call() {
    let check = |line: &str, tool: &str, input: Value| {
        let (text, calls, finish) = prompt(&[Content::text(line)]);
        assert_eq!(text, NOTICE, "{line}");
        assert_eq!(calls, [(tool.to_owned(), input)], "{line}");
        assert_eq!(finish, Finish::ToolCalls, "{line}");
    };
    let files = |path: &str| json!({ "pattern": "*", "target": "files", "path": path });
    check("list", "search_files", files("."));
    check("  List  src/a b ", "search_files", files("src/a b"));
    check("read a.rs", "read_file", json!({ "path": "a.rs" }));
    check("read a b.rs", "read_file", json!({ "path": "a b.rs" }));
    check(
        "read a.rs 3-7",
        "read_file",
        json!({ "path": "a.rs", "offset": 3, "limit": 5 }),
    );
    check("read \"a 3-7\"", "read_file", json!({ "path": "a 3-7" }));
    check("search foo", "search_files", json!({ "pattern": "foo" }));
    check(
        "search f(x) in src",
        "search_files",
        json!({ "pattern": "f\\(x\\)", "path": "src" }),
    );
    check(
        "search \"a in b\" in src",
        "search_files",
        json!({ "pattern": "a in b", "path": "src" }),
    );
    check("search \"a in b\"", "search_files", json!({ "pattern": "a in b" }));
    check(
        r#"replace "say \"hi\"\n" with "" in a.rs"#,
        "patch",
        json!({ "path": "a.rs", "old_string": "say \"hi\"\n", "new_string": "" }),
    );
    check(
        "create a.txt with hello with love",
        "write_file",
        json!({ "path": "a.txt", "content": "hello with love" }),
    );
    check(
        r#"create "a with b" with "one\ntwo\t\d\n""#,
        "write_file",
        json!({ "path": "a with b", "content": "one\ntwo\t\\d\n" }),
    );
    check(
        "run cargo test -- 'a b'",
        "terminal",
        json!({ "command": "cargo test -- 'a b'" }),
    );
    check(
        "plan look; ; change",
        "todo",
        json!({ "items": [
            { "id": "1", "content": "look", "status": "pending" },
            { "id": "2", "content": "change", "status": "pending" },
        ] }),
    );
}

#[test]
fn what_needs_no_tool_is_answered_at_once() {
    let check = |line: &str, expect: &str| {
        let (text, calls, finish) = prompt(&[Content::text(line)]);
        assert_eq!(below_notice(&text), expect, "{line}");
        assert_eq!((calls.len(), finish), (0, Finish::Stop), "{line}");
    };
    check("say pong", "pong");
    check("say one\nsay two", "one\n\ntwo");
    check("help", &help());
    check("", &help());
    check(
        "Make it faster",
        &format!("Not understood: `Make it faster`.\n\n{}", help()),
    );
    check(
        "one\ntwo\nthree",
        &format!("Not understood: `one` and 2 more lines.\n\n{}", help()),
    );
    check("run", "Not understood: `run`. It is written `run COMMAND`.");
    check(
        "read a.rs 7-3",
        "Not understood: `read a.rs 7-3`. It is written `read PATH [FROM-TO]`.",
    );
    check(
        "read a.rs 0-3",
        "Not understood: `read a.rs 0-3`. It is written `read PATH [FROM-TO]`.",
    );
    check(
        "replace a with b in c",
        "Not understood: `replace a with b in c`. It is written `replace \"A\" with \"B\" in PATH`.",
    );
    check(
        "create a.txt",
        "Not understood: `create a.txt`. It is written `create PATH with TEXT`.",
    );
    check("say one\nreed x", "one\n\nNot understood: `reed x`.");
}

#[test]
fn several_lines_are_several_calls_with_ids_of_their_own() {
    let messages = [Message::User(vec![Content::text("list\nsay hello\nrun ls\nread a")])];
    let Answer { text, calls } = answer(&messages, NOTICE);
    assert_eq!(below_notice(&text), "hello");
    let calls: Vec<(&str, &str)> = calls
        .iter()
        .map(|call| (call.name.as_str(), call.id.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("search_files", "offline_1_0"),
            ("terminal", "offline_1_1"),
            ("read_file", "offline_1_2")
        ]
    );
}

#[test]
fn mentions_are_paths_and_notes_are_no_instructions() {
    let content = [
        Content::text("[runtime] Since the last message:\n\nrun rm -r .\n"),
        Content::text("read "),
        Content::Link {
            uri: "file:///w/a%20b.rs".into(),
            name: "a b.rs".into(),
        },
        Content::text(" 1-2"),
        Content::Resource {
            uri: "file:///w/a%20b.rs".into(),
            mime_type: None,
            text: "run rm -r .".into(),
        },
    ];
    let (_, calls, _) = prompt(&content);
    assert_eq!(
        calls,
        [(
            "read_file".to_owned(),
            json!({ "path": "/w/a b.rs", "offset": 1, "limit": 2 })
        )]
    );
}

/// The closing report on calls of one line each, each with its result.
fn report(lines: &[(&str, bool, &str)]) -> String {
    let prompt: Vec<&str> = lines.iter().map(|(line, ..)| *line).collect();
    let mut messages = vec![Message::User(vec![Content::text(prompt.join("\n"))])];
    let Answer { text, calls } = answer(&messages, NOTICE);
    let results: Vec<Message> = calls
        .iter()
        .zip(lines)
        .map(|(call, (_, failed, text))| Message::ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: (*text).to_owned(),
            images: Vec::new(),
            failed: *failed,
        })
        .collect();
    messages.push(Message::Assistant {
        text,
        thought: String::new(),
        calls,
        native: None,
    });
    messages.extend(results);
    let (text, calls, finish) = ask(&messages);
    assert_eq!((calls.len(), finish), (0, Finish::Stop));
    text
}

#[test]
fn results_are_reported_and_the_turn_ends() {
    let check = |line: &str, result: &str, expect: &str| {
        assert_eq!(report(&[(line, false, result)]), expect, "{line}");
    };
    check("list", "a.rs\nb.rs\n", "Files in `.`:\n\n```\na.rs\nb.rs\n```");
    check("list src", "", "Files in `src`:\n\n(nothing)");
    check("read a.rs", "1|```", "Read `a.rs`:\n\n````\n1|```\n````");
    check("search x", "a.rs:1:x", "Search for `x` in `.`:\n\n```\na.rs:1:x\n```");
    check(r#"replace "a" with "b" in c"#, "changed c", "Changed `c`.");
    check("create a.txt with hello", "wrote a.txt", "Wrote `a.txt`.");
    check("run ls", "a\n", "Ran `ls`:\n\n```\na\n```");
    check("plan a; b", "2 entries", "The plan is set.");
    let long = |lines: usize| vec!["x"; lines].join("\n");
    check("run ls", &long(12), &format!("Ran `ls`:\n\n```\n{}\n```", long(12)));
    check(
        "run ls",
        &format!("{}\nexit code: 0", long(12)),
        &format!(
            "Ran `ls`:\n\n```\n{}\n… 2 lines left out here\nexit code: 0\n```",
            long(10)
        ),
    );
    check(
        "list",
        &format!("{}\n[1-50 of 393 files; offset=50 for the rest]", long(50)),
        &format!(
            "Files in `.`:\n\n```\n{}\n… 10 lines left out here\n[1-50 of 393 files; offset=50 for the rest]\n```",
            long(40)
        ),
    );
    let (wide, cut) = ("語".repeat(161), "語".repeat(160));
    check("run ls", &wide, &format!("Ran `ls`:\n\n```\n{cut}…\n```"));
}

#[test]
fn failures_and_refusals_are_told_in_their_own_words() {
    let check = |line: &str, result: &str, expect: &str| {
        assert_eq!(report(&[(line, true, result)]), expect, "{line}");
    };
    check(
        "read a.rs",
        "there is no a.rs",
        "Could not read `a.rs`: there is no a.rs",
    );
    check(
        "create a with b",
        "the user refused this",
        "Could not write `a`: the user refused this",
    );
    check("run false", "exit code 1\n", "`false` did not succeed: exit code 1");
    check(
        "run make",
        "x\nexit code 2",
        "`make` did not succeed:\n\n```\nx\nexit code 2\n```",
    );
    check("list x", "", "Could not list `x`.");
}

#[test]
fn each_of_several_results_is_reported() {
    let text = report(&[
        ("create a with b", false, "ok"),
        ("run ls", true, "refused"),
        ("create c with d", false, "ok"),
    ]);
    assert_eq!(text, "Wrote `a`.\n\n`ls` did not succeed: refused\n\nWrote `c`.");
}

#[test]
fn results_of_calls_that_another_model_made_are_reported_too() {
    let text = ask(&[Message::ToolResult {
        id: "x".into(),
        name: "web_fetch".into(),
        text: "a page".into(),
        images: Vec::new(),
        failed: false,
    }])
    .0;
    assert_eq!(text, "`web_fetch`:\n\n```\na page\n```");
}

#[test]
fn a_cancel_or_a_sink_that_has_enough_ends_the_answer() {
    let check = |pieces: usize, by_cancel: bool| {
        let cancel = Cancel::new();
        let messages = [Message::User(vec![Content::text("say a b c d e f")])];
        let request = Request {
            system: "",
            tools: &[],
            messages: &messages,
            thinking: None,
            counted: None,
        };
        let mut got = 0;
        let result = Offline::new().complete(&request, &cancel, &mut |_| {
            got += 1;
            match (got == pieces, by_cancel) {
                (false, _) => ControlFlow::Continue(()),
                (true, true) => {
                    cancel.set();
                    ControlFlow::Continue(())
                }
                (true, false) => ControlFlow::Break(()),
            }
        });
        assert_eq!((result, got), (Err(ProviderError::Cancelled), pieces));
    };
    check(1, true);
    check(3, true);
    check(3, false);
}

proptest::proptest! {
    #[test]
    fn any_prompt_has_an_answer(
        verb in "(list|read|search|replace|create|run|plan|say|help|)",
        rest in r#"( |"|\\|-|in|with|é|[0-9]|\PC)*"#,
    ) {
        let prompt = format!("{verb} {rest}\n{rest}");
        let Answer { text, calls } = answer(&[Message::User(vec![Content::text(prompt)])], NOTICE);
        assert!(text.starts_with(NOTICE));
        assert!(text.len() > NOTICE.len() || !calls.is_empty());
    }
}
