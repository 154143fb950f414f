//! The editor, the disk and what was shown do not say the same.

use serde_json::json;
use talaria_tests::client::Client;
use talaria_tests::editor::{Editor, Way};

use crate::editor_files::{
    WRITE, file, home_of, on_disk, open, patch, read, run, shown_diff, told, work, write, writing,
};
use crate::play::{self, calls, ends, says, text_of};

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
