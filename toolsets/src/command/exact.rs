//! Which commands a standing grant may cover: one plain command whose program says what it does, and whose words lead
//! nowhere that is asked about by itself.

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
    let leads_out = |arg: &String| paths(arg).any(|path| !ground.is_usual(path));
    if name.contains('/') || runs_others(name, args) || args.iter().any(leads_out) {
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

/// What of a word may be a path: all of it, what is behind a `=`, and what is glued to an option of one letter. Nobody
/// knows which words a program opens; one that is none costs a question and nothing more.
fn paths(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let glued = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let glued = glued.and_then(|rest| rest.get(1..));
    std::iter::once(word).chain(value).chain(glued)
}

fn runs_others(name: &str, args: &[String]) -> bool {
    let unversioned = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    let interprets = |list: &[&str]| list.contains(&name) || list.contains(&unversioned);
    let runs =
        |(program, verbs): &(&str, &[&str])| *program == name && args.iter().any(|arg| verbs.contains(&arg.as_str()));
    is_shell(name) || is_wrapper(name) || interprets(&INTERPRETERS) || interprets(&RUNNERS) || RUNNING.iter().any(runs)
}
