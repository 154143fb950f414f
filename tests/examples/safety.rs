//! Tries on the built binary what `docs/security.md` promises, and prints a line a promise: whether it is kept, the goal,
//! and what came out.
//!
//! ```text
//! cargo run --package talaria_tests --example safety
//! ```
//!
//! Ends with 1 if a goal is missed; below its line is what is wrong. `SAFETY_ROWS` chooses rows by words of their names.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;
use talaria_tests::mcp::{Deed, Server};
use talaria_tests::safety::{
    Death, Finding, booby_traps, canaries, cancels, deaths, effects_before_an_answer, ends, generated_lines,
    hand_made_lines, holders, listening, long_line, much_output, programs_started, readable_by_others, refusals,
    slow_reader,
};

/// The faults of a row that are shown.
const SHOWN: usize = 10;

/// With this argument the program is an MCP server.
const SERVER: &str = "--mcp-server";

/// A number of the environment, or else the full one.
fn number(name: &str, full: u64) -> u64 {
    let number = std::env::var(format!("SAFETY_{name}"));
    number.ok().and_then(|number| number.parse().ok()).unwrap_or(full)
}

/// Something to try: the name it is chosen by, and what does it.
type Row = (&'static str, Box<dyn Fn() -> Vec<Finding>>);

fn rows() -> Vec<Row> {
    let server = || std::env::current_exe().expect("a program has a path");
    let with_server = move |ask: fn(&std::path::Path, &[&str]) -> Finding| vec![ask(&server(), &[SERVER])];
    let rounds = number("DEATHS", 100) as u32;
    let times = number("TIMES", 200) as usize;
    let megabytes = number("MEGABYTES", 10_240);
    vec![
        ("opening", Box::new(|| vec![booby_traps()])),
        ("strace", Box::new(|| Vec::from_iter(programs_started()))),
        ("files", Box::new(|| vec![readable_by_others()])),
        ("sockets", Box::new(move || with_server(listening))),
        ("keys", Box::new(move || with_server(canaries))),
        ("refusals", Box::new(move || with_server(refusals))),
        (
            "effects",
            Box::new(move || with_server(|server, arguments| effects_before_an_answer(server, arguments, 20))),
        ),
        ("deaths eof", Box::new(move || deaths(Death::EndOfInput, rounds).into())),
        ("deaths term", Box::new(move || deaths(Death::Term, rounds).into())),
        ("deaths kill", Box::new(move || deaths(Death::Kill, rounds).into())),
        ("holders", Box::new(|| vec![holders(20)])),
        ("memory output", Box::new(move || vec![much_output(megabytes)])),
        ("memory line", Box::new(|| vec![long_line(1024)])),
        (
            "memory reader",
            Box::new(|| vec![slow_reader(Some(Duration::from_secs(number("SECONDS", 60))))]),
        ),
        ("times cancel", Box::new(move || cancels(times).into())),
        ("times end", Box::new(move || vec![ends(times / 2)])),
        ("lines made", Box::new(|| vec![hand_made_lines()])),
        (
            "lines generated",
            Box::new(|| {
                vec![generated_lines(
                    number("LINES", 1_000_000),
                    number("SEED", fastrand::u64(..1_000_000)),
                )]
            }),
        ),
    ]
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == SERVER) {
        return serve().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let wanted = std::env::var("SAFETY_ROWS").unwrap_or_default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.split(',').any(|word| name.contains(word.trim()));
    let mut missed = 0;
    for (_, row) in rows().into_iter().filter(|(name, _)| is_wanted(name)) {
        for finding in row() {
            println!("{finding}");
            let faults = finding.faults.iter().take(SHOWN);
            faults.for_each(|fault| println!("         {fault}"));
            missed += usize::from(!finding.is_reached());
        }
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Speaks MCP over stdin and stdout; `--note FILE` has each line that it gets written down.
fn serve() -> io::Result<()> {
    let note = std::env::args().skip_while(|argument| argument != "--note").nth(1);
    let mut note = note.map(std::fs::File::create).transpose()?;
    let mut server = Server::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(note) = &mut note {
            writeln!(note, "{line}")?;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        for deed in server.answer(&message) {
            if let Deed::Say(said) = deed {
                println!("{said}");
            }
        }
    }
    Ok(())
}
