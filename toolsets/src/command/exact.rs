//! Which commands a standing grant may cover: one plain command whose program says what it does.

use agent_core::plan::ExactCommand;

use super::Ground;
use super::plain::Step;
use super::unwrap::{is_shell, is_wrapper};

/// They run what their arguments or their files say; a grant for one would be a grant for anything.
const INTERPRETERS: [&str; 24] = [
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "tclsh",
    "Rscript",
    "julia",
    "osascript",
    "ssh",
    "sed",
];

/// They fetch a program from somewhere and run it.
const RUNNERS: [&str; 6] = ["npx", "pnpx", "bunx", "uvx", "pipx", "dlx"];

/// They do so with these first arguments.
const RUNNING: [(&str, &[&str]); 8] = [
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx", "x"]),
    ("yarn", &["exec", "dlx"]),
    ("uv", &["run", "tool", "x"]),
    ("poetry", &["run", "shell"]),
    ("pipenv", &["run", "shell"]),
    ("docker", &["run", "exec"]),
    ("podman", &["run", "exec"]),
];

/// The command that a grant may cover, if the text is one such.
pub(super) fn command(steps: &[Step], ground: &Ground<'_>) -> Option<ExactCommand> {
    let [Step { words, .. }] = steps else {
        return None;
    };
    let (name, args) = words.split_first()?;
    if name.contains('/') || runs_others(name, args) {
        return None;
    }
    let program = ground.program(name)?;
    // A program inside a root is what the last edit made of it.
    let kept = !ground.in_roots(&super::real(&program)) && !ground.in_roots(&program);
    kept.then(|| ExactCommand {
        program,
        args: args.to_vec(),
    })
}

fn runs_others(name: &str, args: &[String]) -> bool {
    let unversioned = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    let interprets = |list: &[&str]| list.contains(&name) || list.contains(&unversioned);
    let runs =
        |(program, verbs): &(&str, &[&str])| *program == name && args.iter().any(|arg| verbs.contains(&arg.as_str()));
    is_shell(name) || is_wrapper(name) || interprets(&INTERPRETERS) || interprets(&RUNNERS) || RUNNING.iter().any(runs)
}
