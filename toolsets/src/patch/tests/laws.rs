//! What holds for every text and every change.

use proptest::prelude::*;

use super::*;
use crate::lines::lines;
use crate::testing::{Room, call};

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

/// What a file holds, and a change of it that may fit: a text for another, or a patch.
fn change_of_a_file() -> impl Strategy<Value = (String, Value)> {
    let lines = || prop::collection::vec("[ab \t]{0,3}", 0..6).prop_map(|lines| lines.join("\n"));
    let replacement = ("[ab\n]{1,4}", "[bc\n]{0,4}", any::<bool>())
        .prop_map(|(old, new, all)| json!({"path": "f", "old_string": old, "new_string": new, "replace_all": all}));
    let hunk = prop::collection::vec("[-+ ][ab]{0,2}\n|@@\n", 1..8).prop_map(|lines| lines.concat());
    let others = "(\\*\\*\\* (Delete File: g|Add File: sub/h\n\\+x|Move to: g|Add File: g\n\\+y)\n)?";
    let patch = (hunk, others).prop_map(
        |(hunk, others)| json!({"patch": format!("*** Begin Patch\n*** Update File: f\n{hunk}{others}*** End Patch")}),
    );
    (lines(), prop_oneof![replacement, patch])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_shown_is_on_disk_or_nothing_has_changed((text, input) in change_of_a_file()) {
        let room = Room::new();
        room.write("f", &text);
        room.write("g", "other\n");
        let read = |name: &str| std::fs::read_to_string(room.path(name)).ok();
        let before = ["f", "g", "sub/h"].map(read);
        let tool = Patch::new(Arc::clone(&room.files));
        let plan = tool.plan(&input, &Cancel::new()).map(|planned| planned.plan);
        prop_assert_eq!(&["f", "g", "sub/h"].map(read), &before, "a plan has changed something");
        let mut expect = before.clone();
        match (plan, call(&tool, input)) {
            (Ok(Plan::Change { changes }), Ok(_)) => {
                for change in changes {
                    let index = ["f", "g", "sub/h"].iter().position(|name| change.place.real == room.path(name)).unwrap();
                    prop_assert_eq!(&change.old, &before[index], "shown as old");
                    expect[index] = change.new;
                }
            }
            (_, Err(_)) => {}
            (plan, Ok(output)) => panic!("{plan:?} has become {output:?}"),
        }
        prop_assert_eq!(["f", "g", "sub/h"].map(read), expect);
    }
}
