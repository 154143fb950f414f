//! What it takes to read a command's text before it is asked about or run: short ones, and texts made to take long.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::asker::Desk;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::id::SessionId;
use agent_core::outward::outlet;
use agent_core::tool::Tool;
use agent_core::workspace::{Scope, Workspaces};
use serde_json::json;
use talaria_tests::measure::{Table, Times, time};
use toolsets::LocalWorkspaces;

const ROUNDS: usize = 300;
const LONG_ROUNDS: usize = 7;

/// As they come all day; none searches a folder in depth, whose size would be measured then.
const COMMON: [&str; 10] = [
    "ls -la",
    "cat src/a.rs | head -50",
    "git status",
    "cargo test -p x --lib 2>&1 | tail -20",
    "cd src && ls -la",
    "grep -n 'fn main' src/a.rs",
    "find . -name '*.rs' -not -path './target/*' | head",
    "sed -n '1,80p' src/a.rs",
    "npm run build && npm test",
    "for f in src/*.rs; do wc -l $f; done",
];

/// What nests or repeats; each is repeated up to a length.
const LONG: [(&str, &str); 12] = [
    ("a list of commands", "ls && "),
    ("lines of commands", "ls -la src\n"),
    ("a pipe without end", "cat f | "),
    ("substitutions in each other", "echo $("),
    ("substitutions beside each other", "$(ls) "),
    ("brackets", "("),
    ("wrappers", "sudo -u a env A=1 "),
    ("shells in shells", "bash -c '"),
    ("here-documents", "cat <<E\nx\nE\n"),
    ("functions", "f() { f|f& }; "),
    ("paths", "rm -r ../x/$HOME/y "),
    ("one word", "a"),
];

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    std::fs::create_dir(folder.path().join("src")).expect("a folder can be made");
    std::fs::write(folder.path().join("src/a.rs"), "fn main() {}\n").expect("a file can be written");
    let scope = Scope {
        session: SessionId::new(),
        cwd: folder.path().to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    let asker = Desk::new(outlet().0).asker(scope.session.clone());
    let workspace = LocalWorkspaces::new(Vec::new(), None).open(scope, &Config::default(), asker);
    let tools = workspace.tools();
    let terminal = tools.iter().find(|tool| tool.spec().name == "terminal");
    let terminal = terminal.expect("a session has the terminal tool");

    let mut table = Table::new("Commands read");
    common(&mut table, terminal);
    long(&mut table, terminal, "the longest that is looked through", 100 * 1024);
    long(&mut table, terminal, "1 MB", 1024 * 1024);
    println!("{table}");
}

fn planned(terminal: &Arc<dyn Tool>, command: &str) -> Duration {
    let input = json!({ "command": command });
    let start = Instant::now();
    let planned = terminal.plan(&input, &Cancel::new());
    let took = start.elapsed();
    drop(planned);
    took
}

fn common(table: &mut Table, terminal: &Arc<dyn Tool>) {
    // The first one looks for the user's programs.
    planned(terminal, "ls");
    let slowest = COMMON
        .iter()
        .map(|command| {
            let times = (0..ROUNDS).map(|_| planned(terminal, command)).collect();
            (Times::of(times), *command)
        })
        .max_by_key(|(times, _)| times.best());
    let (times, command) = slowest.expect("there are commands");
    let reached = times.best() < Duration::from_micros(100);
    table.goal("the slowest of common commands", &times, command, "< 100 µs", reached);
}

fn long(table: &mut Table, terminal: &Arc<dyn Tool>, what: &str, length: usize) {
    let slowest = LONG
        .iter()
        .map(|(what, unit)| {
            let text = unit.repeat(length / unit.len());
            let times = (0..LONG_ROUNDS).map(|_| planned(terminal, &text)).collect();
            (Times::of(times), *what)
        })
        .max_by_key(|(times, _)| times.best());
    let (times, worst) = slowest.expect("there are texts");
    let reached = times.best() < Duration::from_millis(50);
    table.goal(
        &format!("the slowest of texts that nest and repeat, {what}"),
        time(times.best()),
        worst,
        "< 50 ms",
        reached,
    );
}
