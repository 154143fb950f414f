//! Files as the editor shows them: what was not saved counts, the disk is the fallback and the judge, and nobody waits
//! for an editor for long.

mod conflicts;
mod waits;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};
use talaria_tests::editor::{Editor, Way, capabilities};

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
