//! What a wall costs a command: a turn that runs one, behind each wall that this machine has, beside one without. The
//! rest of the turn is the same.
#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use talaria_tests::client::Home;
use talaria_tests::measure::pipe::Pipe;
use talaria_tests::measure::{Table, Times, time};
use talaria_tests::walls::{Machine, on};

const ROUNDS: usize = 60;

fn main() {
    let mut table = Table::new("A command behind a wall");
    let (bare, mut without) = turns(Machine::Whole, "mode = \"off\"");
    let (best, mut behind_best) = turns(Machine::Whole, "");
    let (kernel, mut behind_kernel) = turns(Machine::WithoutNamespaces, "");
    let [shell, off, on_best, on_kernel] =
        Times::by_turns(ROUNDS, [&mut shell, &mut without, &mut behind_best, &mut behind_kernel]);
    table.figure("`bash -c true`, started and waited for", &shell, "");
    table.figure(&format!("a turn with `true`: {bare}"), &off, "");
    for (name, times) in [(best, &on_best), (kernel, &on_kernel)] {
        let more = times.best().saturating_sub(off.best());
        let starts = more.as_secs_f64() / shell.best().as_secs_f64();
        table.figure(
            &format!("the same: {name}"),
            times,
            format!("{} more, {starts:.1} x the shell's start", time(more)),
        );
    }
    println!("{table}");
}

fn shell() -> Duration {
    let began = Instant::now();
    let ended = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", "true"])
        .status();
    assert!(ended.is_ok_and(|status| status.success()));
    began.elapsed()
}

/// Turns of one session on a machine, and what its commands are held by.
fn turns(machine: Machine, sandbox: &str) -> (String, impl FnMut() -> Duration) {
    let call = json!({"steps": [{"call": {"name": "terminal", "input": {"command": "true"}}}]});
    let home = Home::with_script(&json!({"after": "repeat", "replies": [call, {"steps": [{"text": "Done."}]}]}));
    let path = home.state().join("config.toml");
    let config = std::fs::read_to_string(&path).expect("it was written");
    home.write_config(&format!("{config}\n[sandbox]\n{sandbox}\n"));
    let (mut pipe, session) = on(machine, || {
        Pipe::with_session(home.command(&["acp"]), &home.workspace())
    });
    // The first turn finds out which wall there is.
    pipe.prompt(&session, "go");
    let (_, lines) = pipe.prompt(&session, "/permissions");
    let told = lines.join(" ");
    let name = ["bubblewrap", "Landlock", "No sandbox"]
        .into_iter()
        .find(|name| told.contains(name));
    let turn = move || {
        let _kept = &home;
        pipe.prompt(&session, "go").0
    };
    (name.unwrap_or("unknown").to_owned(), turn)
}
