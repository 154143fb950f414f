//! The tool on a real folder.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::symlink;

use agent_core::cancel::Cancel;

use super::*;
use crate::testing::{Room, call, fifo};

fn room() -> Room {
    let room = Room::new();
    room.write("src/a.rs", "fn one() {}\nfn two() {}\n// end\n");
    room.write("src/b.rs", "fn three() {}\r\n");
    room.write("notes.md", "one\n\n\n\n\none\n");
    room.write(".github/ci.yml", "one: 1\n");
    room.write("target/out.rs", "fn one() {}\n");
    room.write(".gitignore", "target/\n");
    room.write(".git/HEAD", "one\n");
    room.write("data.bin", b"one\0\n");
    room.write("id_rsa", "one\n");
    room.write(".env", "one=1\n");
    room.write("key.pem", "one\n");
    room
}

fn search(room: &Room, input: Value) -> Result<String, ToolError> {
    call(&SearchFiles::new(Arc::clone(&room.files)), input).map(|output| output.text)
}

#[test]
fn text_is_found_in_a_stable_order() {
    let room = room();
    let check = |input: Value, expect: &str| assert_eq!(search(&room, input.clone()).as_deref(), Ok(expect), "{input}");
    check(
        json!({"pattern": "\\bone\\b"}),
        ".github/ci.yml\n     1: one: 1\nnotes.md\n     1: one\n     6: one\nsrc/a.rs\n     1: fn one() {}\n[4 matches in 3 files; 3 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "three", "path": "src"}),
        "src/b.rs\n     1: fn three() {}\n[1 match in 1 file]\n",
    );
    check(
        json!({"pattern": "\\}$", "path": "src/b.rs"}),
        "src/b.rs\n     1: fn three() {}\n[1 match in 1 file]\n",
    );
    check(
        json!({"pattern": "fn", "output": "files"}),
        "src/a.rs\nsrc/b.rs\n[2 files with matches; 3 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "fn", "output": "count"}),
        "src/a.rs: 2\nsrc/b.rs: 1\n[2 files with matches; 3 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "one", "file_glob": "*.{md,yml}", "output": "files"}),
        ".github/ci.yml\nnotes.md\n[2 files with matches]\n",
    );
    check(
        json!({"pattern": "one", "file_glob": "src/*.rs", "output": "files"}),
        "src/a.rs\n[1 file with matches]\n",
    );
    check(
        json!({"pattern": "two.*\n// end"}),
        "src/a.rs\n     2: fn two() {}\n     3: // end\n[1 match in 1 file; 3 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "(?i)FN TWO", "context": 1}),
        "src/a.rs\n     1- fn one() {}\n     2: fn two() {}\n     3- // end\n[1 match in 1 file; 3 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "one", "path": "notes.md", "context": 1}),
        "notes.md\n     1: one\n     2- \n  …\n     5- \n     6: one\n[2 matches in 1 file]\n",
    );
    check(
        json!({"pattern": "nowhere"}),
        "[no matches; 3 left out that may hold secrets]\n",
    );
}

#[test]
fn the_rest_is_had_by_offset() {
    let room = Room::new();
    room.write("f", "x\n".repeat(120));
    let check = |input: Value, count: usize, end: &str| {
        let text = search(&room, input.clone()).unwrap();
        assert_eq!(text.matches(": x").count(), count, "{input}");
        assert!(text.ends_with(end), "{input}: {text}");
    };
    check(
        json!({"pattern": "x"}),
        50,
        "[1-50 of 120 matches in 1 file; offset=50 for the rest]\n",
    );
    check(json!({"pattern": "x", "offset": 100}), 20, "[120 matches in 1 file]\n");
    check(
        json!({"pattern": "x", "offset": 200}),
        0,
        "[120 matches in 1 file; none from offset 200]\n",
    );
    check(
        json!({"pattern": "x", "limit": 1, "offset": 1}),
        1,
        "[2-2 of 120 matches in 1 file; offset=2 for the rest]\n",
    );
}

#[test]
fn files_are_found_by_their_names() {
    let room = room();
    let check = |input: Value, expect: &str| assert_eq!(search(&room, input.clone()).as_deref(), Ok(expect), "{input}");
    check(
        json!({"pattern": "*.rs", "target": "files"}),
        "src/a.rs\nsrc/b.rs\n[2 files]\n",
    );
    check(
        json!({"pattern": "src/**", "target": "files"}),
        "src/a.rs\nsrc/b.rs\n[2 files]\n",
    );
    check(
        json!({"pattern": "*", "target": "files", "path": "src"}),
        "src/a.rs\nsrc/b.rs\n[2 files]\n",
    );
    check(json!({"pattern": "otes", "target": "files"}), "notes.md\n[1 file]\n");
    check(json!({"pattern": "*.zig", "target": "files"}), "[no files]\n");
    check(
        json!({"pattern": "*.pem", "target": "files"}),
        "[no files; 1 left out that may hold secrets]\n",
    );
    check(
        json!({"pattern": "*.rs", "target": "files", "output": "count"}),
        "[2 files]\n",
    );
    check(
        json!({"pattern": "*.rs", "target": "files", "path": "target"}),
        "target/out.rs\n[1 file]\n",
    );
}

#[test]
fn a_search_stays_inside_and_out_of_what_is_forbidden() {
    let room = room();
    room.write_forbidden("state", "one");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "one").unwrap();
    symlink(outside.path(), room.path("out")).unwrap();
    symlink(outside.path().join("f"), room.path("out.txt")).unwrap();
    std::fs::hard_link(room.forbidden().join("state"), room.path("hard")).unwrap();
    fifo(&room.path("pipe"));
    let parent = room.path("").parent().unwrap().display().to_string();
    let text = search(&room, json!({"pattern": "one", "path": parent, "output": "files"})).unwrap();
    assert_eq!(
        text,
        ".github/ci.yml\nnotes.md\nsrc/a.rs\n[3 files with matches; 3 left out that may hold secrets]\n"
    );
    // Named, it is searched: policy has judged where it leads.
    let text = search(&room, json!({"pattern": "one", "path": "out"})).unwrap();
    assert_eq!(text, "out/f\n     1: one\n[1 match in 1 file]\n");
    assert_eq!(
        search(&room, json!({"pattern": "one", "path": ".env"})).unwrap(),
        ".env\n     1: one=1\n[1 match in 1 file]\n"
    );
    let own = room.forbidden().display().to_string();
    assert!(
        search(&room, json!({"pattern": "one", "path": own}))
            .unwrap_err()
            .message
            .contains("agent itself")
    );
}

#[test]
fn faults_are_told_with_a_way_out() {
    let room = room();
    let check = |input: Value, part: &str| {
        let message = search(&room, input.clone()).unwrap_err().message;
        assert!(message.contains(part), "{input}: {message}");
    };
    check(json!({"pattern": "foo("}), "unclosed group");
    check(json!({"pattern": "foo("}), "backslash");
    check(json!({"pattern": ""}), "empty");
    check(json!({"pattern": "[", "target": "files"}), "no glob");
    check(json!({"pattern": "x", "file_glob": "{a"}), "file_glob");
    check(json!({"pattern": "x", "path": "srx"}), "similar: src");
    check(json!({"pattern": "x", "target": "lines"}), "`target`");
    check(json!({"pattern": "x", "output": 1}), "`output`");
}

#[test]
fn a_cancelled_search_ends() {
    let room = room();
    let planned = SearchFiles::new(Arc::clone(&room.files))
        .plan(&json!({"pattern": "one"}), &Cancel::new())
        .unwrap();
    let cancel = Cancel::new();
    cancel.set();
    let run = Run {
        cancel: &cancel,
        report: &|_| {},
        keep: &|_| Ok(()),
    };
    assert!((planned.action)(&run).unwrap_err().message.contains("cancelled"));
}

#[test]
fn a_title_says_what_and_where() {
    let tool = SearchFiles::new(Arc::clone(&Room::new().files));
    let check = |input: Value, expect: &str| assert_eq!(tool.title(&input), expect);
    check(json!({"pattern": "foo", "path": "src"}), "Search \"foo\" in src");
    check(
        json!({"pattern": "*.rs", "target": "files", "path": "."}),
        "Find \"*.rs\"",
    );
    check(
        json!({"pattern": "a\nb", "file_glob": "*.rs"}),
        "Search \"a\\nb\" in *.rs",
    );
    check(json!("x"), "Search \"?\"");
}

#[test]
fn text_of_other_encodings_and_line_ends_is_found() {
    let room = Room::new();
    room.write("utf16", b"\xff\xfeo\0n\0e\0\r\0\n\0");
    room.write("latin", b"caf\xe9 one\r\n");
    let text = search(&room, json!({"pattern": "one$"})).unwrap();
    assert_eq!(
        text,
        "latin\n     1: caf\u{fffd} one\nutf16\n     1: one\n[2 matches in 2 files]\n"
    );
}

#[test]
fn a_match_as_long_as_its_file_is_cut() {
    let room = Room::new();
    room.write("f", "some text\n".repeat(100_000));
    let text = search(&room, json!({"pattern": "(?s)some.*\\n.*"})).unwrap();
    assert!(text.len() < 110_000 && text.contains("… [cut]"), "{} bytes", text.len());
}

/// A folder whose path is longer than the system takes, which nobody can open, not even root.
fn too_deep(room: &Room, name: &str) {
    let part = "d".repeat(240);
    let script = "mkdir \"$1\" && cd \"$1\" && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do \
                  mkdir \"$2\" && cd -P \"$2\" || exit 1; done";
    let made = std::process::Command::new("bash")
        .args(["-c", script, "bash", name, &part])
        .current_dir(room.path(""))
        .status()
        .unwrap();
    assert!(made.success());
}

#[test]
fn a_folder_that_cannot_be_read_is_not_taken_for_empty() {
    let room = Room::new();
    room.write("a.txt", "one\n");
    too_deep(&room, "deep");
    let check = |input: Value, begin: &str| {
        let text = search(&room, input.clone()).unwrap();
        let tail = format!("{begin}; 1 folder could not be read: deep/ddd");
        assert!(text.contains(&tail), "{input}: {text}");
        assert!(text.ends_with("… (invalid filename)]\n"), "{input}: {text}");
        assert!(text.len() < 500, "{input}: {text}");
    };
    check(json!({"pattern": "one"}), "[1 match in 1 file");
    check(json!({"pattern": "two"}), "[no matches");
    check(json!({"pattern": "*.rs", "target": "files"}), "[no files");
}

#[test]
fn of_many_folders_that_cannot_be_read_the_first_are_named() {
    let room = Room::new();
    for number in 1..=8 {
        too_deep(&room, &format!("deep{number}"));
    }
    let text = search(&room, json!({"pattern": "one"})).unwrap();
    assert!(
        text.starts_with("[no matches; 8 folders could not be read: deep1/"),
        "{text}"
    );
    assert!(text.contains("deep5/") && !text.contains("deep6/"), "{text}");
    assert!(text.ends_with(", 3 more]\n"), "{text}");
}
