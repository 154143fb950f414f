//! Texts that nest or repeat without end: read in bounded memory and on a small stack, and never less than asked about.

use super::world;
use crate::command::syntax::{Deadline, Script, parse};

/// A thread's usual stack; a recursion over a text's nesting would not fit.
const STACK: usize = 2 * 1024 * 1024;

const LONG: usize = 20_000;

fn filled(unit: &str) -> String {
    unit.repeat(LONG / unit.len())
}

fn nested(open: &str, inner: &str, close: &str) -> String {
    let depth = LONG / (open.len() + close.len());
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn kept(script: &Script) -> usize {
    let words = script.commands.iter().flatten();
    let texts = words.chain(&script.fed).chain(&script.redirects);
    texts.map(String::len).sum()
}

fn on_a_small_stack(look: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(look).unwrap();
    thread.join().unwrap();
}

#[test]
fn what_nests_without_end_is_kept_a_bounded_number_of_times() {
    on_a_small_stack(|| {
        let world = world();
        for text in [
            format!("echo {}ls{}", "$(".repeat(30_000), ")".repeat(30_000)),
            nested("echo $(", "ls", ")"),
            nested("echo \"$(", "ls", ")\""),
            nested("cat <(", "ls", ")"),
            nested("echo $(ls | ", "ls", ")"),
            nested("> $(", "ls", ")"),
            nested("sh <<<$(", "ls", ")"),
            nested("cat <<E\n$(", "ls", ")\nE\n"),
            format!("echo {}", nested("$((", "1", "))")),
            format!("echo $(({}1))", filled("1+")),
            nested("f() { ", "ls", "; }"),
            nested("if ls; then ", "ls", "; fi"),
            nested("while ls | ", "ls", "; do ls; done"),
            nested("(", "ls", ")"),
            nested("{ ", "ls;", " }; "),
            nested("${a:-", "x", "}"),
            filled("if "),
            filled("a | ") + "b",
            filled("touch a && ") + "ls",
            filled("! ") + "ls",
            filled("cat <<<a "),
            filled("$("),
            filled("("),
            filled("'a "),
            filled("\"a "),
        ] {
            let start: String = text.chars().take(24).collect();
            let kept = parse(&text, Deadline::begin()).as_ref().map_or(0, kept);
            assert!(kept <= 64 * text.len(), "{start}: {kept} bytes kept of {}", text.len());
            assert!(!world.classify(&text).read_only, "{start}");
        }
    });
}

#[test]
fn what_takes_too_long_to_read_is_never_run() {
    let world = world();
    let piped = "cat f | ".repeat(12_000);
    for text in [
        piped.clone(),
        "a|".repeat(60_000),
        format!("bash -c '{piped}'"),
        format!("bash <<E\n{piped}\nE"),
    ] {
        let forbidden = world.classify(&text).forbidden.unwrap_or_default();
        assert!(forbidden.contains("in time"), "{forbidden}");
    }
}

#[test]
fn what_is_never_run_is_found_in_any_depth() {
    on_a_small_stack(|| {
        let world = world();
        for inner in [
            "rm -rf /",
            "docker ps",
            "rm -rf $(pwd",
            "sh -c 'rm -rf /'",
            "echo x > /dev/sda",
            "sh <<<'rm -rf /'",
            "echo 'rm -rf /' | sh",
            "b() { b | b & }; b",
            "cat ~/.config/talaria/config.toml",
        ] {
            let close = if inner.ends_with("$(pwd") { ")" } else { "" };
            for depth in [1, 31, 33, 300] {
                let text = format!("{}{inner}{close}{}", "echo $(".repeat(depth), ")".repeat(depth));
                assert!(world.classify(&text).forbidden.is_some(), "{depth}: {inner}");
            }
        }
    });
}
