//! The applier as a table and as a law, the tool on real files.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use agent_core::event::ToolKind;
use proptest::prelude::*;

use super::apply::{Applied, MatchError};
use super::*;
use crate::lines::lines;
use crate::testing::{Room, call, plan};

fn apply(text: &str, change: &Change) -> Result<Applied, MatchError> {
    super::apply::apply(text, change, &Cancel::new())
}

fn replace(text: &str, old: &str, new: &str) -> Result<String, MatchError> {
    let (old, new) = (old.to_owned(), new.to_owned());
    apply(text, &Change::Replace { old, new, all: false }).map(|applied| applied.text)
}

#[test]
fn a_change_that_would_grow_beyond_measure_is_refused_before_it_is_made() {
    let change = Change::Replace {
        old: "z".into(),
        new: "q".repeat(1_000_000),
        all: true,
    };
    let error = apply(&"z".repeat(1_000_000), &change).unwrap_err();
    assert_eq!(error, MatchError::TooLarge { places: 1_000_000 });
}

#[test]
fn a_text_is_replaced_at_its_one_place() {
    let check = |text: &str, old: &str, new: &str, expect: &str| {
        assert_eq!(
            replace(text, old, new).as_deref(),
            Ok(expect),
            "{old:?} -> {new:?} in {text:?}"
        );
    };
    // Exact, also within a line and over its end.
    check("let a = 1;\n", "1", "2", "let a = 2;\n");
    check("a\nb\nc\n", "a\nb", "x", "x\nc\n");
    check("a\nb\nc\n", "b\n", "", "a\nc\n");
    check("a\nb", "b", "c", "a\nc");
    // Line ends of the place are kept.
    check("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n");
    check("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n");
    check("a\rb\rc", "a\nb", "x\ny", "x\ry\rc");
    check("a\nb\r\nc\n", "b\nc", "x\ny", "a\nx\r\ny\n");
    // Whoever writes the carriage return means it.
    check("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n");
    check("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n");
    // Spaces at line ends.
    check(
        "if a {  \n    b\n}\n",
        "if a {\n    b\n}",
        "if a {\n    c\n}",
        "if a {  \n    c\n}\n",
    );
    check("a\nb", "a\nb\n", "a\nc\n", "a\nc");
    check("a\nb", "b  \n", "c\n", "a\nc");
    // Indentation is adapted.
    check(
        "fn f() {\n        a();\n        b();\n}\n",
        "    a();\n    b();",
        "    a();\n    c();",
        "fn f() {\n        a();\n        c();\n}\n",
    );
    check(
        "\tif x {\n\t\ty\n\t}\n",
        "if x {\n    y\n}",
        "if x {\n    y\n    z\n}",
        "\tif x {\n\t\ty\n\t\tz\n\t}\n",
    );
    // Look-alikes, within a line and over lines; lines that stay are not touched.
    check(
        "say “hi” to\u{a0}all\n",
        "\"hi\" to all",
        "\"bye\" to all",
        "say \"bye\" to all\n",
    );
    check("  a – b\n  c\n", "a - b\nc", "a - b\nd", "  a – b\n  d\n");
    // Form feeds and long lines are text like any other.
    check("a\x0c\nb\n", "b", "c", "a\x0c\nc\n");
}

#[test]
fn what_is_not_there_or_not_unique_is_refused() {
    let check = |text: &str, old: &str, new: &str, part: &str| {
        let message = replace(text, old, new).unwrap_err().to_string();
        assert!(message.contains(part), "{old:?} in {text:?}: {message}");
    };
    check("a\n", "", "b", "is empty");
    check("a\n", "a", "a", "change nothing");
    check("a\r\nb", "a\nb", "a\r\nb", "change nothing");
    check("a\nx\na\n", "a", "b", "2 places (lines 1, 3)");
    check("aaa", "aa", "b", "2 places");
    // Whatever the size: none of these takes time that grows with the places times the text.
    check(
        &"\"key\": 1,\n".repeat(100_000),
        "\"",
        "'",
        "200000 places (lines 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, …)",
    );
    check(&"a".repeat(500_000), &"a".repeat(250_000), "b", "places (lines 1, 1");
    check(&"  a\n".repeat(100_000), &"a\n".repeat(50_000), "b", "not there");
    check("  a\n\ta\n", "    a", "b", "2 places (lines 1, 2)");
    check(
        "let total = sum(items);\n",
        "let totals = sum(item);",
        "x",
        "1\tlet total = sum(items);",
    );
    check("alpha\n", "     1\talpha\n", "x", "not part of the file");
    check("alpha\n", "omega()", "x", "nothing there is like it");
    check(
        "the new text\n",
        "the old one",
        "the new text",
        "stands at line 1 already",
    );
    check("a\n\n\n\nb\n", "  \n  \n", "x", "not there");
    check("", "a", "b", "not there");
}

#[test]
fn all_places_are_replaced_if_asked_for() {
    let check = |text: &str, old: &str, new: &str, expect: &str, places: usize| {
        let (old, new) = (old.to_owned(), new.to_owned());
        let applied = apply(text, &Change::Replace { old, new, all: true }).unwrap();
        assert_eq!((applied.text.as_str(), applied.places), (expect, places));
    };
    check("a a\na\n", "a", "b", "b b\nb\n", 3);
    check("aaa", "aa", "b", "ba", 1);
    check("a\r\nb\r\na\r\nb", "a\nb", "c\nd", "c\r\nd\r\nc\r\nd", 2);
    check("  a;\n    a;\n", "a; ", "b;", "  b;\n    b;\n", 2);
}

fn patched(text: &str, body: &str) -> Result<String, MatchError> {
    let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
    let files = format::parse(&patch).unwrap();
    let FileAction::Update { hunks, .. } = files.into_iter().next().unwrap().action else {
        panic!("an update")
    };
    apply(text, &Change::Hunks(hunks)).map(|applied| applied.text)
}

#[test]
fn hunks_are_applied_where_they_are_meant() {
    let check = |text: &str, body: &str, expect: &str| assert_eq!(patched(text, body).as_deref(), Ok(expect), "{body}");
    check("a\nb\nc\n", "@@\n a\n-b\n+x\n c", "a\nx\nc\n");
    check("a\nb\nc\n", "-b", "a\nc\n");
    check("f:\n x\ng:\n x\n", "@@ g:\n- x\n+ y", "f:\n x\ng:\n y\n");
    check("x\nm\nx\n", "@@\n m\n-x\n+y", "x\nm\ny\n");
    check("a\nx\nb\nx\n", "@@\n-a\n+A\n@@\n-b\n+B", "A\nx\nB\nx\n");
    check("b\na\n", "@@\n-a\n+A\n@@\n-b\n+B", "B\nA\n");
    check("a\nx\nx\n", "@@\n-x\n+y\n*** End of File", "a\nx\ny\n");
    check("x\na\nx\n", "@@ -3,1 +3,1 @@\n-x\n+y", "x\na\ny\n");
    check("a\nb\n", "@@\n a\n@@\n-b\n+c\n\n", "a\nc\n");
    // Additions only.
    check("a\nb\n", "@@ a\n+n", "a\nn\nb\n");
    check("a", "@@\n+n", "a\nn");
    check("", "@@\n+n", "n\n");
    // Line ends, spaces and indentation of what stays are not touched.
    check("a \r\nb\r\nc", "@@\n a\n-b\n+x\n+y\n c", "a \r\nx\r\ny\r\nc");
    check(
        "\tif x:\n\t\ty\n",
        "@@\n if x:\n-    y\n+    z\n+    w",
        "\tif x:\n\t\tz\n\t\tw\n",
    );
    check("a\nb", "@@\n a\n-b\n+c", "a\nc");
    check("a\nb", "@@\n a\n-b", "a");
}

#[test]
fn hunks_that_do_not_fit_are_refused() {
    let check = |text: &str, body: &str, part: &str| {
        let message = patched(text, body).unwrap_err().to_string();
        assert!(message.contains(part), "{body}: {message}");
    };
    check(
        "x\nx\n",
        "@@\n-x\n+y",
        "2 places (lines 1, 2); add lines around it until it is unique (or an @@ line",
    );
    check("a\n", "@@ nowhere\n-a\n+b", "\"nowhere\" after @@");
    check("a\nb\nc\n", "@@\n-a\n-b\n+x\n@@\n-b\n-c\n+y", "two hunks");
    check("let total = 1;\n", "@@\n-let totals = 2;\n+x", "1\tlet total = 1;");
}

/// A text without the spaces at its line ends.
fn trimmed(text: String) -> String {
    lines(&text)
        .iter()
        .flat_map(|line| [line.text.trim_end(), line.end])
        .collect()
}

fn unified(old: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    diff.unified_diff()
        .context_radius(2)
        .header("f", "f")
        .missing_newline_hint(true)
        .to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_unified_diff_leads_from_old_to_new(
        old in prop::collection::vec("[ab]{0,2}", 0..30),
        new in prop::collection::vec("[ab]{0,2}", 0..30),
        end in prop::sample::select(vec![("\n", "\n"), ("", "\n"), ("\n", ""), ("", "")]),
    ) {
        let (old, new) = (old.join("\n") + end.0, new.join("\n") + end.1);
        prop_assume!(old != new);
        let files = format::parse(&unified(&old, &new)).unwrap();
        for file in files {
            let FileAction::Update { hunks, .. } = file.action else { panic!("an update") };
            prop_assert_eq!(&apply(&old, &Change::Hunks(hunks)).unwrap().text, &new);
        }
    }

    #[test]
    fn an_exact_replacement_touches_nothing_else(
        before in "[ab\r\n ]{0,20}", old in "[cd]{1,8}", new in "[efé\n]{0,8}", after in "[ab\r\n ]{0,20}",
    ) {
        let text = format!("{before}{old}{after}");
        let changed = replace(&text, &old, &new).unwrap();
        prop_assert!(changed.starts_with(&before) && changed.ends_with(&after));
    }

    #[test]
    fn a_tolerant_replacement_touches_only_its_line(
        depths in prop::collection::vec(0..3_usize, 3..12),
        (first, length, changed) in (0..8_usize, 1..6_usize, 0..6_usize),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        spaces in "[ \t]{0,2}",
        tabs: bool,
    ) {
        let unit = if tabs { "\t" } else { "    " };
        let first = first.min(depths.len() - 1);
        let last = (first + length).min(depths.len());
        let changed = (first + changed).min(last - 1);
        // The full stop keeps one line from being the beginning of another, which would be ambiguous.
        let word = |at: usize, new: bool| if new && at == changed { format!("other {at}.") } else { format!("item {at}.") };
        let file = |new: bool| -> String {
            let line = |(at, depth): (usize, &usize)| format!("{}{}{end}", unit.repeat(depth + 1), word(at, new));
            depths.iter().enumerate().map(line).collect()
        };
        // As a model writes it: one step less deep, in spaces, with stray spaces at line ends.
        let block = |new: bool| -> String {
            let line = |at: usize| format!("{}{}{spaces}", "    ".repeat(depths[at]), word(at, new));
            (first..last).map(line).collect::<Vec<_>>().join("\n")
        };
        prop_assert_eq!(replace(&file(false), &block(false), &block(true)).map(trimmed), Ok(trimmed(file(true))));
    }

    #[test]
    fn no_text_and_no_edit_is_a_panic(text in "[ab \t\r\n“é]{0,40}", old in "[ab \t\r\n\"é]{0,12}", new in ".{0,8}", all: bool) {
        let _ = apply(&text, &Change::Replace { old, new, all });
    }

    #[test]
    fn no_patch_is_a_panic(patch in "(\\*\\*\\* (Begin Patch|Update File: f|End Patch|Add File: g)\n|@@ ?-?1?\n|[-+ ]a?\n|--- a\n|\\+\\+\\+ b\n|diff --git a/x b/x\n|é\n){0,12}") {
        if let Ok(files) = format::parse(&patch) {
            for file in files {
                if let FileAction::Update { hunks, .. } = file.action {
                    let _ = apply("a\n\na", &Change::Hunks(hunks));
                }
            }
        }
    }
}

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
