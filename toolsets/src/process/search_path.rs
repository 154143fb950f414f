//! Where programs are looked for. An editor started from a desktop has a short PATH; the user's login shell knows the
//! long one, and is asked for it once.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use agent_core::cancel::Cancel;
use agent_core::event::{Event, Severity};
use crossbeam_channel::{after, bounded};

use super::environment::{Environment, own_path};
use super::running::{Input, Running};

/// A login shell that takes longer is not waited for.
const LIMIT: Duration = Duration::from_secs(2);
/// After so long the user is told what is waited for.
const MOMENT: Duration = Duration::from_secs(1);
/// What one that is ended gets to put things away.
const GRACE: Duration = Duration::from_millis(300);

static PATH: OnceLock<OsString> = OnceLock::new();

/// Waits until it is known where programs are looked for, or for a cancel. A wait that takes a moment is told, once, with
/// what it is `needed_for`, a sentence.
pub(crate) fn wait_until_known(
    environment: &Environment,
    cancel: &Cancel,
    needed_for: &str,
    tell: &mut dyn FnMut(Event),
) {
    let Some(shell) = login_shell().filter(|_| !is_known()) else {
        return;
    };
    // Nothing is sent; the other end is dropped with the answer.
    let (answering, answered) = bounded::<Infallible>(0);
    let environment = environment.clone();
    let asked = thread::Builder::new().name("search path".into()).spawn(move || {
        search_path(&environment);
        drop(answering);
    });
    if let Err(error) = asked {
        tracing::warn!(%error, "the login shell is not waited for");
        return;
    }
    crossbeam_channel::select! {
        recv(answered) -> _ => return,
        recv(cancel.closed()) -> _ => return,
        recv(after(MOMENT)) -> _ => tell(slow_shell(&shell, needed_for)),
    }
    crossbeam_channel::select! {
        recv(answered) -> _ => {}
        recv(cancel.closed()) -> _ => {}
    }
}

/// What the user is told while that takes its time.
fn slow_shell(shell: &Path, needed_for: &str) -> Event {
    Event::Notice {
        severity: Severity::Info,
        title: format!(
            "waiting for the login shell to say its PATH, {} s at most: `{}`",
            LIMIT.as_secs(),
            shell.display()
        ),
        detail: Some(format!("{needed_for} Is something slow in the shell's start-up files?")),
    }
}

/// Whether the user's login shell has answered, or is not waited for any more.
pub(crate) fn is_known() -> bool {
    PATH.get().is_some()
}

/// The agent's PATH, completed by what the user's login shell adds. The first call may take 2 s.
pub(crate) fn search_path(environment: &Environment) -> &'static OsString {
    PATH.get_or_init(|| {
        let own = own_path();
        let login = login_shell().and_then(|shell| login_path(&shell, environment));
        login.map_or(own.clone(), |login| completed(&own, &login))
    })
}

/// The user's login shell.
pub(crate) fn login_shell() -> Option<PathBuf> {
    std::env::var_os("SHELL")
        .map(PathBuf::from)
        .filter(|shell| shell.is_absolute())
}

fn login_path(shell: &Path, environment: &Environment) -> Option<OsString> {
    let mut command = Command::new(shell);
    environment.apply(&mut command);
    // `env` prints the same from every shell, whatever that shell's own syntax is.
    command.args(["-l", "-c", "/usr/bin/env"]);
    command.current_dir(std::env::home_dir()?);
    command.stderr(Stdio::null());
    let running = Running::start(command.into(), None, Input::Empty).ok()?;
    crossbeam_channel::select! {
        recv(running.exited()) -> _ => running.drain(),
        recv(after(LIMIT)) -> _ => tracing::info!(
            shell = %shell.display(),
            "the login shell said no PATH within {} s, so commands get the agent's own; is something slow in its start-up files?",
            LIMIT.as_secs()
        ),
    }
    // A shell that is ended in its start-up files may have something to put away.
    running.end(GRACE);
    let printed = running.output().since(0).bytes();
    let line = printed
        .split(|byte| *byte == b'\n')
        .rfind(|line| line.starts_with(b"PATH=/"))?;
    Some(OsString::from_vec(line[b"PATH=".len()..].to_vec()))
}

/// `own` first, so that a PATH set up on purpose keeps its order, then what only `login` has.
fn completed(own: &OsString, login: &OsString) -> OsString {
    let mut folders: Vec<PathBuf> = std::env::split_paths(own).collect();
    for folder in std::env::split_paths(login) {
        if folder.is_absolute() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).unwrap_or_else(|_| own.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_path_is_appended_without_doubles() {
        let check = |own: &str, login: &str, expect: &str| {
            assert_eq!(completed(&own.into(), &login.into()), OsString::from(expect));
        };
        check("/usr/bin:/bin", "/home/a/bin:/usr/bin", "/usr/bin:/bin:/home/a/bin");
        check("/usr/bin", "relative:/bin", "/usr/bin:/bin");
        check("/usr/bin", "", "/usr/bin");
    }
}
