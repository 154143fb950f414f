//! The binary `agent`: arguments, wiring, logging. The only crate that knows all the others, and the only one that
//! knows the environment, the home folder and the terminal.
//!
//! Reading order: [`args`], [`wiring`], then the command you are after.

mod acp;
mod args;
mod catalogue;
mod check;
mod checks;
mod config;
mod credentials;
mod doctor;
mod doubt;
mod exit;
mod guess;
mod known;
mod local;
mod logging;
mod models;
mod outfile;
mod panics;
mod paths;
mod permissions;
mod probe;
mod provider_list;
mod repair;
mod run;
mod service;
mod sessions;
mod setup;
mod setup_port;
mod signals;
mod survey;
mod terminal;
mod transcript;
mod wiring;

use std::io::Write;
use std::process::ExitCode;

use agent_core::runtime::Preferences;
use anyhow::Context;
use clap::Parser;

use args::{Args, Command, PreferArgs};
use exit::{Exit, Fail};
use paths::{NoHome, Paths};

fn main() -> ExitCode {
    close();
    panics::install();
    let args = match Args::try_parse_from(args::words::apart(std::env::args_os())) {
        Ok(args) => args,
        Err(error) if error.use_stderr() => error.exit(),
        Err(asked) => return show(&asked).map_or_else(|fail| tell(&fail), |()| Exit::Done).into(),
    };
    let chosen = match paths::chosen_home() {
        Ok(chosen) => chosen,
        Err(relative) => return tell(&Fail::usage(relative)).into(),
    };
    let paths = Paths::find(chosen);
    let reader = match matches!(args.command, Command::Acp(_)) {
        true => logging::Reader::Editor,
        false => logging::Reader::Person,
    };
    let logging = logging::start(paths.as_ref().ok().map(Paths::logs), reader);
    let exit = run(args, paths.as_ref().map_err(|no_home| *no_home)).unwrap_or_else(|fail| tell(&fail));
    drop(logging);
    exit.into()
}

/// Shows the help or the version that was asked for.
fn show(asked: &clap::Error) -> Result<(), Fail> {
    let shown = asked.print().and_then(|()| std::io::stdout().flush());
    Ok(shown.context("can't write to stdout")?)
}

fn run(args: Args, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    match args.command {
        Command::Acp(args) => acp::acp(args, paths),
        Command::Run(args) => run::run(args, paths),
        Command::Setup(args) => setup::setup(args, paths),
        Command::Sessions(command) => sessions::sessions(command, paths),
        Command::Permissions(command) => permissions::permissions(command, paths),
        Command::Models(args) => models::models(&args, paths),
        Command::Providers(args) => provider_list::providers(&args, paths),
        Command::Doctor(args) if args.repair => repair::repair(paths),
        Command::Doctor(args) => doctor::doctor(&args, paths),
    }
}

/// Closes the environment and the memory of this process, which hold keys, to all other programs of the user: what a
/// model's command runs is one of them. The price is that there are no core files, and a debugger needs root.
#[cfg(target_os = "linux")]
fn close() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A system that can't is as open as it was.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
fn close() {}

/// Says why a command failed, on stderr.
fn tell(fail: &Fail) -> Exit {
    if fail.is_broken_pipe() {
        return Exit::Done;
    }
    // Nobody is left to tell if stderr is closed.
    let _ = writeln!(terminal::stderr(), "error: {:#}", fail.error);
    fail.exit
}

impl From<PreferArgs> for Preferences {
    fn from(prefer: PreferArgs) -> Self {
        Self {
            model: prefer.model,
            mode: prefer.mode,
            names_sessions: false,
        }
    }
}
