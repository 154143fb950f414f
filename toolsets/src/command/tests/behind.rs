//! What is put behind a text: no text takes a second command into itself so that it would run unasked.

use proptest::prelude::*;

use super::ordinary::ordinary;
use super::world;

/// A second command that writes, joined in some way.
const BEHIND: [&str; 6] = [
    "; touch x",
    "\ntouch x",
    " && touch x",
    "\n\n  rm f\n",
    ";touch x;",
    " | tee x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_runs_unasked_with_a_command_behind_it(
        ordinary_one in any::<prop::sample::Index>(),
        odd in "[ a-z'\"\\\\#$(){}|&;<>\n\t!`=é\u{0}-]{0,12}",
        at in any::<prop::sample::Index>(),
    ) {
        thread_local! {
            static WORLD: (super::World, Vec<&'static str>) = (world(), ordinary());
        }
        WORLD.with(|(world, ordinary)| {
            let mut text = ordinary[ordinary_one.index(ordinary.len())].to_owned();
            text.insert_str(text.floor_char_boundary(at.index(text.len() + 1)), &odd);
            prop_assert_eq!(world.classify(&text), world.classify(&text), "{:?} is judged in two ways", text);
            for behind in BEHIND {
                let longer = format!("{text}{behind}");
                prop_assert!(!world.classify(&longer).read_only, "{:?} would run without a question", longer);
            }
            Ok(())
        })?;
    }
}
