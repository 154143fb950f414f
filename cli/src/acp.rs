//! `agent acp`: serves an editor on stdin and stdout until it is gone.

use std::io::{self, IsTerminal, Read, Stdin};
use std::sync::Arc;
use std::time::Duration;

use acp_adapter::agent::Lines;
use agent_core::cancel::Cancel;
use agent_core::provider::ModelRef;
use agent_core::runtime::Preferences;
use agent_core::setup::Setup;

use crate::args::AcpArgs;
use crate::credentials::Environment;
use crate::exit::{self, Exit, Fail};
use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;
use crate::{check, setup, signals, wiring};

/// The end is given this long; then the process ends all the same.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// Does what the flags say.
pub(crate) fn acp(args: AcpArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    if args.setup {
        return setup::setup(crate::args::SetupArgs::default(), paths);
    }
    if let Some(cwd) = &args.cwd {
        std::env::set_current_dir(cwd)
            .map_err(|error| Fail::usage(format!("--cwd: can't work in {}: {error}", cwd.display())))?;
    }
    if args.check {
        return check::check(args.prefer, paths);
    }
    serve(args, paths)
}

fn serve(args: AcpArgs, paths: Result<&Paths, NoHome>) -> Result<Exit, Fail> {
    // Before all else: the first line comes while the rest is made ready.
    let lines = Lines::read(Input(std::io::stdin()))?;
    let stop = Cancel::new();
    let on_signal = stop.clone();
    signals::listen(move |_| on_signal.set())?;
    let _bounded = stop.on_cancel(end_in_any_case);

    let setup = Arc::new(UserSetup::new(paths.ok().cloned(), Environment::real()));
    let provider = chosen_provider(&setup, args.prefer.model.as_ref());
    let tell = |reason: &str| tracing::warn!("{reason}");
    let preferences = Preferences {
        names_sessions: true,
        ..args.prefer.into()
    };
    let wired = wiring::start(paths, setup.clone(), "acp", preferences, tell);
    if std::io::stdin().is_terminal() {
        tracing::warn!("this speaks the Agent Client Protocol with an editor; in a terminal, use `agent run`");
    }
    let served = wiring::serve(&wired, lines, setup, provider, &stop);
    end_in_any_case();
    served?;
    Ok(Exit::Done)
}

/// Our stdin. Its end is the end of the client, so the last moment begins there.
struct Input(Stdin);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            end_in_any_case();
        }
        Ok(read)
    }
}

/// The provider that setup would be about. A configuration that can't be read is told when a session begins.
fn chosen_provider(setup: &UserSetup, preferred: Option<&ModelRef>) -> Option<String> {
    match preferred {
        Some(model) => Some(model.provider.clone()),
        None => setup.config().ok().map(|config| config.model.provider),
    }
}

/// Ends the process when its time is over, whatever hangs. The client is gone by then, so this is no failure.
fn end_in_any_case() {
    // Without a thread there is no limit, and nothing else to do about it.
    let _ = exit::after(LAST_MOMENT, Exit::Done);
}
