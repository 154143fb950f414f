//! The sandbox as a user sees it: that its state is told, when it is asked about, and what is said where there is none.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::walls::{Machine, has_any, has_bubblewrap, on};

use crate::play::{calls, ends, home, questions, says, set_mode, text_of};

fn runs(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command}))
}

fn runs_outside(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command, "outside_sandbox": true}))
}

/// A home with these settings of the sandbox.
fn home_with(replies: &[Value], sandbox: &str) -> Home {
    let home = home(replies);
    let config = std::fs::read_to_string(home.state().join("config.toml")).unwrap();
    home.write_config(&format!("{config}\n[sandbox]\n{sandbox}\n"));
    home
}

/// Plays a prompt on a machine, in a mode, with yes as the answer to each question.
fn play(machine: Machine, home: &Home, mode: &str) -> Client {
    on(machine, || {
        let (mut client, session) = Client::with_session(home);
        set_mode(&mut client, &session, mode);
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        client
    })
}

/// What the machine's wall is called.
const MACHINES: [(Machine, &str); 3] = [
    (Machine::Whole, "In the sandbox ("),
    (Machine::WithoutNamespaces, "In the sandbox (Landlock "),
    (Machine::Bare, "No sandbox: bubblewrap"),
];

#[test]
fn the_state_is_told_in_each_question_and_by_permissions() {
    for (machine, expect) in MACHINES {
        if machine != Machine::Bare && !has_any(machine) {
            continue;
        }
        let home = home_with(&[calls(&[runs("touch a")]), says("done")], "mode = \"auto\"");
        let (asked, told) = on(machine, || {
            let (mut client, session) = Client::with_session(&home);
            client.prompt(&session, "go");
            let asked = text_of(&questions(&client, 0)[0]["toolCall"]);
            let from = client.log.len();
            client.prompt(&session, "/permissions");
            (asked, client.said(from))
        });
        assert!(asked.contains(expect), "{machine:?}: {asked}");
        assert!(
            told.contains(expect) && told.contains("Mode: `default`"),
            "{machine:?}: {told}"
        );
    }
}

#[test]
fn where_there_is_none_that_is_told_once() {
    for (machine, sandbox, times) in [
        (Machine::Bare, "mode = \"auto\"", 1),
        (Machine::Bare, "mode = \"off\"", 0),
        (Machine::Whole, "mode = \"auto\"", 0),
    ] {
        let home = home_with(&[says("one"), says("two")], sandbox);
        let client = on(machine, || {
            let (mut client, session) = Client::with_session(&home);
            client.prompt(&session, "go");
            client.prompt(&session, "again");
            client
        });
        let told = client
            .log
            .iter()
            .filter(|message| message.to_string().contains("run without a sandbox"));
        assert_eq!(told.count(), times, "{machine:?} {sandbox}");
    }
}

#[test]
fn a_command_writes_in_the_workspace_only_and_the_model_hears_why_it_failed() {
    // Beside the workspace it would be in the folder for temporary files, of which each session has one of its own.
    let elsewhere = tempfile::tempdir_in("/var/tmp").unwrap();
    let outside = elsewhere.path().join("outside");
    for (machine, name) in MACHINES.iter().filter(|(machine, _)| has_any(*machine)) {
        let command = runs(&format!("touch in; touch '{}'", outside.display()));
        let home = home_with(&[calls(&[command]), says("done")], "mode = \"auto\"");
        let client = play(*machine, &home, "default");
        assert!(home.workspace().join("in").exists() && !outside.exists(), "{name}");
        let end = text_of(&ends(&client, 0)[0]);
        assert!(end.contains("outside_sandbox"), "{end}");
    }
}

#[test]
fn a_call_outside_always_asks_and_says_so_and_then_runs_outside() {
    if !has_any(Machine::Whole) {
        return;
    }
    for mode in ["default", "accept_edits"] {
        let replies = [calls(&[runs_outside("touch ../out")]), says("done")];
        let home = home_with(&replies, "network = false");
        let client = play(Machine::Whole, &home, mode);
        let asked = questions(&client, 0);
        assert_eq!(asked.len(), 1, "{mode}");
        let text = text_of(&asked[0]["toolCall"]);
        assert!(
            text.contains("OUTSIDE the sandbox") && text.contains("it runs outside the sandbox"),
            "{text}"
        );
        assert_eq!(
            asked[0]["options"].as_array().unwrap().len(),
            2,
            "nothing is offered for always"
        );
        assert!(home.workspace().join("../out").exists(), "{mode}");
    }
    let home = home_with(&[calls(&[runs_outside("touch ../out")]), says("done")], "");
    let client = play(Machine::Whole, &home, "dont_ask");
    assert_eq!(questions(&client, 0).len(), 0);
    assert!(home.workspace().join("../out").exists());
}

#[test]
fn what_is_allowed_inside_is_asked_about_outside() {
    if !has_any(Machine::Whole) {
        return;
    }
    let replies = [
        calls(&[runs("touch a")]),
        calls(&[runs("touch a")]),
        calls(&[runs_outside("touch a")]),
        says("done"),
    ];
    let home = home_with(&replies, "");
    let (mut client, session) = Client::with_session(&home);
    client.permission = Some("allow_always");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    assert_eq!(questions(&client, 0).len(), 2);
}

#[test]
fn a_closed_sandbox_is_not_asked_about_in_accept_edits() {
    let replies = || [calls(&[runs("touch a; echo x > .git/config || touch b")]), says("done")];
    let asked = |machine, sandbox: &str| {
        let home = home_with(&replies(), sandbox);
        std::fs::create_dir(home.workspace().join(".git")).unwrap();
        std::fs::write(home.workspace().join(".git/config"), "").unwrap();
        let client = play(machine, &home, "accept_edits");
        let config = std::fs::read_to_string(home.workspace().join(".git/config")).unwrap();
        (questions(&client, 0).len(), !config.is_empty())
    };
    if has_bubblewrap() {
        assert_eq!(asked(Machine::Whole, "network = false"), (0, false));
        assert_eq!(asked(Machine::Whole, "network = true"), (1, false));
    }
    // It can't hold what is protected.
    assert_eq!(asked(Machine::WithoutNamespaces, "network = false"), (1, true));
    assert_eq!(asked(Machine::Bare, "network = false"), (1, true));
}

/// Runs git, where there is one, in a folder.
fn git(folder: &Path, words: &str) -> Option<String> {
    let output = Command::new("git")
        .args(words.split(' '))
        .current_dir(folder)
        .output()
        .ok()?;
    assert!(output.status.success(), "git {words}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_commit_is_one_question_and_what_makes_git_run_programs_stays() {
    let identity = "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    let commit = format!(
        "export {identity}; git add . && git commit -qm one && git checkout -qb other && echo b > a && git stash && git stash pop"
    );
    let steer = "git config alias.x '!touch pwned'; echo 'touch pwned' > .git/hooks/pre-commit; mv .git .was";
    let replies = [calls(&[runs(&commit)]), calls(&[runs(steer)]), says("done")];
    let home = home_with(&replies, "");
    let workspace = home.workspace();
    if !has_bubblewrap() || git(&workspace, "init -q").is_none() {
        return;
    }
    std::fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
    std::fs::write(workspace.join("a"), "a").unwrap();
    let config = std::fs::read_to_string(workspace.join(".git/config")).unwrap();
    let client = play(Machine::Whole, &home, "default");
    let asked = questions(&client, 0);
    assert_eq!(asked.len(), 2);
    let text = text_of(&asked[0]["toolCall"]);
    assert!(text.contains("`.git` but for its configuration and hooks"), "{text}");
    let ends = ends(&client, 0);
    assert_eq!(ends[0]["status"], "completed", "{}", text_of(&ends[0]));
    assert_eq!(git(&workspace, "log --format=%s").unwrap(), "one\n");
    assert_eq!(ends[1]["status"], "failed");
    assert!(text_of(&ends[1]).contains("outside_sandbox"), "{}", text_of(&ends[1]));
    assert_eq!(std::fs::read_to_string(workspace.join(".git/config")).unwrap(), config);
    assert!(!workspace.join(".git/hooks/pre-commit").exists() && !workspace.join(".was").exists());
}

#[test]
fn a_program_that_is_named_gets_its_cache_where_the_network_is_on() {
    for (machine, sandbox, can) in [
        (Machine::Whole, "", true),
        (Machine::WithoutNamespaces, "", true),
        (Machine::Whole, "network = false", false),
    ] {
        if !has_any(machine) {
            continue;
        }
        let command = "mkdir -p ~/.npm/made; : npm install; echo x > ~/.npmrc";
        let home = home_with(&[calls(&[runs(command)]), says("done")], sandbox);
        // Not in `/tmp`, which is another one in the sandbox.
        let outer = tempfile::tempdir_in("/var/tmp").unwrap();
        let client = on(machine, || {
            let mut starting = home.command(&["acp"]);
            starting.env("HOME", outer.path());
            let mut client = Client::spawn(starting);
            client.request("initialize", json!({"protocolVersion": 1})).unwrap();
            let session = client.new_session(&home.workspace());
            set_mode(&mut client, &session, "dont_ask");
            assert_eq!(client.prompt(&session, "go"), "end_turn");
            client
        });
        assert_eq!(
            ends(&client, 0)[0]["status"],
            "failed",
            "the rest of the home folder is held"
        );
        assert_eq!(outer.path().join(".npm/made").exists(), can, "{machine:?} {sandbox}");
        assert!(!outer.path().join(".npmrc").exists());
    }
}

#[test]
fn a_server_that_can_not_be_used_in_the_sandbox_says_how_it_is_left_out() {
    let server = "[mcp_servers.docker]\ncommand = \"sh\"\nargs = [\"-c\", \"exit 3\"]";
    for (more, expect) in [("", has_any(Machine::Whole)), ("mode = \"off\"", false)] {
        let home = home_with(&[says("done")], &format!("{more}\n{server}"));
        let (mut client, session) = Client::with_session(&home);
        client.prompt(&session, "go");
        client.prompt(&session, "/mcp");
        let told = client.said(0);
        assert_eq!(
            told.contains("`outside = [\"docker\"]` under [sandbox]"),
            expect,
            "{told}"
        );
    }
}

#[test]
fn what_is_never_run_is_not_run_in_a_closed_sandbox_either() {
    let home = home_with(&[calls(&[runs("rm -rf ~")]), says("done")], "network = false");
    let client = play(Machine::Whole, &home, "accept_edits");
    assert!(text_of(&ends(&client, 0)[0]).contains("never run"));
}

#[test]
fn a_required_sandbox_that_is_not_there_fails_each_command_and_asks_nobody() {
    let replies = [calls(&[runs("touch a")]), says("done")];
    let home = home_with(&replies, "mode = \"required\"");
    let client = play(Machine::Bare, &home, "dont_ask");
    let end = &ends(&client, 0)[0];
    assert_eq!(end["status"], "failed");
    let text = text_of(end);
    for part in ["required", "bubblewrap"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(questions(&client, 0).len(), 0);
    assert!(!home.workspace().join("a").exists());
}

#[test]
fn a_required_sandbox_is_not_left() {
    let replies = [calls(&[runs_outside("touch a")]), says("done")];
    let home = home_with(&replies, "mode = \"required\"");
    let client = play(Machine::Whole, &home, "dont_ask");
    assert_eq!(ends(&client, 0)[0]["status"], "failed");
    assert!(!home.workspace().join("a").exists());
}

#[test]
fn what_a_command_makes_that_steers_tools_is_told_to_the_user_and_the_model() {
    if !has_any(Machine::Whole) {
        return;
    }
    let home = home_with(&[calls(&[runs("mkdir .vscode")]), says("done")], "");
    let client = play(Machine::Whole, &home, "default");
    let end = text_of(&ends(&client, 0)[0]);
    assert!(end.contains(".vscode, which steers tools"), "{end}");
}

#[test]
fn our_own_folders_are_not_seen() {
    let home = home_with(&[calls(&[runs("cd .. && cat */config.toml")]), says("done")], "");
    for machine in [Machine::Whole, Machine::WithoutNamespaces]
        .into_iter()
        .filter(|machine| has_any(*machine))
    {
        let client = play(machine, &home, "dont_ask");
        let end = &ends(&client, 0)[0];
        assert_eq!(end["status"], "failed");
        assert!(!text_of(end).contains("[providers"), "{end}");
    }
}

#[test]
fn a_server_is_held_in_unless_the_configuration_leaves_it_out() {
    let script = "touch ../by-server; exec ./mcp_server";
    for (machine, more, is_outside) in [
        (Machine::Whole, "", false),
        (Machine::WithoutNamespaces, "", false),
        (Machine::Whole, "outside = [\"test\"]", true),
    ] {
        if !has_any(machine) {
            continue;
        }
        let server = format!("[mcp_servers.test]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]");
        let home = home_with(&[says("done")], &format!("{more}\n{server}"));
        // Where it was built is not seen from the sandbox if that lies in `/tmp`.
        std::fs::copy(env!("CARGO_BIN_EXE_mcp_server"), home.workspace().join("mcp_server")).unwrap();
        let client = on(machine, || {
            let (mut client, session) = Client::with_session(&home);
            client.prompt(&session, "go");
            client.prompt(&session, "/mcp");
            client
        });
        assert!(client.said(0).contains("ready"), "{}", client.said(0));
        assert_eq!(
            home.workspace().join("../by-server").exists(),
            is_outside,
            "{machine:?}"
        );
    }
}
