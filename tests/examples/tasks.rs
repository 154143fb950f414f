//! Ten small tasks for any configured model; prints what came of each in a table.
//!
//! ```text
//! cargo run --package talaria_tests --example tasks -- --model openai/gpt-5
//! ```
//!
//! It works with the configuration and the keys of whoever starts it, and the sessions are stored among their own.
//! Commands of the model are run without a question, so a model that nobody knows belongs into a container.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::{Command, ExitCode};
use std::time::Duration;

use talaria_tests::client::binary;
use talaria_tests::tasks::{TASKS, Task, Verdict};

const USAGE: &str = "usage: tasks [--model PROVIDER/MODEL] [--limit SECONDS] [--runs COUNT] [--keep] [TASK]…";

/// What is asked for.
struct Wish {
    model: Option<String>,
    limit: Duration,
    runs: usize,
    /// Whether the folders stay.
    keep: bool,
    names: Vec<String>,
}

fn main() -> ExitCode {
    let wish = match wish(std::env::args().skip(1)) {
        Ok(wish) => wish,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let is_wanted = |task: &&Task| wish.names.is_empty() || wish.names.iter().any(|name| name == task.name);
    println!(
        "{:20}  {:6}  {:>5}  {:>8}  {:>8}  why not",
        "task", "passed", "steps", "in", "out"
    );
    let (mut passed, mut run) = (0, 0);
    for task in TASKS.iter().filter(is_wanted) {
        for _ in 0..wish.runs {
            let verdict = try_one(task, &wish);
            run += 1;
            passed += usize::from(verdict.result.is_ok());
            println!("{}", row(task, &verdict));
        }
    }
    println!("{passed} of {run} passed");
    if passed == run {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wish(mut arguments: impl Iterator<Item = String>) -> Result<Wish, String> {
    let mut wish = Wish {
        model: None,
        limit: Duration::from_secs(600),
        runs: 1,
        keep: false,
        names: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match argument.as_str() {
            "--model" => wish.model = Some(value()?),
            "--limit" => wish.limit = Duration::from_secs(number(value()?)?),
            "--runs" => wish.runs = usize::try_from(number(value()?)?).unwrap_or(usize::MAX),
            "--keep" => wish.keep = true,
            name if TASKS.iter().any(|task| task.name == name) => wish.names.push(argument),
            other => return Err(format!("there is no task and no option {other:?}")),
        }
    }
    Ok(wish)
}

fn try_one(task: &Task, wish: &Wish) -> Verdict {
    let mut folder = tempfile::tempdir().expect("a temporary folder can be made");
    folder.disable_cleanup(wish.keep);
    if wish.keep {
        eprintln!("{}: {}", task.name, folder.path().display());
    }
    task.run(folder.path(), wish.limit, |arguments| {
        let mut command = Command::new(binary());
        command.args(arguments);
        if let Some(model) = &wish.model {
            command.args(["--model", model]);
        }
        command
    })
}

fn row(task: &Task, verdict: &Verdict) -> String {
    let work = &verdict.work;
    let (passed, why) = match &verdict.result {
        Ok(()) => ("yes", ""),
        Err(why) => ("NO", why.as_str()),
    };
    let row = format!(
        "{:20}  {passed:6}  {:>5}  {:>8}  {:>8}  {why}",
        task.name,
        work.steps(),
        work.tokens("input"),
        work.tokens("output"),
    );
    row.trim_end().to_owned()
}
