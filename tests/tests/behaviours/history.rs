//! What is done with stored sessions on the command line: they are named, put aside, written to files and read back,
//! shown, and let go.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::start::{asked, load};

use crate::play::{calls, home, listed, says, set_mode};

pub(crate) const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ";

/// What a command line says: its exit code, its output, its errors.
pub(crate) fn agent(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let (status, out, errors) = run(home.command(arguments), "");
    (status.code(), out, errors)
}

/// The same of one that does its work.
pub(crate) fn done(home: &Home, arguments: &[&str]) -> String {
    let (code, out, errors) = agent(home, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    out
}

pub(crate) fn json_of(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&done(home, arguments)).unwrap()
}

/// A session in which one prompt was answered, by an agent that has ended.
pub(crate) fn stored(home: &Home, prompt: &str) -> String {
    let (mut client, session) = Client::with_session(home);
    assert_eq!(client.prompt(&session, prompt), "end_turn");
    assert!(client.close().success());
    session
}

pub(crate) fn titles(home: &Home) -> Vec<Value> {
    let list = json_of(home, &["sessions", "list", "--json"]);
    list.as_array()
        .unwrap()
        .iter()
        .map(|session| session["title"].clone())
        .collect()
}

fn database(home: &Home) -> PathBuf {
    home.state().join("state.db")
}

fn edit(home: &Home, sql: &str) {
    Connection::open(database(home)).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn no_two_sessions_have_one_title() {
    let home = Home::new();
    let [one, two] = [(); 2].map(|()| stored(&home, "say pong"));
    assert_eq!(titles(&home), ["say pong (2)", "say pong"]);
    let (code, _, errors) = agent(&home, &["sessions", "rename", &two, "say", "pong"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(
        errors.contains("another session is called `say pong`; `say pong (2)` is free"),
        "{errors}"
    );
    done(
        &home,
        &[
            "sessions",
            "rename",
            &two,
            "\u{feff} The\n great \u{202e}plan 🎉 日本語 ",
        ],
    );
    assert_eq!(titles(&home)[0], "The great plan 🎉 日本語");
    // An accent in two characters looks like one in one, and a family stays one picture.
    done(
        &home,
        &["sessions", "rename", &one, "Cafe\u{301} 👨\u{200d}👩\u{200d}👧"],
    );
    assert!(titles(&home).contains(&json!("Café 👨\u{200d}👩\u{200d}👧")));
    let (code, _, errors) = agent(
        &home,
        &["sessions", "rename", &two, "Cafe\u{301} 👨\u{200d}👩\u{200d}👧"],
    );
    assert!(
        code == Some(2) && errors.contains("another session is called"),
        "{errors}"
    );
    done(&home, &["sessions", "rename", &one, "say pong"]);
    let too_long = "x".repeat(81);
    for (wrong, why) in [
        ("\u{200b}", "nothing in this title can be seen"),
        (&too_long, "81 characters"),
    ] {
        let (code, _, errors) = agent(&home, &["sessions", "rename", &two, wrong]);
        assert!(code == Some(2) && errors.contains(why), "{errors}");
    }
    // What a load shows is the new one, and a session's own title is free for it.
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &two, &home.workspace()).unwrap();
    let updates = client.updates(from);
    let titles: Vec<&Value> = updates.iter().filter_map(|update| update.get("title")).collect();
    assert_eq!(titles.last(), Some(&&json!("The great plan 🎉 日本語")));
    let from = client.log.len();
    client.prompt(&two, "/title say pong");
    assert!(
        client.said(from).contains("`say pong (2)` is free"),
        "{}",
        client.said(from)
    );
    let from = client.log.len();
    client.prompt(&two, "/title say pong (2)");
    assert_eq!(client.said(from), "Title: say pong (2)");
    assert_eq!(listed(&mut client, &one).unwrap()["title"], "say pong");
}

#[test]
fn an_archived_session_is_out_of_lists_and_searches_and_can_be_opened() {
    let home = Home::new();
    let one = stored(&home, "say quince");
    let two = stored(&home, "say quince again");
    done(&home, &["sessions", "archive", &one]);
    let list = json_of(&home, &["sessions", "list", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 1);
    let list = json_of(&home, &["sessions", "list", "--json", "--archived"]);
    assert_eq!((&list[1]["id"], &list[1]["archived"]), (&json!(one), &json!(true)));
    assert!(done(&home, &["sessions", "list", "--archived"]).contains("[archived]"));
    let hits = |more: &[&str]| {
        let arguments: Vec<&str> = ["sessions", "search", "quince", "--json"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        json_of(&home, &arguments).as_array().unwrap().len()
    };
    assert_eq!((hits(&[]), hits(&["--archived"])), (1, 2));
    let mut client = Client::initialized(&home, json!({}));
    assert!(listed(&mut client, &one).is_none() && listed(&mut client, &two).is_some());
    let from = load(&mut client, &one, &home.workspace()).unwrap();
    assert_eq!(asked(&client, from), ["say quince"]);
    assert!(client.close().success());
    done(&home, &["sessions", "archive", &two]);
    let (code, _, errors) = agent(&home, &["run", "say more", "--continue"]);
    assert_eq!(code, Some(4), "{errors}");
    done(&home, &["sessions", "unarchive", &one, &two]);
    assert_eq!(titles(&home).len(), 2);
}

#[test]
fn an_end_has_its_reason_until_the_session_is_opened_again() {
    let home = Home::new();
    let shown = |session: &str| json_of(&home, &["sessions", "show", session, "--json"])["session"].clone();
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "say one");
    assert_eq!(shown(&session)["end_reason"], Value::Null);
    client.request("session/close", json!({"sessionId": session})).unwrap();
    assert_eq!(shown(&session)["end_reason"], "closed");
    load(&mut client, &session, &home.workspace()).unwrap();
    assert_eq!(shown(&session)["end_reason"], Value::Null, "it is open");
    let other = client.new_session(&home.workspace());
    client.prompt(&other, "say two");
    client.request("session/close", json!({"sessionId": other})).unwrap();
    assert!(client.close().success());
    assert_eq!(shown(&session)["end_reason"], "disconnected");
    assert_eq!(shown(&other)["end_reason"], "closed", "the first reason stays");
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    client.prompt(&session, "say three");
    client.kill();
    assert_eq!(shown(&session)["end_reason"], Value::Null, "nobody could note it");
}

#[test]
fn a_private_key_in_a_file_stays_exact_and_is_shown_nowhere() {
    let line = "MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----\n");
    let home = home(&[
        calls(&[("write_file", json!({"path": "k.pem", "content": key}))]),
        calls(&[("terminal", json!({"command": "grep -n '' k.pem; cat k.pem"}))]),
        says("written"),
        calls(&[(
            "patch",
            json!({"path": "k.pem", "old_string": "-----END", "new_string": "x\n-----END"}),
        )]),
        says("patched"),
    ]);
    let (mut client, session) = Client::with_session(&home);
    set_mode(&mut client, &session, "dont_ask");
    assert_eq!(client.prompt(&session, "write a key"), "end_turn");
    let path = home.workspace().join("k.pem");
    assert_eq!(fs::read_to_string(&path).unwrap(), key);
    assert_eq!(client.prompt(&session, "patch it"), "end_turn");
    assert_ne!(fs::read_to_string(&path).unwrap(), key);
    assert_eq!(client.prompt(&session, "/undo"), "end_turn");
    assert_eq!(fs::read_to_string(&path).unwrap(), key, "byte for byte");
    assert!(client.close().success());
    for form in [
        vec!["show", &session],
        vec!["show", &session, "--html"],
        vec!["show", &session, "--json"],
        vec!["export", &session],
        vec!["export", &session, "--format", "jsonl"],
        vec!["export", &session, "--format", "md"],
        vec!["search", "written OR key", "--all-hits", "--json"],
    ] {
        let shown = done(&home, &[&["sessions"], form.as_slice()].concat());
        assert!(!shown.contains(&line[..40]), "{form:?}: {shown}");
    }
}

#[test]
fn a_session_is_read_as_text_markdown_and_a_page() {
    let home = home(&[
        calls(&[(
            "write_file",
            json!({"path": "a.txt", "content": "one\n</script><img src=x onerror=alert(1)>\n"}),
        )]),
        calls(&[("terminal", json!({"command": "seq 1 100"}))]),
        says("**Done**, with KEY=ghp_0123456789abcdefghijABCDEFGHIJ."),
    ]);
    let (mut client, session) = Client::with_session(&home);
    client.permission = Some("allow_once");
    client.prompt(&session, "write <b>it</b>");
    assert!(client.close().success());
    let text = done(&home, &["sessions", "show", &session]);
    for expect in [
        "write <b>it</b>\nSession     ",
        "\nEnded       ",
        "\n> write <b>it</b>\n",
        "• Write a.txt … done (",
        "\n+one\n",
        "• $ seq 1 100 … done (",
        "\n  20\n  … 80 more lines, ",
        "allowed by the user",
        "\n**Done**, with KEY=ghp_***.\n",
    ] {
        assert!(text.contains(expect), "{expect}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    let markdown = done(&home, &["sessions", "export", &session, "--format", "md"]);
    assert!(
        markdown.starts_with("# write \\<b\\>it\\</b\\>\n") && markdown.contains("```diff\n"),
        "{markdown}"
    );
    let page = home.workspace().join("page.html");
    done(
        &home,
        &[
            "sessions",
            "show",
            &session,
            "--html",
            "--output",
            page.to_str().unwrap(),
        ],
    );
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<title>write &lt;b&gt;it"),
        "{page}"
    );
    assert!(
        !page.contains("<img") && page.matches("</script>").count() == 1 && !page.contains(KEY),
        "{page}"
    );
    assert_eq!(done(&home, &["sessions", "show", &session, "--html"]), page);
    let (code, _, _) = agent(&home, &["sessions", "show", "zzz", "--html"]);
    assert_eq!(code, Some(4));
}

#[test]
fn old_sessions_are_pruned_as_they_were_listed() {
    let home = Home::new();
    let ids: Vec<String> = ["one", "two", "three", "four"]
        .iter()
        .map(|word| stored(&home, &format!("say {word}")))
        .collect();
    let child = json_of(&home, &["sessions", "fork", &ids[0], "--json"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let grandchild = json_of(&home, &["sessions", "fork", &child, "--json"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (mut client, live) = Client::with_session(&home);
    client.prompt(&live, "say live");
    let days = |days: i64, id: &str| {
        format!("UPDATE sessions SET updated_ms = updated_ms - {days} * 86400000 WHERE id = '{id}';")
    };
    edit(
        &home,
        &(days(200, &ids[0]) + &days(150, &ids[1]) + &days(100, &ids[2]) + &days(300, &live)),
    );
    let prune = |more: &[&str]| {
        let arguments: Vec<&str> = ["sessions", "prune", "--older-than", "90d"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        agent(&home, &arguments)
    };
    let (code, out, errors) = prune(&["--dry-run", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let listed: Value = serde_json::from_str(&out).unwrap();
    let found: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(found, [&ids[0], &ids[1], &ids[2]]);
    let (code, out, errors) = prune(&[]);
    assert!(code == Some(2) && errors.contains("add --yes"), "{errors}");
    assert_eq!(out.lines().count(), 3, "{out}");
    assert_eq!(titles(&home).len(), 7);
    let (code, out, errors) = prune(&["--yes", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), listed);
    let left = json_of(&home, &["sessions", "list", "--json"]);
    let left: Vec<&str> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(left.contains(&child.as_str()) && left.contains(&grandchild.as_str()) && left.contains(&live.as_str()));
    assert_eq!(left.len(), 4);
    // What a fork has copied is its own.
    let shown = done(&home, &["sessions", "show", &grandchild]);
    assert!(shown.contains("> say one"), "{shown}");
    let hits = json_of(&home, &["sessions", "search", "say one role:user", "--json"]);
    assert_eq!(hits.as_array().unwrap().len(), 1);
    for unknown in [&["--title", "x"][..], &["--older-than", "9"], &["--larger-than", "x"]] {
        let (code, _, _) = prune(unknown);
        assert_eq!(code, Some(2), "{unknown:?}");
    }
    assert_eq!(client.prompt(&live, "say more"), "end_turn");
}

#[test]
fn the_database_gets_smaller_when_nobody_else_has_it_open() {
    let home = Home::new();
    let session = stored(&home, "say one");
    let grow = "INSERT INTO events (session, seq, at_ms, kind, body)
        WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1150)
        SELECT (SELECT max(key) FROM sessions), i, 0, 'agent_text', printf('%.*c', 100000, 'x') FROM n;";
    edit(&home, grow);
    let size = |state: &Path| fs::metadata(state).unwrap().len();
    let before = size(&database(&home));
    let (mut client, other) = Client::with_session(&home);
    client.prompt(&other, "say two");
    let (code, _, errors) = agent(&home, &["sessions", "delete", &session]);
    assert_eq!(code, Some(0), "{errors}");
    if cfg!(target_os = "linux") {
        assert!(errors.contains("while no agent runs"), "{errors}");
    }
    assert!(client.close().success());
    let (code, _, errors) = agent(&home, &["sessions", "delete", &other]);
    assert!(code == Some(0) && errors.contains("MB smaller"), "{errors}");
    assert!(size(&database(&home)) < before / 10);
}
