//! What the white list takes for plain, bash must read the same way: the same commands with the same arguments.

use std::fs;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use crate::command::plain::{Step, steps};
use crate::command::syntax::Deadline;

/// What is likely to pass, then what is likely not to.
const PIECES: [&str; 57] = [
    " ",
    " ",
    "a",
    "b.c",
    " -l",
    " 'd e'",
    "\"f g\"",
    "\"h\\i\"",
    "\"h\\\\i\"",
    "\"h\\\"i\"",
    "\"h\\\n\"",
    " ls",
    "\nls ",
    "cat ",
    " && ls ",
    " ; cat ",
    " | ls ",
    " 2>&1",
    " >/dev/null ",
    " </dev/null",
    " </ dev/null",
    " </dev/ null",
    " 2>/dev/n ull",
    " >/d ev/null",
    " 2>& 1",
    " 2 >&1",
    " > ",
    "/dev/null",
    "&>",
    ">>/dev/null",
    "\t",
    "x=1",
    "/,:%@^+",
    " && ",
    ";",
    "\n",
    "&",
    "2>/dev/null ",
    "#",
    "\\",
    "$x",
    "*",
    "?",
    "~",
    "{h,i}",
    "!",
    "(",
    ")",
    "`",
    "'",
    "\"",
    "é",
    "<",
    "[",
    "]",
    "1",
    "=",
];

/// Runs the text with `ls` and `cat` as functions that note their arguments and nothing else on the PATH.
fn heard_by_bash(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    // One write a note, since the two ends of a pipe run at once.
    let note = r#"note() { local n; printf -v n '%s\x1f' "$@"; printf '%s\x1e' "$n" >> notes; }
ls() { note ls "$@"; }
cat() { note cat "$@"; }"#;
    let script = format!("{note}\n{text}");
    let mut bash = Command::new("/bin/bash");
    bash.args(["--norc", "--noprofile", "-c", &script])
        .current_dir(&folder)
        .env_clear()
        .env("PATH", "/nowhere");
    bash.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let notes = fs::read_to_string(folder.path().join("notes")).unwrap_or_default();
    let mut heard: Vec<String> = notes.split_terminator('\u{1e}').map(str::to_owned).collect();
    heard.sort();
    heard
}

fn expected(steps: &[Step]) -> Vec<String> {
    let mut expected: Vec<String> = steps.iter().map(|step| step.words.join("\u{1f}") + "\u{1f}").collect();
    expected.sort();
    expected
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn bash_reads_plain_texts_the_same_way(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 1..7)) {
        let text = format!("ls {}", pieces.concat());
        let Ok(steps) = steps(&text, Deadline::begin()) else {
            return Ok(());
        };
        let known = steps.iter().all(|step| step.words[0] == "ls" || step.words[0] == "cat");
        if known {
            prop_assert_eq!(heard_by_bash(&text), expected(&steps), "{:?}", text);
        }
    }
}
