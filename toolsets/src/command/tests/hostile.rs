//! Commands that must never run without a question, each with a word on what it does, as a list that people read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::world;

/// A command, and what it does.
pub(super) struct Trick {
    pub(super) what: &'static str,
    pub(super) command: String,
    /// Bash makes the file `M` by it.
    real: bool,
}

/// What is in the list.
pub(super) fn tricks() -> Vec<Trick> {
    lines(include_str!("hostile.txt"))
        .map(|line| {
            let (what, command) = line.split_once(": ").expect("a word on it stands before each command");
            Trick {
                what: what.trim_end_matches('!'),
                command: spelled(command),
                real: what.ends_with('!'),
            }
        })
        .collect()
}

/// All lines of a list that are no remarks.
pub(super) fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with("# ") && !line.is_empty())
}

/// The text that a line stands for: `⏎`, `␍` and `␀` are letters that no line can hold, `⟨200b⟩` one that nobody sees.
fn spelled(line: &str) -> String {
    let line = line.replace('⏎', "\n").replace('␍', "\r").replace('␀', "\0");
    let mut parts = line.split('⟨');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (number, rest) = part.split_once('⟩').expect("a letter's number ends");
        let letter = u32::from_str_radix(number, 16).ok().and_then(char::from_u32);
        format!("{text}{}{rest}", letter.expect("it is a letter's number"))
    })
}

#[test]
fn what_does_more_than_read_is_asked_for_with_a_reason() {
    let world = world();
    let tricks = tricks();
    let passed: Vec<&str> = tricks
        .iter()
        .filter(|trick| {
            let facts = world.classify(&trick.command);
            let told = facts.forbidden.or(facts.doubt);
            facts.read_only || told.is_none_or(|reason| reason.is_empty() || reason.contains('\n'))
        })
        .map(|trick| trick.command.as_str())
        .collect();
    assert!(passed.is_empty(), "these would run without a question: {passed:#?}");
    assert!(world.classify("").doubt.is_some());
}

#[test]
fn the_list_holds_each_trick_once() {
    let tricks = tricks();
    let mut commands: Vec<&str> = tricks.iter().map(|trick| trick.command.as_str()).collect();
    let mut whats: Vec<&str> = tricks.iter().map(|trick| trick.what).collect();
    for list in [&mut commands, &mut whats] {
        let all = list.len();
        list.sort_unstable();
        list.dedup();
        assert!(all >= 550 && list.len() == all, "{} of {all} differ", list.len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_list_is_honest_about_what_really_does_something() {
    let tricks: Vec<Trick> = tricks().into_iter().filter(|trick| trick.real).collect();
    let idle: Vec<&str> = thread::scope(|scope| {
        let share = tricks.len().div_ceil(4);
        let shares: Vec<_> = tricks
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().filter(|trick| !makes_m(&trick.command)).collect()))
            .collect();
        let idle = shares
            .into_iter()
            .flat_map(|share| -> Vec<&Trick> { share.join().unwrap() });
        idle.map(|trick| trick.command.as_str()).collect()
    });
    assert!(tricks.len() >= 150);
    assert!(idle.is_empty(), "these make no file M: {idle:#?}");
}

/// Runs a command with bash in a throw-away folder.
fn makes_m(command: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("src/deep")).unwrap();
    fs::create_dir(at("keys")).unwrap();
    for file in ["f", "src/a.rs"] {
        fs::write(at(file), "text\n").unwrap();
    }
    run(command, folder.path());
    at("M").exists()
}

fn run(command: &str, folder: &Path) {
    let mut bash = Command::new("/bin/bash");
    bash.args(["--norc", "--noprofile", "-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder);
    bash.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
}
