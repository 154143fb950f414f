//! A small MCP server over stdio, with the faults that its arguments ask for:
//!
//! - `--note FILE` writes its process id and each line it gets into a file
//! - `--slow MS` waits before its first answer
//! - `--silent` answers nothing
//! - `--stay` goes on after the end of its input
//! - `--noise` says on stdout and stderr what is no message
//! - `--die WORDS` says these on stderr and ends at once
//! - `--shy` refuses once to list its tools after they have changed
//! - `--mute` does not list its tools after they have changed
//! - `--endless` lists its tools on pages without end
//! - `--vast` has tools whose answers nobody reads
//! - `--writes` has a tool that writes a file
//! - `--odd` has tools with odd names

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use talaria_tests::mcp::{Deed, Server};

/// The time between two steps of a tool that takes its time.
const STEP: Duration = Duration::from_millis(300);

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let value = |flag: &str| args.iter().skip_while(|arg| *arg != flag).nth(1).cloned();
    let mut note = value("--note").map(|path| open(&path)).transpose()?;
    if let Some(note) = &mut note {
        writeln!(note, "pid {}", std::process::id())?;
    }
    if let Some(words) = value("--die") {
        writeln!(io::stderr(), "{words}")?;
        exit(3);
    }
    if has("--noise") {
        writeln!(io::stdout(), "this is no message")?;
        writeln!(io::stderr(), "neither is this")?;
    }
    let mut slow = value("--slow")
        .and_then(|slow| slow.parse().ok())
        .map(Duration::from_millis);
    let mut server = Server {
        odd: has("--odd"),
        shy: has("--shy"),
        mute: has("--mute"),
        endless: has("--endless"),
        vast: has("--vast"),
        writes: has("--writes"),
        ..Server::default()
    };
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(note) = &mut note {
            writeln!(note, "{line}")?;
        }
        if has("--silent") {
            continue;
        }
        if let Some(slow) = slow.take() {
            thread::sleep(slow);
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        server.answer(&message).into_iter().try_for_each(act)?;
    }
    while has("--stay") {
        thread::park();
    }
    Ok(())
}

fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn act(deed: Deed) -> io::Result<()> {
    let said = match deed {
        Deed::Say(said) => said.to_string(),
        Deed::SayRaw(said) => said,
        Deed::SayLater(said) => {
            thread::sleep(STEP);
            said.to_string()
        }
        Deed::Die => {
            writeln!(io::stderr(), "these are my last words")?;
            exit(7);
        }
    };
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{said}")?;
    stdout.flush()
}
