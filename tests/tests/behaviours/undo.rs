//! Turns taken back through the whole program: in an editor, in `agent run`, and after a crash.

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home, run};
use talaria_tests::editor::{Editor, Way, capabilities};
use talaria_tests::mock::{Mock, Reply};
use talaria_tests::start::{asked, config_of, load, wait_until};

use crate::play::{calls, conversation, home, says, set_mode};

fn told(client: &mut Client, session: &str, command: &str) -> String {
    let from = client.log.len();
    assert_eq!(client.prompt(session, command), "end_turn");
    client.said(from)
}

fn patch(old: &str, new: &str) -> (&'static str, Value) {
    ("patch", json!({"path": "a.txt", "old_string": old, "new_string": new}))
}

fn on_disk(home: &Home) -> String {
    std::fs::read_to_string(home.workspace().join("a.txt")).unwrap_or_default()
}

/// A home with a file, and a client in it with this editor.
fn open(home: &Home, editor: Option<Editor>) -> (Client, String) {
    std::fs::write(home.workspace().join("a.txt"), "old\n").unwrap();
    let declared = editor.as_ref().map_or_else(|| json!({}), |_| capabilities());
    let mut client = Client::initialized(home, declared);
    client.editor = editor;
    let session = client.new_session(&home.workspace());
    set_mode(&mut client, &session, "accept_edits");
    (client, session)
}

#[test]
fn a_turn_that_was_taken_back_is_gone_for_model_and_load() {
    let mock = Mock::answering(|_| Reply::text("hello"));
    let home = Home::with_config(&config_of(&mock, ""));
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "first");
    client.prompt(&session, "second");
    assert!(told(&mut client, &session, "/undo").contains("Taken back: `second`"));
    client.prompt(&session, "third");
    let users = |mock: &Mock| -> Vec<String> {
        let sent = conversation(mock.requests().last().unwrap());
        let users = sent.into_iter().filter(|(role, _)| role == "user");
        users.map(|(_, text)| text).collect()
    };
    assert_eq!(users(&mock), ["first", "third"]);
    assert!(told(&mut client, &session, "/undo").contains("Taken back: `third`"));
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    let from = load(&mut client, &session, &home.workspace()).unwrap();
    let shown = asked(&client, from);
    assert_eq!(shown, ["first", "/undo", "/undo"]);
    assert!(told(&mut client, &session, "/redo").contains("There again: `third`"));
    client.prompt(&session, "fourth");
    assert_eq!(users(&mock), ["first", "third", "fourth"]);
}

/// The last plan that was shown from a message on, an item a line.
fn plan(client: &Client, from: usize) -> Option<Vec<String>> {
    let mut updates = client.log[from..]
        .iter()
        .map(|message| &message["params"]["update"])
        .filter(|update| update["sessionUpdate"] == "plan");
    let entries = updates.next_back()?["entries"].as_array()?.iter();
    Some(
        entries
            .map(|entry| entry["content"].as_str().unwrap().to_owned())
            .collect(),
    )
}

#[test]
fn the_to_do_list_is_that_of_the_conversation_whoever_made_it() {
    let item = |id: &str| json!({"id": id, "content": id, "status": "pending"});
    let todo = |items: Value| calls(&[("todo", json!({"items": items, "merge": true}))]);
    let first = [todo(json!([item("one")])), says("done")];
    let home = home(&[&first[..], &[todo(json!([item("two")])), says("done")]].concat());
    let (mut client, session) = Client::with_session(&home);
    client.prompt(&session, "go");
    assert_eq!(plan(&client, 0).unwrap(), ["one"]);
    client.kill();
    // The script begins anew: its first call adds what is there already, the second one goes on.
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    client.prompt(&session, "go");
    client.prompt(&session, "go");
    assert_eq!(plan(&client, 0).unwrap(), ["one", "two"]);
    let from = client.log.len();
    told(&mut client, &session, "/undo");
    assert_eq!(plan(&client, from).unwrap(), ["one"]);
    let from = client.log.len();
    told(&mut client, &session, "/clear");
    assert_eq!(plan(&client, from).unwrap(), [""; 0]);
}

#[test]
fn an_editor_writes_what_is_put_back() {
    let home = home(&[calls(&[patch("old", "new")]), says("done")]);
    let mut editor = Editor::new();
    editor.shows(&home.workspace().join("a.txt"), "old\n");
    let (mut client, session) = open(&home, Some(editor));
    client.prompt(&session, "go");
    assert_eq!(on_disk(&home), "new\n");
    let from = client.log.len();
    assert!(told(&mut client, &session, "/undo").contains("Files put back:\n\n- `a.txt`"));
    assert_eq!(on_disk(&home), "old\n");
    let written = client.asked_for(from, "fs/write_text_file");
    assert_eq!(written[0]["params"]["content"], "old\n");
    assert!(told(&mut client, &session, "/redo").contains("- `a.txt`"));
    assert_eq!(on_disk(&home), "new\n");
}

#[test]
fn a_cancel_in_the_middle_of_many_files_leaves_what_the_next_undo_goes_on_with() {
    const COUNT: usize = 50;
    let names: Vec<String> = (0..COUNT).map(|number| format!("f{number:02}")).collect();
    let hunks = names
        .iter()
        .map(|name| format!("*** Update File: {name}\n@@\n-old\n+new\n"));
    let patch = format!("*** Begin Patch\n{}*** End Patch", hunks.collect::<String>());
    let home = home(&[calls(&[("patch", json!({ "patch": patch }))]), says("done")]);
    for name in &names {
        std::fs::write(home.workspace().join(name), "old\n").unwrap();
    }
    let held = |text: &str| {
        let holds = |name: &&String| std::fs::read_to_string(home.workspace().join(name)).unwrap() == text;
        names.iter().filter(holds).count()
    };
    let (mut client, session) = open(&home, Some(Editor::new()));
    client.prompt(&session, "go");
    assert_eq!(held("new\n"), COUNT);

    let mut editor = client.editor.take().unwrap();
    let undo = client.begin_prompt(&session, "/undo");
    let from = client.log.len();
    loop {
        let message = client.next();
        if message["method"] == "fs/write_text_file" && held("old\n") == 40 {
            client.notify("session/cancel", json!({"sessionId": session}));
            break;
        }
        if let Some(answer) = editor.serve(&message) {
            client.send(&answer);
        }
    }
    assert_eq!(client.stop_reason(undo), "cancelled");
    assert_eq!(
        held("old\n"),
        40,
        "nothing is done after the cancel, and nothing taken back"
    );
    let said = client.said(from);
    assert!(said.contains("40 of 50 files are put back already"), "{said}");
    assert!(said.contains("`f39`") && !said.contains("`f40`"), "{said}");

    client.editor = Some(editor);
    assert!(told(&mut client, &session, "/undo").contains("Taken back: `go`"));
    assert_eq!(held("old\n"), COUNT);
    assert!(told(&mut client, &session, "/redo").contains("There again: `go`"));
    assert_eq!(held("new\n"), COUNT);
}

#[test]
fn what_an_editor_made_of_an_edit_is_taken_back_however_it_writes() {
    for way in [Way::Well, Way::Error, Way::Pretends, Way::Instead("odd\n".into())] {
        let home = home(&[calls(&[patch("old", "new")]), says("done")]);
        let editor = Editor::new().with(|editor| editor.writes = Way::Instead("formatted\n".into()));
        let (mut client, session) = open(&home, Some(editor));
        client.prompt(&session, "go");
        assert_eq!(on_disk(&home), "formatted\n");
        client.editor.as_mut().unwrap().writes = way.clone();
        let said = told(&mut client, &session, "/undo");
        if way == Way::Instead("odd\n".into()) {
            assert!(said.contains("saved another text"), "{said}");
            assert_eq!(on_disk(&home), "odd\n");
        } else {
            assert_eq!(on_disk(&home), "old\n", "{way:?}: {said}");
        }
        client.editor.as_mut().unwrap().writes = Way::Error;
        told(&mut client, &session, "/redo");
        assert_eq!(on_disk(&home), "formatted\n", "{way:?}");
    }
}

#[test]
fn what_the_user_has_typed_since_is_not_overwritten() {
    let home = home(&[calls(&[patch("old", "new")]), says("done")]);
    let path = home.workspace().join("a.txt");
    let mut editor = Editor::new();
    editor.shows(&path, "old\n");
    let (mut client, session) = open(&home, Some(editor));
    client.prompt(&session, "go");
    client.editor.as_mut().unwrap().shows(&path, "new\ntyped\n");
    let said = told(&mut client, &session, "/undo");
    assert!(
        said.contains("`a.txt` has changes in the editor that are not saved"),
        "{said}"
    );
    assert_eq!(on_disk(&home), "new\n");
    told(&mut client, &session, "/undo force");
    assert_eq!(on_disk(&home), "old\n");
    told(&mut client, &session, "/redo");
    assert_eq!(on_disk(&home), "new\ntyped\n", "what was typed comes back");
}

#[test]
fn a_turn_that_a_kill_has_ended_is_taken_back() {
    let wait = json!({"steps": [{"wait_cancel": true}]});
    let home = home(&[calls(&[patch("old", "new")]), wait]);
    let (mut client, session) = open(&home, None);
    client.begin_prompt(&session, "go");
    wait_until("the edit is made", || on_disk(&home) == "new\n");
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    let said = told(&mut client, &session, "/undo");
    assert!(said.contains("Taken back: `go`"), "{said}");
    assert_eq!(on_disk(&home), "old\n");
}

#[test]
fn an_undo_is_allowed_in_plan_mode_and_asks_nothing() {
    let home = home(&[calls(&[patch("old", "new")]), says("done")]);
    let (mut client, session) = open(&home, None);
    client.prompt(&session, "go");
    set_mode(&mut client, &session, "plan");
    let from = client.log.len();
    told(&mut client, &session, "/undo");
    assert_eq!(on_disk(&home), "old\n");
    assert!(client.asked_for(from, "session/request_permission").is_empty());
}

#[test]
fn a_file_with_a_key_is_put_back_byte_for_byte_by_another_process() {
    let key = "KEY=sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz\nold\n";
    let home = home(&[calls(&[patch("old", "new")]), says("done")]);
    let (mut client, session) = open(&home, None);
    std::fs::write(home.workspace().join("a.txt"), key).unwrap();
    client.prompt(&session, "go");
    assert_eq!(on_disk(&home), key.replace("old", "new"));
    client.kill();
    let mut client = Client::initialized(&home, json!({}));
    load(&mut client, &session, &home.workspace()).unwrap();
    told(&mut client, &session, "/undo");
    assert_eq!(on_disk(&home), key);
}

#[test]
fn a_run_takes_back_what_the_last_one_did() {
    let home = Home::new();
    let agent = |args: &[&str]| {
        let (status, stdout, stderr) = run(home.command(args), "");
        assert!(status.success(), "{stderr}");
        stdout
    };
    agent(&["run", "--mode", "accept_edits", "create a.txt with hello"]);
    assert_eq!(on_disk(&home).trim(), "hello");
    let said = agent(&["run", "--continue", "/undo"]);
    assert!(said.contains("`a.txt` (it is gone)"), "{said}");
    assert!(!home.workspace().join("a.txt").exists());
    let json = agent(&["run", "--continue", "--json", "/redo"]);
    assert!(
        json.contains("\"why\":\"redo\"") && json.contains("\"files_kept\""),
        "{json}"
    );
    assert_eq!(on_disk(&home).trim(), "hello");
}

#[test]
fn what_is_on_disk_is_not_lost_behind_an_older_text_in_the_editor() {
    for shown in ["new\n", "old\n", "new\ntyped\n"] {
        let home = home(&[calls(&[patch("old", "new")]), says("done")]);
        let path = home.workspace().join("a.txt");
        let (mut client, session) = open(&home, Some(Editor::new()));
        client.prompt(&session, "go");
        client.kill();
        let mut client = Client::initialized(&home, capabilities());
        load(&mut client, &session, &home.workspace()).unwrap();
        std::fs::write(&path, "theirs\n").unwrap();
        let mut editor = Editor::new();
        editor.shows(&path, shown);
        client.editor = Some(editor);
        for command in ["/undo", "/undo force"] {
            let said = told(&mut client, &session, command);
            assert!(
                said.contains("your editor shows another text") && said.contains("`/undo keep`"),
                "{said}"
            );
            assert_eq!(on_disk(&home), "theirs\n", "{shown}: {command}");
        }
        told(&mut client, &session, "/undo keep");
        assert_eq!(on_disk(&home), "theirs\n");
    }
}

#[test]
fn what_an_editor_made_of_a_redo_is_the_turns() {
    let home = home(&[calls(&[patch("old", "new")]), says("done")]);
    let (mut client, session) = open(&home, Some(Editor::new()));
    client.prompt(&session, "go");
    told(&mut client, &session, "/undo");
    client.editor.as_mut().unwrap().writes = Way::Instead("formatted\n".into());
    told(&mut client, &session, "/redo");
    assert_eq!(on_disk(&home), "formatted\n");
    client.editor.as_mut().unwrap().writes = Way::Well;
    let said = told(&mut client, &session, "/undo");
    assert!(said.contains("Files put back"), "{said}");
    assert_eq!(on_disk(&home), "old\n");
}
