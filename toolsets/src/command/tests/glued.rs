//! Texts glued together from the lists: whatever stands around a trick, it is asked about.

use proptest::prelude::*;

use super::hostile::tricks;
use super::ordinary::ordinary;
use super::world;

/// So many texts are made up; `GLUED` says another number.
const TEXTS: u32 = 1_000;

/// Between two commands.
const JOINTS: [&str; 8] = ["; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";\n\n"];

/// Around a text: `_` stands for it.
const AROUND: [&str; 14] = [
    "_",
    "_",
    "_",
    "_",
    "(_)",
    "{ _\n}",
    "! _",
    "echo $(_)",
    "echo \"$(_)\"",
    "if ls; then _\nfi",
    "ls <(_)",
    "_ 2>/dev/null",
    "time _",
    "cat f | _",
];

/// What is open takes what follows into itself: a quote, a comment, an operator at the end.
fn glues(command: &str) -> bool {
    let operator = |char: char| "|&;<>\\".contains(char);
    let whole = !command.trim().ends_with(operator) && !command.trim().starts_with(operator);
    let whole = whole && !command.contains(['#', '\0']) && !command.contains("<<");
    let balanced = ['\'', '"', '`']
        .iter()
        .all(|quote| command.matches(*quote).count() % 2 == 0);
    whole && balanced && !command.contains("\\\"") && !command.trim().is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("GLUED").ok().and_then(|number| number.parse().ok()).unwrap_or(TEXTS),
        max_shrink_iters: 500,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_text_with_a_trick_in_it_is_asked_about(
        before in prop::collection::vec((any::<prop::sample::Index>(), 0..JOINTS.len()), 0..3),
        trick in any::<prop::sample::Index>(),
        around in 0..AROUND.len(),
        after in prop::collection::vec((0..JOINTS.len(), any::<prop::sample::Index>(), any::<bool>()), 0..3),
    ) {
        thread_local! {
            static LISTS: (super::World, Vec<String>, Vec<&'static str>) = {
                let tricks = tricks().into_iter().map(|trick| trick.command);
                let ordinary = ordinary().into_iter().filter(|command| !command.starts_with("cd "));
                (world(), tricks.filter(|command| glues(command)).collect(), ordinary.collect())
            };
        }
        LISTS.with(|(world, tricks, ordinary)| {
            let mut text = String::new();
            for (part, joint) in &before {
                text.push_str(ordinary[part.index(ordinary.len())]);
                text.push_str(JOINTS[*joint]);
            }
            text.push_str(&AROUND[around].replace('_', &tricks[trick.index(tricks.len())]));
            for (joint, part, hostile) in &after {
                text.push_str(JOINTS[*joint]);
                if *hostile {
                    text.push_str(&tricks[part.index(tricks.len())]);
                } else {
                    text.push_str(ordinary[part.index(ordinary.len())]);
                }
            }
            let facts = world.classify(&text);
            prop_assert!(!facts.read_only, "{:?} would run without a question", text);
            prop_assert!(facts.forbidden.or(facts.doubt).is_some(), "{:?} is asked about without a reason", text);
            Ok(())
        })?;
    }
}
