//! What people are shown of a command's output, as text and as a terminal does.

use super::*;

#[test]
fn what_is_shown_of_much_output_has_both_ends_and_the_count_between() {
    let output = bench().run(json!({ "command": "seq 100000" })).unwrap();
    let ran = ran(&output);
    assert!(ran.shown.starts_with("1\n2\n") && ran.shown.ends_with("\n100000\n"));
    assert!(
        ran.shown.contains("\n… 558,175 bytes left out …\n"),
        "{}",
        ran.shown.len()
    );
    assert!(ran.shown.len() < 32 * 1024 && ran.note.is_empty());
    assert_eq!(ran.printed.total(), 588_895);
    assert!(ran.printed.head.starts_with("1\n2\n") && ran.printed.tail.ends_with("\n100000\n"));
}

#[test]
fn colours_are_for_terminals_and_not_for_the_model() {
    let command = "printf '\\033[1;31mred\\033[0m \\033]0;title\\007\\033[2Jtext\\n'";
    let output = bench().run(json!({ "command": command })).unwrap();
    assert_eq!(output.text, "red text\nexit code: 0");
    assert_eq!(ran(&output).shown, "red text\n");
    assert_eq!(ran(&output).printed.since(0), "\u{1b}[1;31mred\u{1b}[0m text\n");
}

#[test]
fn only_what_is_heard_here_is_shown_as_a_terminal_does() {
    let bench = bench();
    let place = |input: Value| bench.terminal.prints_in(&input);
    let cwd = bench.folder.path();
    assert_eq!(place(json!({ "command": "ls" })), Some(cwd.display().to_string()));
    let sub = cwd.join("sub").display().to_string();
    assert_eq!(place(json!({ "command": "ls", "workdir": "sub" })), Some(sub));
    assert_eq!(place(json!({ "command": "ls", "background": true })), None);
    assert_eq!(place(json!({ "cmd": "ls" })), None);
}
