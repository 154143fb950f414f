//! Edits of files that are not plain, through the whole program.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use talaria_tests::client::{Client, Home};

use crate::play::{calls, diffs, ends, home, says, set_mode, text_of};

fn patch(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("patch", json!({"path": path, "old_string": old, "new_string": new}))
}

/// One turn of calls that needs no question.
fn work(home: &Home) -> Client {
    let (mut client, session) = Client::with_session(home);
    set_mode(&mut client, &session, "accept_edits");
    assert_eq!(client.prompt(&session, "go"), "end_turn");
    client
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_edit_of_a_large_file_is_a_small_message_and_an_exact_edit() {
    let home = home(&[
        calls(&[patch("big.txt", "line 123456 of many", "the changed line")]),
        says("done"),
    ]);
    let text: String = (0..1_000_000)
        .map(|number| format!("line {number} of many\n"))
        .collect();
    assert!(text.len() > 18_000_000);
    let path = home.workspace().join("big.txt");
    std::fs::write(&path, &text).unwrap();
    let client = work(&home);
    assert_eq!(ends(&client, 0)[0]["status"], "completed");
    let expect = text.replace("line 123456 of many\n", "the changed line\n");
    assert!(std::fs::read_to_string(&path).unwrap() == expect, "the edit is exact");
    for update in client.updates(0) {
        assert!(update.to_string().len() < 256 * 1024);
    }
    let updates = client.updates(0);
    let shown = updates.iter().find(|update| !diffs(update).is_empty()).unwrap();
    let diff = diffs(shown)[0];
    assert!(diff["oldText"].as_str().unwrap().contains("line 123456 of many\n"));
    assert_eq!(
        diff["oldText"]
            .as_str()
            .unwrap()
            .replace("line 123456 of many\n", "the changed line\n"),
        diff["newText"].as_str().unwrap()
    );
    assert!(
        text_of(shown).contains("only its changed parts"),
        "the excerpt is said to be one"
    );
}

#[test]
fn an_edit_changes_its_line_and_no_other_byte() {
    let long = "x".repeat(1024 * 1024);
    let utf_16 = |text: &str| -> Vec<u8> {
        "\u{feff}"
            .chars()
            .chain(text.chars())
            .collect::<String>()
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let table: [(&str, Vec<u8>, &str); 7] = [
        ("no_newline.txt", b"one\nedit me\nlast without end".to_vec(), "edit me"),
        (
            "form_feed.txt",
            b"one\n\x0c\nedit me\n\x0b\x0c\ntwo\n".to_vec(),
            "edit me",
        ),
        ("long.txt", format!("{long}\nedit me\n{long}\n").into_bytes(), "edit me"),
        ("crlf.txt", b"one\r\nedit me\r\ntwo\r\n".to_vec(), "edit me"),
        ("mixed.txt", b"one\r\nedit me\ntwo\r\n".to_vec(), "edit me"),
        ("bom.txt", b"\xef\xbb\xbfone\nedit me\ntwo\n".to_vec(), "edit me"),
        ("utf16.txt", utf_16("one\nedit me\ntwo é\n"), "edit me"),
    ];
    let made: Vec<(&str, Value)> = table.iter().map(|(name, _, old)| patch(name, old, "edited")).collect();
    let home = home(&[calls(&made), says("done")]);
    let folder = home.workspace();
    for (name, bytes, _) in &table {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "before"]);
    let client = work(&home);
    for (end, (name, bytes, _)) in ends(&client, 0).iter().zip(&table) {
        assert_eq!(end["status"], "completed", "{name}: {end}");
        let after = std::fs::read(folder.join(name)).unwrap();
        let is_utf_16 = *name == "utf16.txt";
        let (old, new) = match is_utf_16 {
            true => (utf_16("edit me")[2..].to_vec(), utf_16("edited")[2..].to_vec()),
            false => (b"edit me".to_vec(), b"edited".to_vec()),
        };
        let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
        let expect = [&bytes[..at], &new, &bytes[at + old.len()..]].concat();
        assert!(after == expect, "{name}");
        if !is_utf_16 {
            let stat = git(&folder, &["diff", "--numstat", "--", name]);
            assert_eq!(stat.trim(), format!("1\t1\t{name}"));
        }
    }
}

#[test]
fn a_file_of_old_line_ends_is_edited_in_place() {
    let home = home(&[calls(&[patch("mac.txt", "edit me", "edited")]), says("done")]);
    std::fs::write(home.workspace().join("mac.txt"), "one\redit me\rtwo\r").unwrap();
    let client = work(&home);
    assert_eq!(ends(&client, 0)[0]["status"], "completed");
    assert_eq!(
        std::fs::read_to_string(home.workspace().join("mac.txt")).unwrap(),
        "one\redited\rtwo\r"
    );
}

#[test]
fn line_ends_are_matched_whatever_the_model_sends() {
    let home = home(&[
        calls(&[
            patch("a.txt", "one\ntwo", "1\n2"),
            patch("b.txt", "one\r\ntwo", "one\ntwo"),
        ]),
        says("done"),
    ]);
    for name in ["a.txt", "b.txt"] {
        std::fs::write(home.workspace().join(name), "one\r\ntwo\r\nthree\r\n").unwrap();
    }
    let client = work(&home);
    assert_eq!(
        std::fs::read_to_string(home.workspace().join("a.txt")).unwrap(),
        "1\r\n2\r\nthree\r\n"
    );
    // A real change, or a failure that says so.
    let after = std::fs::read_to_string(home.workspace().join("b.txt")).unwrap();
    match ends(&client, 0)[1]["status"].as_str().unwrap() {
        "completed" => assert_eq!(after, "one\ntwo\r\nthree\r\n"),
        _ => assert_eq!(after, "one\r\ntwo\r\nthree\r\n"),
    }
}

#[test]
fn an_overwritten_file_is_shown_with_what_it_held() {
    let home = home(&[
        calls(&[
            ("read_file", json!({"path": "a.txt"})),
            ("write_file", json!({"path": "a.txt", "content": "new\n"})),
            ("write_file", json!({"path": "b.txt", "content": "new\n"})),
        ]),
        says("done"),
    ]);
    std::fs::write(home.workspace().join("a.txt"), "old é\r\n\ttext\n").unwrap();
    let client = work(&home);
    let updates = client.updates(0);
    let shown: Vec<&Value> = updates.iter().flat_map(|update| diffs(update)).collect();
    assert_eq!(shown[0]["oldText"], "old é\r\n\ttext\n");
    assert!(shown[1].get("oldText").is_none_or(Value::is_null), "{}", shown[1]);
}

#[test]
fn a_binary_is_not_read_not_edited_and_deleted_without_its_bytes() {
    let delete = json!({"patch": "*** Begin Patch\n*** Delete File: gone.bin\n*** End Patch\n"});
    let home = home(&[
        calls(&[
            ("read_file", json!({"path": "a.bin"})),
            patch("a.bin", "text", "other"),
            ("patch", delete),
        ]),
        says("done"),
    ]);
    let bytes = b"\x00\x01text\x00\xff\xfe".repeat(1000);
    for name in ["a.bin", "gone.bin"] {
        std::fs::write(home.workspace().join(name), &bytes).unwrap();
    }
    let client = work(&home);
    let ends = ends(&client, 0);
    assert_eq!(
        (&ends[0]["status"], &ends[1]["status"]),
        (&json!("failed"), &json!("failed"))
    );
    assert!(text_of(&ends[0]).len() < 500, "{}", ends[0]);
    assert_eq!(std::fs::read(home.workspace().join("a.bin")).unwrap(), bytes);
    assert_eq!(ends[2]["status"], "completed", "{}", ends[2]);
    assert!(!home.workspace().join("gone.bin").exists());
    let updates = client.updates(0);
    let texts: Vec<&Value> = updates.iter().flat_map(|update| diffs(update)).collect();
    assert!(
        texts.iter().all(|diff| !diff.to_string().contains("text\\u0000")),
        "{texts:?}"
    );
}
