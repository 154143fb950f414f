//! Files as the editor shows them: what was not saved counts, the disk is the fallback and the judge, and nobody waits
//! for an editor for long.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::editor::{Editor, Way, capabilities};
use talaria_tests::start::wait_until;

use crate::play::{self, calls, diffs, ends, says, text_of};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

fn patch(old: &str, new: &str) -> (&'static str, Value) {
    ("patch", json!({"path": "a.txt", "old_string": old, "new_string": new}))
}

fn read() -> (&'static str, Value) {
    ("read_file", json!({"path": "a.txt"}))
}

fn write(text: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": "a.txt", "content": text}))
}

fn run(command: &str) -> (&'static str, Value) {
    ("terminal", json!({"command": command}))
}

/// A home whose model makes these calls, one reply each.
fn home_of(steps: &[(&str, Value)]) -> Home {
    let replies: Vec<Value> = steps.iter().map(|step| calls(std::slice::from_ref(step))).collect();
    play::home(&[replies, vec![says("done")]].concat())
}

fn file(home: &Home) -> PathBuf {
    home.workspace().join("a.txt")
}

fn on_disk(home: &Home) -> String {
    std::fs::read_to_string(file(home)).unwrap()
}

/// A client with this editor, and a session.
fn open(home: &Home, editor: Editor) -> (Client, String) {
    let mut client = Client::initialized(home, capabilities());
    client.editor = Some(editor);
    let session = client.new_session(&home.workspace());
    (client, session)
}

/// Works through the model's replies with an editor that shows `buffer` of the file with `disk`.
fn work(home: &Home, disk: &str, buffer: Option<&str>, editor: Editor) -> Client {
    std::fs::write(file(home), disk).unwrap();
    let mut editor = editor;
    buffer.into_iter().for_each(|text| editor.shows(&file(home), text));
    let (mut client, session) = open(home, editor);
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    client
}

fn reading(way: Way) -> Editor {
    Editor::new().with(|editor| editor.reads = way)
}

fn writing(way: Way) -> Editor {
    Editor::new().with(|editor| editor.writes = way)
}

fn told(end: &Value) -> String {
    let raw = end["rawOutput"]["output"].as_str().unwrap_or_default();
    format!("{raw}{}", text_of(end))
}

fn shown_diff(client: &Client) -> (String, String) {
    let updates = client.updates(0);
    let diff = updates.iter().flat_map(|update| diffs(update)).next().unwrap();
    (
        diff["oldText"].as_str().unwrap().to_owned(),
        diff["newText"].as_str().unwrap().to_owned(),
    )
}

#[test]
fn what_is_not_saved_yet_is_read_shown_and_changed() {
    let home = home_of(&[read(), patch("typed", "edited"), write("whole\n")]);
    let client = work(&home, "old\n", Some("typed\n"), Editor::new());
    let ends = ends(&client, 0);
    let shown = text_of(&ends[0]);
    assert!(shown.contains("1\ttyped") && shown.contains("not saved yet"), "{shown}");
    assert_eq!(shown_diff(&client), ("typed\n".into(), "edited\n".into()));
    assert!(ends.iter().all(|end| end["status"] == "completed"), "{ends:?}");
    assert_eq!(on_disk(&home), "whole\n");
    let written: Vec<Value> = client.asked_for(0, WRITE);
    let texts: Vec<&Value> = written.iter().map(|message| &message["params"]["content"]).collect();
    assert_eq!(texts, ["edited\n", "whole\n"]);
}

#[test]
fn a_new_file_is_written_by_the_editor_with_its_folders() {
    let new = ("write_file", json!({"path": "new/deep/b.txt", "content": "b\n"}));
    let home = home_of(&[new]);
    let client = work(&home, "", None, Editor::new());
    assert_eq!(ends(&client, 0)[0]["status"], "completed");
    let path = home.workspace().join("new/deep/b.txt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "b\n");
    assert_eq!(client.asked_for(0, WRITE)[0]["params"]["path"], json!(path));
}

#[test]
fn an_editor_that_can_not_read_is_replaced_by_the_disk() {
    for way in [Way::Error, Way::Senseless, Way::Silent, Way::Pretends] {
        let home = home_of(&[read(), patch("old", "new"), read()]);
        let begin = Instant::now();
        let client = work(&home, "old\n", Some("typed\n"), reading(way.clone()));
        assert!(begin.elapsed() < Duration::from_secs(8), "{way:?}");
        let ends = ends(&client, 0);
        assert!(text_of(&ends[0]).contains("1\told"), "{way:?}: {ends:?}");
        assert!(text_of(&ends[2]).contains("1\tnew"), "{way:?}: {ends:?}");
        assert_eq!(on_disk(&home), "new\n", "{way:?}");
        if way == Way::Silent {
            // One that was slow is left alone for a while.
            assert_eq!(client.asked_for(0, READ).len(), 1);
        }
    }
}

#[test]
fn what_lands_on_disk_is_what_was_shown_however_the_editor_writes() {
    for way in [Way::Well, Way::Error, Way::Silent, Way::Pretends, Way::Senseless] {
        for buffer in [None, Some("old typed\n")] {
            let home = home_of(&[read(), patch("old", "new"), write("whole\n"), read()]);
            let client = work(&home, "old\n", buffer, writing(way.clone()));
            let ends = ends(&client, 0);
            assert_eq!(ends[1]["status"], "completed", "{way:?} {buffer:?}: {}", ends[1]);
            let (old, new) = shown_diff(&client);
            assert_eq!(old, buffer.unwrap_or("old\n"));
            assert_eq!(new, old.replace("old", "new"));
            assert_eq!(ends[2]["status"], "completed", "{way:?} {buffer:?}: {}", ends[2]);
            assert_eq!(on_disk(&home), "whole\n", "{way:?} {buffer:?}");
            assert!(
                text_of(&ends[3]).contains("1\twhole"),
                "{way:?} {buffer:?}: {}",
                ends[3]
            );
        }
    }
}

#[test]
fn another_text_that_the_editor_saved_stays_and_is_told() {
    let home = home_of(&[patch("old", "new"), write("whole\n"), read()]);
    let client = work(&home, "old\n", None, writing(Way::Instead("formatted\n".into())));
    let ends = ends(&client, 0);
    assert_eq!(ends[0]["status"], "completed");
    assert!(told(&ends[0]).contains("saved another text"), "{}", ends[0]);
    assert!(told(&ends[1]).contains("read it first"), "{}", ends[1]);
    assert!(text_of(&ends[2]).contains("1\tformatted"), "{}", ends[2]);
    assert_eq!(on_disk(&home), "formatted\n");
}

#[test]
fn old_text_is_never_written_over_new() {
    let sed = || run("sed -i s/one/NEW/ a.txt");
    // The editor and the disk agreed once: the buffer is known to be old.
    let home = home_of(&[read(), sed(), read(), patch("two", "2")]);
    let client = work(&home, "one\ntwo\n", Some("one\ntwo\n"), Editor::new());
    let stale = ends(&client, 0);
    let shown = text_of(&stale[2]);
    assert!(
        shown.contains("1\tNEW") && shown.contains("still shows the text from before"),
        "{shown}"
    );
    assert_eq!(shown_diff(&client), ("NEW\ntwo\n".into(), "NEW\n2\n".into()));
    assert_eq!(on_disk(&home), "NEW\n2\n");

    // Nobody knows whether the buffer is old or new: nothing is written.
    let home = home_of(&[sed(), read(), patch("two", "2"), write("one\ntwo\n")]);
    let client = work(&home, "one\ntwo\n", Some("one\ntwo\n"), Editor::new());
    let unclear = ends(&client, 0);
    let shown = text_of(&unclear[1]);
    assert!(
        shown.contains("1\tNEW") && shown.contains("save or reload it"),
        "{shown}"
    );
    for end in &unclear[2..] {
        assert_eq!(end["status"], "failed");
        assert!(told(end).contains("ask the user to save or to reload"), "{end}");
    }
    assert_eq!(on_disk(&home), "NEW\ntwo\n");
    assert_eq!(client.asked_for(0, WRITE).len(), 0);

    // Both changed: what the user typed and what the command wrote.
    let home = play::home(&[
        calls(&[read()]),
        says("read"),
        calls(&[sed()]),
        calls(&[patch("two", "2")]),
        says("done"),
    ]);
    std::fs::write(file(&home), "one\ntwo\n").unwrap();
    let (mut client, session) = open(&home, Editor::new());
    client.prompt(&session, "go");
    client.editor.as_mut().unwrap().shows(&file(&home), "one\ntwo\ntyped\n");
    let from = client.log.len();
    client.prompt(&session, "go on");
    let both = ends(&client, from);
    assert!(
        told(&both[1]).contains("ask the user to save or to reload"),
        "{}",
        both[1]
    );
    assert_eq!(on_disk(&home), "NEW\ntwo\n");
}

#[test]
fn an_edit_on_disk_is_not_undone_by_what_an_editor_still_shows() {
    // It reads and does not write, so its buffers are never told of an edit.
    let home = home_of(&[read(), patch("one", "1"), read(), patch("two", "2"), read()]);
    for buffer in ["one\ntwo\n", "one\ntwo\ntyped\n"] {
        std::fs::write(file(&home), "one\ntwo\n").unwrap();
        let mut editor = Editor::new();
        editor.shows(&file(&home), buffer);
        let mut client = Client::initialized(&home, json!({"fs": {"readTextFile": true}}));
        client.editor = Some(editor);
        let session = client.new_session(&home.workspace());
        assert_eq!(client.prompt(&session, "go"), "end_turn");
        assert!(ends(&client, 0).iter().all(|end| end["status"] == "completed"));
        assert_eq!(on_disk(&home), buffer.replace("one", "1").replace("two", "2"));
        assert_eq!(client.asked_for(0, WRITE).len(), 0);
    }
}

#[test]
fn line_ends_are_the_files_whatever_the_editor_shows() {
    let home = home_of(&[read(), patch("two", "2")]);
    let client = work(
        &home,
        "one\r\ntwo\r\nthree\r\n",
        Some("one\ntwo\nthree\n"),
        Editor::new(),
    );
    assert!(!text_of(&ends(&client, 0)[0]).contains("not saved"));
    assert_eq!(on_disk(&home), "one\r\n2\r\nthree\r\n");
    let home = home_of(&[read(), patch("two", "2")]);
    let client = work(&home, "one\r\ntwo\r\n", Some("one\ntwo\ntyped\n"), Editor::new());
    assert!(text_of(&ends(&client, 0)[0]).contains("3\ttyped"));
    assert_eq!(on_disk(&home), "one\r\n2\r\ntyped\r\n");
    let home = home_of(&[patch("two", "2")]);
    let instead = writing(Way::Instead("one\n2\nthree\n".into()));
    work(&home, "one\r\ntwo\r\nthree\r\n", None, instead);
    assert_eq!(on_disk(&home), "one\r\n2\r\nthree\r\n");
}

#[test]
fn what_is_no_plain_text_a_secret_or_elsewhere_stays_on_disk() {
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().canonicalize().unwrap().join("b.txt");
    std::fs::write(&elsewhere, "old\n").unwrap();
    let names = ["bom.txt", "wide.txt", "latin.txt", ".env", "large.txt"];
    let change = |path: &Path| {
        let path = path.display().to_string();
        let change = json!({"path": path, "old_string": "old", "new_string": "new"});
        [
            calls(&[("read_file", json!({"path": path}))]),
            calls(&[("patch", change)]),
        ]
    };
    let paths = names.iter().map(Path::new).chain([elsewhere.as_path()]);
    let replies: Vec<Value> = paths.flat_map(change).chain([says("done")]).collect();
    let home = play::home(&replies);
    let wide: Vec<u8> = "\u{feff}old\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let contents: [&[u8]; 5] = [
        b"\xef\xbb\xbfold\n",
        &wide,
        b"old caf\xe9\n",
        b"old\n",
        &b"old\n".repeat(600_000)[..2_100_000],
    ];
    for (name, content) in names.iter().zip(contents) {
        std::fs::write(home.workspace().join(name), content).unwrap();
    }
    let (mut client, session) = open(&home, Editor::new());
    client.prompt(&session, "go");
    for method in [READ, WRITE] {
        assert_eq!(client.asked_for(0, method), Vec::<Value>::new());
    }
    assert_eq!(std::fs::read_to_string(home.workspace().join(".env")).unwrap(), "new\n");
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "new\n");
    assert!(
        std::fs::read(home.workspace().join("bom.txt"))
            .unwrap()
            .starts_with(b"\xef\xbb\xbfnew")
    );
}

#[test]
fn an_editor_is_asked_for_what_it_offers_and_what_the_user_wants() {
    let both = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    for (capabilities, config, reads, writes) in [
        (both.clone(), "", true, true),
        (both, "[files]\nbackend = \"local\"\n", false, false),
        (json!({"fs": {"readTextFile": true}}), "", true, false),
        (
            json!({"fs": {"writeTextFile": true}, "terminal": true}),
            "",
            false,
            true,
        ),
        (json!({"fs": {}}), "", false, false),
        (json!({}), "[files]\nbackend = \"auto\"\n", false, false),
    ] {
        let home = home_of(&[read(), patch("old", "new")]);
        home.add_config(config);
        std::fs::write(file(&home), "old\n").unwrap();
        let mut client = Client::initialized(&home, capabilities.clone());
        client.editor = Some(Editor::new());
        let session = client.new_session(&home.workspace());
        client.prompt(&session, "go");
        assert_eq!(on_disk(&home), "new\n", "{capabilities}");
        let asked = [READ, WRITE].map(|method| !client.asked_for(0, method).is_empty());
        assert_eq!(asked, [reads, writes], "{capabilities} {config}");
    }
}

#[test]
fn a_change_while_the_question_is_open_refuses_the_edit() {
    for in_editor in [true, false] {
        let home = home_of(&[read(), patch("old", "new")]);
        std::fs::write(file(&home), "old\n").unwrap();
        let (mut client, session) = open(&home, Editor::new());
        client.permission = None;
        let id = client.begin_prompt(&session, "go");
        let question = client.wait_for(|message| message["method"] == "session/request_permission");
        if in_editor {
            client.editor.as_mut().unwrap().shows(&file(&home), "old typed\n");
        } else {
            std::fs::write(file(&home), "old other\n").unwrap();
        }
        client.answer(&question, "allow_once");
        client.stop_reason(id);
        let end = &ends(&client, 0)[1];
        assert!(told(end).contains("has changed since it was shown"), "{end}");
        assert_eq!(client.asked_for(0, WRITE).len(), 0);
    }
}

#[test]
fn what_is_saved_while_the_question_is_open_is_no_change() {
    let home = home_of(&[read(), patch("old", "new")]);
    std::fs::write(file(&home), "before\n").unwrap();
    let mut editor = Editor::new();
    editor.shows(&file(&home), "old typed\n");
    let (mut client, session) = open(&home, editor);
    client.permission = None;
    let id = client.begin_prompt(&session, "go");
    let question = client.wait_for(|message| message["method"] == "session/request_permission");
    std::fs::write(file(&home), "old typed\n").unwrap();
    client.editor.as_mut().unwrap().buffers.clear();
    client.answer(&question, "allow_once");
    client.stop_reason(id);
    assert_eq!(on_disk(&home), "new typed\n");
}

#[test]
fn a_patch_of_several_files_is_taken_back_whole() {
    let several = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Update File: b.txt\n@@\n-old\n+new\n*** End Patch\n";
    let home = play::home(&[calls(&[("patch", json!({"patch": several}))]), says("done")]);
    std::fs::write(file(&home), "before\n").unwrap();
    let other = home.workspace().join("b.txt");
    std::fs::write(&other, "old\n").unwrap();
    let mut editor = writing(Way::Silent);
    editor.shows(&file(&home), "old\ntyped\n");
    let (mut client, session) = open(&home, editor);
    let id = client.begin_prompt(&session, "go");
    // As the first file is written, the second one changes.
    let asked = client.wait_for(|message| message["method"] == WRITE);
    std::fs::write(&other, "other\n").unwrap();
    std::fs::write(file(&home), asked["params"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(on_disk(&home), "new\ntyped\n");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}}));
    client.stop_reason(id);
    assert!(told(&ends(&client, 0)[0]).contains("b.txt has changed since it was shown"));
    assert_eq!(on_disk(&home), "old\ntyped\n", "what was not saved is not lost");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "other\n");
}

#[test]
fn a_mention_puts_in_what_the_editor_shows() {
    let home = play::home(&[says("seen")]);
    std::fs::write(file(&home), "old\n").unwrap();
    let mut editor = Editor::new();
    editor.shows(&file(&home), "typed\n");
    let (mut client, session) = open(&home, editor);
    let uri = format!("file://{}", file(&home).display());
    let prompt = json!([{"type": "text", "text": "see "}, {"type": "resource_link", "uri": uri, "name": "a.txt"}]);
    client
        .request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
        .unwrap();
    assert_eq!(client.asked_for(0, READ).len(), 1);
    client.close();
    let shown = home
        .command(&["sessions", "show", "--json", &session])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("typed"), "{shown:?}");
}

#[test]
fn nothing_is_asked_before_the_session_is_known() {
    let home = home_of(&[read()]);
    std::fs::write(home.workspace().join("AGENTS.md"), "rules\n").unwrap();
    let client = work(&home, "old\n", None, Editor::new());
    let is_answer = |message: &Value| message["result"]["sessionId"].is_string();
    let answered = client.log.iter().position(is_answer).unwrap();
    let asked = client.log.iter().position(|message| message["method"] == READ).unwrap();
    assert!(answered < asked);
    assert_eq!(client.asked_for(0, READ).len(), 1);
}

#[test]
fn a_cancel_waits_for_no_editor_and_a_late_answer_is_nothing() {
    for (silent, method) in [(reading(Way::Silent), READ), (writing(Way::Silent), WRITE)] {
        let home = play::home(&[calls(&[patch("old", "new")]), calls(&[read()]), says("done")]);
        std::fs::write(file(&home), "old\n").unwrap();
        let (mut client, session) = open(&home, silent);
        let id = client.begin_prompt(&session, "go");
        let asked = client.wait_for(|message| message["method"] == method);
        let begin = Instant::now();
        client.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(client.stop_reason(id), "cancelled");
        assert!(begin.elapsed() < Duration::from_secs(1));
        let is_taken_back =
            |message: &Value| message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"];
        assert!(client.log.iter().any(is_taken_back), "{method}");
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "late\n"}}));
        client.editor = Some(Editor::new());
        let from = client.log.len();
        assert_eq!(client.prompt(&session, "go on"), "end_turn");
        assert!(text_of(&ends(&client, from)[0]).contains("1\told"));
    }
}

#[test]
fn a_client_that_leaves_while_it_is_asked_leaves_nothing_behind() {
    for (silent, method) in [(reading(Way::Silent), READ), (writing(Way::Silent), WRITE)] {
        let home = play::home(&[calls(&[patch("old", "new")]), says("done")]);
        std::fs::write(file(&home), "old\n").unwrap();
        let (mut client, session) = open(&home, silent);
        client.begin_prompt(&session, "go");
        client.wait_for(|message| message["method"] == method);
        let begin = Instant::now();
        assert!(client.close().success());
        assert!(begin.elapsed() < Duration::from_secs(3), "{method}");
        wait_until("the file is as it was", || on_disk(&home) == "old\n");
    }
}
