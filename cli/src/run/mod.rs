//! `agent run`: one prompt in the terminal, over the same runtime that serves an editor.

mod ask;
pub(crate) mod diff;
mod follow;
mod limit;
mod live;
mod machine;
pub(crate) mod people;
mod person;
pub(crate) mod plain;
mod question;
mod session;
mod status;

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::content::{Content, plain_text};
use agent_core::event::Envelope;
use agent_core::runtime::Folders;
use agent_core::slash;
use agent_core::store::EndReason;
use agent_core::visible;
use crossbeam_channel::{Receiver, unbounded};
use rustix::fs::FileType;
use rustix::io::ioctl_fionread;
use rustix::termios::tcgetwinsize;

use crate::args::RunArgs;
use crate::credentials::Environment;
use crate::exit::{Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;
use crate::signals::{self, Signal};
use crate::terminal;
use crate::wiring::{self, Wired};
use limit::Limit;
use machine::{JsonLines, Quiet};
use people::{People, Way};
use session::Calls;
use status::WithStatus;

/// Shows events to whoever asked for the turn.
trait Printer {
    /// Shows what happened. An error means that nobody reads any more.
    fn show(&mut self, envelope: &Envelope) -> io::Result<()>;

    /// Whether it shows what a call will change before it is asked about.
    fn shows_plans(&self) -> bool;

    /// Ends a line that is open, so that somebody else can write one.
    fn end_line(&mut self) -> io::Result<()>;

    /// A second has passed.
    fn tick(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether it wants to know that.
    fn ticks(&self) -> bool {
        false
    }
}

/// How long the end of a run waits while another program writes to the history.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// Works on one prompt.
pub(crate) fn run(args: RunArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    if !args.more.is_empty() {
        let whole = format!("{} {}", args.prompt, args.more.join(" "));
        return Err(Fail::usage(format!(
            "the prompt is one argument: write it in quotes, as in agent run {whole:?}"
        )));
    }
    let prompt = prompt(&args.prompt)?;
    let folders = folders(args.cwd.as_deref(), &args.add_dir)?;
    // A handful of signals at most; the sender lives in the listening thread.
    let (heard, signals) = unbounded();
    let mut limit = Limit::default();
    signals::listen(move |signal| {
        limit.heard(signal);
        // An error means that the run is over.
        let _ = heard.send(signal);
    })?;

    let setup = Arc::new(UserSetup::new(paths.ok().cloned(), Environment::real()));
    // The session's own notice says what the user should know of the store.
    let wired = wiring::start(paths, setup, "run", args.prefer.clone().into(), |_| {});
    let content = vec![Content::text(prompt)];
    let command = slash::is_command(&content).then(|| plain_text(&content));
    let ended = work(&wired, &args, content, folders, &signals);
    wired.store.wait_at_the_end(LAST_WAIT);
    // That notice is no part of the final text, and does not come where no session is opened.
    let unseen = args.quiet || ended.as_ref().is_err_and(|fail| !fail.is_broken_pipe());
    if let Some(reason) = wired.store.warning().filter(|_| unseen) {
        // Nobody is left to tell if stderr is closed.
        let _ = writeln!(terminal::stderr(), "warning: {reason}");
    }
    wired.runtime.shutdown_because(match ended {
        Ok(Exit::Interrupted) => EndReason::Shutdown,
        Ok(_) | Err(_) => EndReason::Closed,
    });
    wired.store.close();
    saved(&wired, command.as_deref(), ended)
}

/// What a run comes to when its session is not stored: a failure, whatever the turn came to. Of a slash command nothing
/// else is left.
fn saved(wired: &Wired, command: Option<&str>, ended: Result<Exit, Fail>) -> Result<Exit, Fail> {
    if wired.store.unsaved().is_empty() {
        return ended;
    }
    let said = match (command, wired.store.trouble()) {
        (Some(command), Some(trouble)) => {
            format!("`{}` was not saved: {trouble}", visible::line(command.trim()))
        }
        (_, _) => {
            "this session was not saved, or not all of it: the history could not be written. `agent doctor` says \
                   more"
                .to_owned()
        }
    };
    let fail = Fail::new(Exit::Failed, said);
    match ended {
        Ok(Exit::Done) => Err(fail),
        Ok(_) | Err(_) => {
            // Nobody is left to tell if stderr is closed.
            let _ = writeln!(terminal::stderr(), "error: {}", fail.error);
            ended
        }
    }
}

fn work(
    wired: &Wired,
    args: &RunArgs,
    content: Vec<Content>,
    folders: Folders,
    signals: &Receiver<Signal>,
) -> Result<Exit, Fail> {
    let calls = Calls { wired, signals };
    let Some(session) = calls.begin(args, folders)? else {
        return Ok(Exit::Interrupted);
    };
    let mut printer = printer(args);
    let turn = wired.runtime.prompt(&session, content).map_err(session::refused)?;
    let ended = follow::follow(wired, &session, turn, printer.as_mut(), signals);
    for command in wired.runtime.background(&session) {
        // Nobody is left to tell if stderr is closed.
        let _ = writeln!(terminal::stderr(), "ended with this run: $ {}", visible::line(&command));
    }
    ended
}

fn printer(args: &RunArgs) -> Box<dyn Printer> {
    if args.json {
        return Box::new(JsonLines::new(std::io::stdout()));
    }
    if args.quiet {
        return Box::new(Quiet::new(terminal::stdout(), terminal::stderr()));
    }
    let way = if io::stdout().is_terminal() {
        Way::Terminal
    } else if is_pipe(&io::stdout()) && io::stderr().is_terminal() {
        Way::Program
    } else {
        Way::Apart
    };
    let people = People::new(anstream::stdout(), anstream::stderr(), way).waiting(until_read);
    match io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
        true => Box::new(WithStatus::new(people, io::stderr(), width)),
        false => Box::new(people),
    }
}

/// The columns of the terminal behind our stderr.
fn width() -> usize {
    let columns = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    if columns == 0 { 80 } else { usize::from(columns) }
}

/// Waits until the program behind our stdout has read it all; one that takes its time, such as a pager, is not waited for.
fn until_read() {
    const LONGEST: Duration = Duration::from_millis(100);
    let end = Instant::now() + LONGEST;
    while ioctl_fionread(io::stdout()).is_ok_and(|unread| unread > 0) && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_pipe(stream: &impl AsFd) -> bool {
    rustix::fs::fstat(stream).is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Fifo)
}

/// The prompt: the argument, or stdin for `-`.
fn prompt(argument: &str) -> Result<String, Fail> {
    let text = match argument {
        "-" => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Fail::usage(format!("can't read the prompt from stdin: {error}")))?;
            text
        }
        argument => argument.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Fail::usage("the prompt is empty: say what is to be done"));
    }
    Ok(text)
}

/// The folders to work in, absolute.
fn folders(cwd: Option<&Path>, add_dir: &[PathBuf]) -> Result<Folders, Fail> {
    let cwd = match cwd {
        Some(cwd) => folder("--cwd", cwd)?,
        None => std::env::current_dir()
            .map_err(|error| Fail::usage(format!("there is no current folder ({error}): give --cwd FOLDER")))?,
    };
    let extra_roots = add_dir
        .iter()
        .map(|folder_| folder("--add-dir", folder_))
        .collect::<Result<_, _>>()?;
    Ok(Folders {
        cwd,
        extra_roots,
        servers: Vec::new(),
    })
}

fn folder(flag: &str, path: &Path) -> Result<PathBuf, Fail> {
    let refused = |why: &dyn std::fmt::Display| Fail::usage(format!("{flag} {}: {why}", path.display()));
    let absolute = std::path::absolute(path).map_err(|error| refused(&error))?;
    match std::fs::metadata(&absolute) {
        Ok(facts) if facts.is_dir() => Ok(absolute),
        Ok(_) => Err(refused(&"this is no folder")),
        Err(error) => Err(refused(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_a_usage_error() {
        let exits = [
            prompt("  ").err(),
            folders(Some(Path::new("/nowhere/at/all")), &[]).err(),
            folders(Some(Path::new("/dev/null")), &[]).err(),
            folders(None, &["/nowhere".into()]).err(),
        ];
        for fail in exits {
            assert_eq!(fail.map(|fail| fail.exit), Some(Exit::Usage));
        }
    }
}
