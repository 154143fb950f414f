//! A text, a change, and what comes of it.

use super::*;

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

fn patched(text: &str, body: &str) -> Result<String, MatchError> {
    let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
    let files = format::parse(&patch).unwrap();
    let FileAction::Update { hunks, .. } = files.into_iter().next().unwrap().action else {
        panic!("an update")
    };
    apply(text, &Change::Hunks(hunks)).map(|applied| applied.text)
}
