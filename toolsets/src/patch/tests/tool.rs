//! The tool on real files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use agent_core::event::ToolKind;

use super::*;
use crate::testing::{Room, call, plan};

fn tool(room: &Room) -> Patch {
    Patch::new(Arc::clone(&room.files))
}

#[test]
fn bytes_elsewhere_in_the_file_stay() {
    let check = |before: &[u8], after: &[u8]| {
        let room = Room::new();
        room.write("f", before);
        call(
            &tool(&room),
            json!({"path": "f", "old_string": "one", "new_string": "two"}),
        )
        .unwrap();
        assert_eq!(room.bytes("f"), after);
    };
    check(b"\xef\xbb\xbfone\r\nx", b"\xef\xbb\xbftwo\r\nx");
    check(b"one\rx\r", b"two\rx\r");
    check(b"a\x0c one", b"a\x0c two");
    check(b"caf\xe9 cr\xe8me one\n", b"caf\xe9 cr\xe8me two\n");
    check(b"\xff\xfeo\0n\0e\0\n\0", b"\xff\xfet\0w\0o\0\n\0");
    let long = "x".repeat(1_000_000);
    check(format!("{long}\none").as_bytes(), format!("{long}\ntwo").as_bytes());
}

#[test]
fn a_line_of_a_large_file_is_changed_and_shown_small() {
    let room = Room::new();
    let text: String = (0..200_000)
        .map(|number| format!("line {number} of a large file, with some more text in it\n"))
        .collect();
    room.write("f", &text);
    let input = json!({"path": "f", "old_string": "line 150000 of", "new_string": "row 150000 of"});
    let Plan::Change { changes } = plan(&tool(&room), input.clone()).unwrap() else {
        panic!("a change")
    };
    assert!(changes[0].excerpt && changes[0].new.as_ref().unwrap().len() < 1000);
    call(&tool(&room), input).unwrap();
    assert_eq!(room.text("f"), text.replace("line 150000 of", "row 150000 of"));
}

#[test]
fn a_binary_file_that_is_deleted_is_no_empty_one() {
    let room = Room::new();
    let check = |body: &str, new: Option<&str>| {
        room.write("f", b"a\0b");
        let patch = format!("*** Begin Patch\n*** Delete File: f\n{body}*** End Patch");
        let Plan::Change { changes } = plan(&tool(&room), json!({"patch": patch})).unwrap() else {
            panic!("a change")
        };
        let change = &changes[0];
        assert_eq!(
            (&change.old, change.new.as_deref(), change.binary),
            (&None, new, Some(3))
        );
    };
    check("", None);
    check("*** Add File: f\n+text\n", Some("text\n"));
}

#[test]
fn a_patch_changes_all_its_files_or_none() {
    let room = Room::new();
    room.write("a", "a1\n");
    room.write("b", "b1\n");
    room.write("c", "c1\n");
    let body = "*** Update File: a\n-a1\n+a2\n*** Add File: sub/new\n+n\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n-c1\n+c2\n";
    let patch = format!("*** Begin Patch\n{body}*** End Patch");
    let bad = format!("*** Begin Patch\n{body}*** Update File: a\n-nothing like it\n+x\n*** End Patch");
    let error = call(&tool(&room), json!({"patch": bad})).unwrap_err();
    assert!(error.message.contains("a: the text to replace is not there"), "{error}");
    assert_eq!(
        (room.text("a"), room.text("b"), room.path("sub").exists()),
        ("a1\n".to_owned(), "b1\n".to_owned(), false)
    );
    let output = call(&tool(&room), json!({"patch": patch})).unwrap();
    assert_eq!(output.text, "a: changed\nsub/new: created\nb: deleted\nc: moved to d");
    assert_eq!(
        (room.text("a"), room.text("sub/new"), room.text("d")),
        ("a2\n".to_owned(), "n\n".to_owned(), "c2\n".to_owned())
    );
    assert!(!room.path("b").exists() && !room.path("c").exists());
}

#[test]
fn a_plan_that_nobody_waits_for_ends() {
    let room = Room::new();
    room.write("f", "one\ntwo\n");
    let cancel = Cancel::new();
    cancel.set();
    for input in [
        json!({"path": "f", "old_string": "one  two", "new_string": "x"}),
        json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n-three\n+x\n*** End Patch"}),
        json!({"patch": "*** Begin Patch\n*** Add File: g\n+x\n*** End Patch"}),
    ] {
        let planned = tool(&room).plan(&input, &cancel).and_then(|planned| {
            (planned.action)(&agent_core::tool::Run {
                cancel: &cancel,
                report: &|_| {},
                keep: &|_| Ok(()),
            })
        });
        let error = planned.unwrap_err();
        assert!(error.message.contains("cancelled"), "{input}: {error}");
    }
}

#[test]
fn what_is_shown_is_what_lands_on_disk() {
    let room = Room::new();
    for number in 0..100_u64 {
        let line = |index: u64| format!("{}\r\n", (index * 7 + number * 13) % 31);
        let text: String = (0..number + 2).map(line).collect();
        room.write("f", &text);
        let (old, new) = (format!("{}{}", line(0), line(1)), format!("new {number}\r\n"));
        let input = json!({"path": "f", "old_string": old, "new_string": new, "replace_all": true});
        let planned = tool(&room).plan(&input, &Cancel::new()).unwrap();
        let Plan::Change { changes } = &planned.plan else {
            panic!("a change")
        };
        assert_eq!(changes[0].old.as_deref(), Some(text.as_str()));
        let shown = changes[0].new.clone().unwrap();
        call(&tool(&room), input).unwrap();
        assert_eq!(room.text("f"), shown);
    }
}

#[test]
fn a_misfit_is_planned_as_reading_and_fails_with_the_nearest_text() {
    let room = Room::new();
    room.write("f", "let total = 1;\n");
    let input = json!({"path": "f", "old_string": "let totals = 2;", "new_string": "x"});
    assert!(matches!(plan(&tool(&room), input.clone()).unwrap(), Plan::Read { .. }));
    assert!(
        call(&tool(&room), input)
            .unwrap_err()
            .message
            .contains("1\tlet total = 1;")
    );
}

#[test]
fn binaries_are_not_edited_and_deleted_without_a_text() {
    let room = Room::new();
    room.write("f", b"a\0b");
    let error = call(&tool(&room), json!({"path": "f", "old_string": "a", "new_string": "b"})).unwrap_err();
    assert!(error.message.contains("binary"), "{error}");
    let input = json!({"patch": "*** Begin Patch\n*** Delete File: f\n*** End Patch"});
    let Plan::Change { changes } = plan(&tool(&room), input.clone()).unwrap() else {
        panic!("a change")
    };
    assert_eq!((changes[0].old.as_ref(), changes[0].new.as_ref()), (None, None));
    call(&tool(&room), input).unwrap();
    assert!(!room.path("f").exists());
}

#[test]
fn mode_and_links_are_kept() {
    let room = Room::new();
    let target = room.write("real/script", "one\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("real/script", room.path("link")).unwrap();
    call(
        &tool(&room),
        json!({"path": "link", "old_string": "one", "new_string": "two"}),
    )
    .unwrap();
    assert!(room.path("link").is_symlink());
    assert_eq!(
        (
            room.text("real/script").as_str(),
            fs::metadata(&target).unwrap().mode() & 0o777
        ),
        ("two\n", 0o751)
    );
    let patch = "*** Begin Patch\n*** Update File: real/script\n*** Move to: moved\n*** End Patch";
    call(&tool(&room), json!({"patch": patch})).unwrap();
    assert_eq!(fs::metadata(room.path("moved")).unwrap().mode() & 0o777, 0o751);
}

#[test]
fn a_link_is_not_taken_for_its_target() {
    let room = Room::new();
    room.write("target", "one\n");
    symlink("target", room.path("link")).unwrap();
    for body in ["*** Delete File: link\n", "*** Update File: link\n*** Move to: moved\n"] {
        let patch = format!("*** Begin Patch\n{body}*** End Patch");
        let error = call(&tool(&room), json!({"patch": patch})).unwrap_err();
        assert!(error.message.contains("symbolic link"), "{error}");
    }
    assert!(room.path("link").exists());
}

#[test]
fn arguments_that_make_no_sense_are_told() {
    let room = Room::new();
    room.write("f", "a");
    let check = |input: Value, part: &str| {
        let message = call(&tool(&room), input.clone()).unwrap_err().message;
        assert!(message.contains(part), "{input}: {message}");
    };
    check(json!({}), "give `path`, `old_string` and `new_string`, or give `patch`");
    check(json!({"path": "f", "old_string": "a"}), "`new_string` is missing");
    check(json!({"old_string": "a", "new_string": "b"}), "`path` is missing");
    check(
        json!({"path": "f", "old_string": "a", "new_string": "b", "patch": "x"}),
        "not both",
    );
    check(json!({"path": "f", "old_string": 3}), "`old_string`");
    check(
        json!({"path": "none", "old_string": "a", "new_string": "b"}),
        "does not exist",
    );
    check(json!({"path": "", "old_string": "a", "new_string": "b"}), "empty");
    check(json!({"path": ".", "old_string": "a", "new_string": "b"}), "a folder");
}

#[test]
fn a_title_names_the_files() {
    let room = Room::new();
    let tool = tool(&room);
    assert_eq!(tool.kind(), ToolKind::Edit);
    let check = |input: Value, expect: &str| assert_eq!(tool.title(&input), expect);
    check(json!({"path": "src/a.rs"}), "Edit src/a.rs");
    check(
        json!({"patch": "*** Update File: a\n*** Add File: b\n"}),
        "Edit a and 1 more",
    );
    check(json!({"patch": "--- a/x\n+++ b/x\n"}), "Edit x");
    check(json!([1, null]), "Edit ?");
}
