//! Files are put back byte for byte, and forth again, also by another process.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agent_core::approval::{OptionKind, UserAnswer};
use agent_core::script::ScriptStep;

use super::{again, patch, read, replace, says_of, stage, told, tree, write};
use crate::{answering, nothing, runs};

/// Makes these calls in one turn on these files, and takes that back and forth, at last in another process.
#[track_caller]
fn check(files: &[(&str, &[u8])], calls: Vec<ScriptStep>) {
    let mut stage = stage(vec![calls]);
    let folder = stage.folder.path().to_owned();
    for (name, bytes) in files {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o640)).unwrap();
    }
    let before = tree(&folder);
    let lines = stage.turn("go", answering(UserAnswer::Chose(OptionKind::AllowOnce)));
    let after = tree(&folder);
    assert_ne!(before, after, "nothing was changed: {lines}");
    for _ in 0..2 {
        says_of(&mut stage, "/undo", &["Taken back: `go`", "Files put back"]);
        assert_eq!(tree(&folder), before);
        says_of(&mut stage, "/redo", &["There again: `go`", "Files put back"]);
        assert_eq!(tree(&folder), after);
    }
    let mut stage = again(stage, vec![]);
    says_of(&mut stage, "/undo", &["Files put back"]);
    assert_eq!(tree(&folder), before);
    let mut stage = again(stage, vec![]);
    says_of(&mut stage, "/redo", &["Files put back"]);
    assert_eq!(tree(&folder), after);
}

#[test]
fn whatever_a_turn_does_to_files_is_taken_back() {
    check(&[("a", b"old\n")], vec![replace("a", "old", "new")]);
    check(&[("a", b"old\n")], vec![read("a"), write("a", "new\n")]);
    check(&[], vec![write("a", "new\n")]);
    check(&[], vec![write("deep/er/a", "new\n"), write("deep/b", "b\n")]);
    check(&[("a", b"old\n")], vec![patch(&["*** Delete File: a"])]);
    check(
        &[("a", b"old\n")],
        vec![
            replace("a", "old", "one"),
            replace("a", "one", "two"),
            replace("a", "two", "three"),
        ],
    );
    check(
        &[("a", b"a\n"), ("b", b"b\n"), ("c/d", b"d\n")],
        vec![patch(&[
            "*** Update File: a",
            "@@",
            "-a",
            "+A",
            "*** Delete File: b",
            "*** Add File: new/e",
            "+e",
            "*** Update File: c/d",
            "*** Move to: f/g",
            "@@",
            "-d",
            "+D",
        ])],
    );
    // The first call fails, and changes nothing.
    check(
        &[("a", b"old\n")],
        vec![replace("a", "none", "x"), replace("a", "old", "new")],
    );
}

#[test]
fn every_encoding_comes_back_byte_for_byte() {
    let utf_16: Vec<u8> = "\u{feff}old é\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_key = "KEY=sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz\nold\n";
    for bytes in [
        b"\xef\xbb\xbfold\n".as_slice(),
        &utf_16,
        b"old",
        b"one\r\nold\r\n",
        b"one\nold\r\nmixed\r",
        b"caf\xe9 old\n",
        with_key.as_bytes(),
    ] {
        check(&[("a", bytes)], vec![replace("a", "old", "new")]);
        check(&[("a", bytes)], vec![patch(&["*** Delete File: a"])]);
    }
    check(&[("a", &[0, 255, 1, 254, 0])], vec![patch(&["*** Delete File: a"])]);
    check(&[("a", b"")], vec![patch(&["*** Delete File: a"])]);
    check(
        &[(".env", with_key.as_bytes())],
        vec![patch(&["*** Delete File: .env"])],
    );
}

#[test]
fn the_permissions_of_a_file_that_was_made_anew_come_back() {
    for text in ["new", "old"] {
        let mut stage = stage(vec![vec![patch(&["*** Delete File: run"]), write("run", text)]]);
        stage.file("run", "old");
        let path = stage.folder.path().join("run");
        fs::set_permissions(path, fs::Permissions::from_mode(0o750)).unwrap();
        let before = tree(stage.folder.path());
        stage.turn("go", nothing);
        let after = tree(stage.folder.path());
        assert_ne!(before, after);
        for _ in 0..2 {
            says_of(&mut stage, "/undo", &["Files put back"]);
            assert_eq!(tree(stage.folder.path()), before);
            says_of(&mut stage, "/redo", &["Files put back"]);
            assert_eq!(tree(stage.folder.path()), after);
        }
    }
}

#[test]
fn a_folder_whose_file_came_and_went_goes_too() {
    let mut stage = stage(vec![vec![
        write("deep/er/a", "a"),
        patch(&["*** Delete File: deep/er/a"]),
    ]]);
    stage.turn("go", nothing);
    assert!(stage.folder.path().join("deep/er").is_dir());
    says_of(&mut stage, "/undo", &["Taken back"]);
    assert!(!stage.folder.path().join("deep").exists());
}

#[test]
fn turns_are_taken_back_one_by_one_or_at_once() {
    let turn = |old: &str, new: &str| vec![replace("a", old, new)];
    let mut stage = stage(vec![turn("0", "1"), turn("1", "2"), turn("2", "3")]);
    stage.file("a", "0");
    for prompt in ["one", "two", "three"] {
        stage.turn(prompt, nothing);
    }
    let mut check = |command: &str, holds: &str, says: &str| {
        says_of(&mut stage, command, &[says]);
        assert_eq!(stage.read("a"), holds, "{command}");
    };
    check(
        "/rewind",
        "3",
        "- 1: `three` (changed files)\n- 2: `two` (changed files)\n- 3: `one`",
    );
    check("/rewind 4", "3", "only 3 turns");
    check("/undo", "2", "Taken back: `three`");
    check("/undo", "1", "Taken back: `two`");
    check("/redo", "2", "There again: `two`");
    check("/redo", "3", "There again: `three`");
    check("/redo", "3", "nothing to redo");
    check("/rewind 2", "1", "the last 2 turns");
    check("/undo", "0", "Taken back: `one`");
    check("/undo", "0", "no turn to take back");
    check("/redo", "1", "There again: `one`");
    check("/redo", "3", "There again: 2 turns");
    check("/rewind 3", "0", "the last 3 turns");
}

#[test]
fn commands_that_ran_are_named() {
    let mut stage = stage(vec![vec![write("a", "x"), runs("echo made > made"), runs("ls")]]);
    stage.turn("go", nothing);
    let told = told(&mut stage, "/undo");
    assert!(
        told.contains("`echo made > made`") && told.contains("not kept"),
        "{told}"
    );
    assert!(!told.contains("`ls`"), "it only reads: {told}");
    assert!(!stage.folder.path().join("a").exists() && stage.folder.path().join("made").exists());
}

#[test]
fn odd_arguments_do_nothing() {
    let mut stage = stage(vec![vec![write("a", "x")]]);
    says_of(&mut stage, "/undo", &["no turn to take back"]);
    says_of(&mut stage, "/redo", &["nothing to redo"]);
    says_of(&mut stage, "/rewind", &["no turn to take back"]);
    stage.turn("go", nothing);
    for command in [
        "/undo 1",
        "/undo it all",
        "/undo keep force",
        "/redo 2",
        "/rewind 0",
        "/rewind -1",
        "/rewind x",
        "/rewind 1 x",
        "/rewind 99999999999999999999999",
    ] {
        says_of(&mut stage, command, &["Nothing was done"]);
        assert_eq!(stage.read("a"), "x", "{command}");
    }
}

#[test]
fn a_file_that_comes_back_does_not_run_as_its_owner() {
    let mut stage = stage(vec![vec![patch(&["*** Delete File: a"])]]);
    stage.file("a", "x");
    let path = stage.folder.path().join("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    stage.turn("go", nothing);
    told(&mut stage, "/undo");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o755);
}
