//! Commands that look around: what people and models run all day, whether or not the tables know it.

use super::hostile::lines;
use super::world;

pub(super) fn ordinary() -> Vec<&'static str> {
    lines(include_str!("ordinary.txt")).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the share is for whoever runs it")]
fn most_ordinary_reads_run_without_a_question() {
    let mut world = world();
    world.deny.clear();
    let ordinary = ordinary();
    let asked: Vec<&&str> = ordinary
        .iter()
        .filter(|command| !world.classify(command).read_only)
        .collect();
    let passed = ordinary.len() - asked.len();
    let share = passed * 100 / ordinary.len();
    println!(
        "{passed} of {} run unasked, {share} %; asked: {asked:#?}",
        ordinary.len()
    );
    assert!(ordinary.len() >= 250);
    assert!(
        share >= 60,
        "{passed} of {} run unasked; asked: {asked:#?}",
        ordinary.len()
    );
}

#[test]
fn none_of_the_ordinary_is_forbidden() {
    let mut world = world();
    world.deny.clear();
    for command in ordinary() {
        assert_eq!(world.classify(command).forbidden, None, "{command}");
    }
}
