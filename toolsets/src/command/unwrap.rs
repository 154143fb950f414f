//! Commands inside commands: what `sudo`, `env`, `xargs`, `find -exec` and `sh -c` run.

use std::path::Path;

use super::syntax::{Deadline, Script, parse};

/// They run the command that follows their options.
const WRAPPERS: [&str; 30] = [
    "sudo",
    "doas",
    "env",
    "nice",
    "ionice",
    "time",
    "timeout",
    "gtimeout",
    "nohup",
    "setsid",
    "stdbuf",
    "xargs",
    "command",
    "builtin",
    "exec",
    "watch",
    "strace",
    "ltrace",
    "unshare",
    "chroot",
    "flock",
    "parallel",
    "busybox",
    "toybox",
    "caffeinate",
    "taskset",
    "chrt",
    "script",
    "runuser",
    "systemd-run",
];

/// The next word after these is no command yet.
const WITH_OPERAND: [&str; 4] = ["flock", "chroot", "taskset", "chrt"];

/// They run the text that follows.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "su"];

/// Shells in shells in shells are not followed further.
const DEEPEST: usize = 4;

/// A command that may begin in more places than this is not followed into all of them: `sudo -a sudo -a sudo …`.
const MOST: usize = 24;

/// The name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(program)
}

pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// All commands of a script in every position where they may run, each with its program first; none if it takes too long
/// to read them.
pub(super) fn all_commands(script: &Script, deadline: Deadline) -> Option<Vec<Vec<String>>> {
    let mut found = Vec::new();
    for words in &script.commands {
        let mut unwrapped = 0;
        collect(words, 0, &mut unwrapped, deadline, &mut found)?;
    }
    for text in &script.fed {
        for words in parse(text, deadline)?.commands {
            collect(&words, 1, &mut 0, deadline, &mut found)?;
        }
    }
    Some(found)
}

fn collect(
    words: &[String],
    depth: usize,
    unwrapped: &mut usize,
    deadline: Deadline,
    found: &mut Vec<Vec<String>>,
) -> Option<()> {
    let Some((program, args)) = words.split_first() else {
        return Some(());
    };
    found.push(words.to_vec());
    if depth == DEEPEST {
        return Some(());
    }
    let name = base_name(program);
    let wrapped: Vec<&[String]> = match name {
        "find" | "fd" => executed(args).collect(),
        _ if is_wrapper(name) => candidates(name, args).collect(),
        _ => Vec::new(),
    };
    for inner in wrapped {
        *unwrapped += 1;
        if *unwrapped <= MOST {
            collect(inner, depth + 1, unwrapped, deadline, found)?;
        }
    }
    for text in texts(name, args) {
        for inner in &parse(text, deadline)?.commands {
            collect(inner, depth + 1, unwrapped, deadline, found)?;
        }
    }
    Some(())
}

/// Where the wrapped command may begin: at the first word that is no option, no assignment, no number. After an option
/// a word may be its value or the command; both are looked at.
fn candidates<'a>(wrapper: &str, args: &'a [String]) -> impl Iterator<Item = &'a [String]> {
    let mut operands = usize::from(WITH_OPERAND.contains(&wrapper));
    let (mut after_option, mut over) = (false, false);
    args.iter().enumerate().filter_map(move |(index, word)| {
        if over {
            return None;
        }
        let passed =
            word.starts_with('-') || word.contains('=') || word.starts_with(|char: char| char.is_ascii_digit());
        if passed {
            after_option = word.starts_with('-');
            return None;
        }
        over = !after_option && operands == 0;
        operands = operands.saturating_sub(usize::from(!after_option));
        after_option = false;
        Some(&args[index..])
    })
}

fn executed(args: &[String]) -> impl Iterator<Item = &[String]> {
    let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X");
    args.iter()
        .enumerate()
        .filter(move |(_, word)| runs(word))
        .map(|(index, _)| &args[index + 1..])
}

/// The texts that a shell, or `eval`, is given to run.
fn texts<'a>(name: &str, args: &'a [String]) -> Vec<&'a str> {
    if name == "eval" {
        return args.iter().map(String::as_str).collect();
    }
    let takes_text = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    match args.iter().position(takes_text) {
        Some(index) if is_shell(name) => args.get(index + 1).map(String::as_str).into_iter().collect(),
        _ => Vec::new(),
    }
}
