//! The processes of one session: its shell, the commands in the background, and what foreground commands left running.
//! Dropping it ends them all.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::{Event, Progress};
use agent_core::surface::NewTerminal;
use agent_core::wall;
use parking_lot::Mutex;

use super::environment::{Environment, Mark};
use super::guard::{Guarded, Watched};
use super::output::Excerpt;
use super::running::{End, Exit, Input, Running, Spoken};
use super::search_path::{self, search_path};
use super::stray;
use crate::runs::{RunGuard, Runs};
use crate::sandbox::{Held, Protected, Sandbox};

/// At the session's end all its processes together get this long to end by themselves.
const LAST_GRACE: Duration = Duration::from_millis(200);
/// So many background commands may run at once, and so many are remembered.
const MOST: usize = 32;

/// Bash without the user's start-up files.
const BARE: [&str; 2] = ["--norc", "--noprofile"];

/// The processes of one session.
pub(crate) struct Processes {
    environment: Environment,
    /// Groups of ended commands in which something still runs. Looked through and shortened at each addition.
    left: Mutex<Vec<Arc<Guarded>>>,
    /// Something was started, so there may be something to end.
    watched: OnceLock<Watched>,
    background: Mutex<Started>,
    /// What is told when each began and ended.
    runs: Arc<Runs>,
    /// After all that is behind it.
    sandbox: Sandbox,
}

/// A command in the foreground, and what is to be known of it at its end.
pub(crate) struct Foreground {
    /// The command.
    pub(crate) running: Running,
    /// What was protected when it was started, if it is behind a wall.
    before: Option<Protected>,
}

#[derive(Default)]
struct Started {
    count: u32,
    commands: Vec<Arc<Background>>,
}

/// A command in the background.
pub(crate) struct Background {
    /// The session's name for it: `p1`.
    pub(crate) id: String,
    /// The text that the shell got.
    pub(crate) command: String,
    /// The folder it started in.
    pub(crate) cwd: PathBuf,
    running: Running,
    /// What was protected when it was started; none when that was looked at again, or where there is no wall.
    before: Mutex<Option<Protected>>,
    /// Bytes of output that were told.
    told: Mutex<u64>,
}

/// How far a background command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs.
    Running,
    /// It has ended.
    Ended(Exit),
}

impl Processes {
    /// No processes yet, and the environment they will have.
    pub(crate) fn new(environment: Environment, runs: Arc<Runs>, sandbox: Sandbox) -> Self {
        Self {
            environment,
            runs,
            sandbox,
            left: Mutex::default(),
            watched: OnceLock::new(),
            background: Mutex::default(),
        }
    }

    /// What holds them in.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Begins to ask the login shell where programs are looked for, so that nobody waits for the answer later. The
    /// thread ends with the answer, or when that is waited for no more.
    pub(crate) fn look_for_programs(&self) {
        if search_path::is_known() {
            return;
        }
        let environment = self.environment.clone();
        let started = thread::Builder::new().name("search path".into()).spawn(move || {
            search_path(&environment);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "the login shell could not be asked for its PATH ahead of time");
        }
    }

    /// Waits for where programs are looked for; see [`search_path::wait_until_known`].
    pub(crate) fn wait_for_programs(&self, cancel: &Cancel, needed_for: &str, tell: &mut dyn FnMut(Event)) {
        search_path::wait_until_known(&self.environment, cancel, needed_for, tell);
    }

    /// Whether asking where programs are looked for takes no time.
    pub(crate) fn knows_search_path(&self) -> bool {
        search_path::is_known()
    }

    /// Where programs are looked for.
    pub(crate) fn search_path(&self) -> &'static OsStr {
        search_path(&self.environment)
    }

    /// Starts a command that is waited for.
    ///
    /// # Errors
    /// What the operating system says about the start.
    pub(crate) fn start(&self, command: &str, cwd: &Path, sandbox: &wall::Sandbox) -> io::Result<Foreground> {
        let (Held { ready, before, .. }, mark) = self.shell(command, cwd, sandbox)?;
        let run = self.runs.begin();
        let running = Running::start(ready, Some(mark), Input::Empty)?.during(run);
        Ok(Foreground { running, before })
    }

    /// What a command has made that steers tools, and that no wall could hold, since it was not there.
    pub(crate) fn made_by(&self, command: &Foreground) -> Vec<PathBuf> {
        command
            .before
            .as_ref()
            .map(|before| self.made_since(before))
            .unwrap_or_default()
    }

    /// The same of a command in the background, once, when it has ended.
    pub(crate) fn made_in_background(&self, background: &Background) -> Vec<PathBuf> {
        let before = background.before.lock().take();
        before.map(|before| self.made_since(&before)).unwrap_or_default()
    }

    fn made_since(&self, before: &Protected) -> Vec<PathBuf> {
        let now = self.sandbox.look();
        now.made_since(before).into_iter().map(Path::to_owned).collect()
    }

    /// Something begins that may change files and that is no process of ours.
    pub(crate) fn begin_run(&self) -> RunGuard {
        self.runs.begin()
    }

    /// A command for a terminal of the editor, in the shell that it would get here.
    pub(crate) fn for_editor(&self, text: &str, cwd: &Path, output_limit: u64) -> NewTerminal {
        let shell = bash();
        let options: &[&str] = if shell.is_some() { &BARE } else { &[] };
        let mut env = self.environment.for_editor();
        if let Some(path) = self.search_path().to_str() {
            env.push(("PATH".to_owned(), path.to_owned()));
        }
        NewTerminal {
            command: shell.unwrap_or("/bin/sh").to_owned(),
            args: [options, &["-c", "--", text]]
                .concat()
                .iter()
                .map(|&arg| arg.to_owned())
                .collect(),
            env,
            cwd: cwd.to_owned(),
            output_limit,
        }
    }

    /// Starts a server that is spoken with over its stdin and stdout, with these variables beside those of commands.
    ///
    /// # Errors
    /// What the operating system says about the start.
    pub(crate) fn start_spoken(
        &self,
        name: &str,
        (program, args): (&Path, &[String]),
        variables: &BTreeMap<String, String>,
        cwd: &Path,
    ) -> io::Result<(Running, Spoken)> {
        self.watched.get_or_init(Watched::new);
        let own = variables.get("PATH").map(OsStr::new);
        // Behind a wall it would be the wall's program that says so, in other words.
        look_for(program, own.unwrap_or_else(|| self.search_path()), cwd)?;
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let mut held = self.sandbox.server_ready(name, program.as_os_str(), &args, cwd)?;
        held.ready.command().current_dir(cwd);
        let mark = self.environment.apply_marked(held.ready.command());
        held.set_variables();
        let command = held.ready.command();
        command.env("PATH", self.search_path()).env("PWD", cwd).envs(variables);
        Running::start_spoken(held.ready, mark)
    }

    /// Takes over what an ended command left running. Says whether it left something.
    pub(crate) fn keep_left(&self, running: &Running) -> bool {
        let mut left = self.left.lock();
        left.retain(|guarded| guarded.group().exists());
        let alive = running.alive();
        left.extend(alive.cloned());
        alive.is_some()
    }

    /// Starts a command that nobody waits for.
    ///
    /// # Errors
    /// What the operating system says about the start; `QuotaExceeded` when too many run already.
    pub(crate) fn start_background(
        &self,
        command: &str,
        cwd: &Path,
        sandbox: &wall::Sandbox,
    ) -> io::Result<Arc<Background>> {
        let mut started = self.background.lock();
        if started.commands.len() >= MOST {
            let ended = started
                .commands
                .iter()
                .position(|background| background.running.exit().is_some());
            started.commands.remove(ended.ok_or(io::ErrorKind::QuotaExceeded)?);
        }
        let (Held { ready, before, .. }, mark) = self.shell(command, cwd, sandbox)?;
        let run = self.runs.begin();
        let running = Running::start(ready, Some(mark), Input::Written)?.during(run);
        started.count += 1;
        let background = Arc::new(Background {
            id: format!("p{}", started.count),
            command: command.to_owned(),
            cwd: cwd.to_owned(),
            running,
            before: Mutex::new(before),
            told: Mutex::new(0),
        });
        started.commands.push(Arc::clone(&background));
        Ok(background)
    }

    /// The background commands, the oldest first.
    pub(crate) fn background(&self) -> Vec<Arc<Background>> {
        self.background.lock().commands.clone()
    }

    fn shell(&self, text: &str, cwd: &Path, sandbox: &wall::Sandbox) -> io::Result<(Held, Mark)> {
        self.watched.get_or_init(Watched::new);
        let bash = bash();
        let options: &[&str] = if bash.is_some() { &BARE } else { &[] };
        // Without `--` a text that begins with `-` would be read as options.
        let mut args: Vec<OsString> = options.iter().chain(&["-c", "--"]).map(OsString::from).collect();
        args.push(OsStr::from_bytes(text.as_bytes()).to_owned());
        let shell = OsStr::new(bash.unwrap_or("/bin/sh"));
        let mut held = self.sandbox.ready(sandbox, shell, &args, cwd)?;
        held.ready.command().current_dir(cwd);
        let mark = self.environment.apply_marked(held.ready.command());
        held.set_variables();
        held.ready.command().env("PATH", self.search_path()).env("PWD", cwd);
        Ok((held, mark))
    }
}

/// Looks for a program as the system does when it starts one.
fn look_for(program: &Path, search_path: &OsStr, cwd: &Path) -> io::Result<()> {
    let is_bare = program.components().count() == 1 && !program.is_absolute();
    let mut places: Vec<PathBuf> = match is_bare {
        true => std::env::split_paths(search_path)
            .map(|folder| cwd.join(folder).join(program))
            .collect(),
        false => vec![cwd.join(program)],
    };
    places.retain(|place| place.is_file());
    let runs = |place: &PathBuf| rustix::fs::access(place, rustix::fs::Access::EXEC_OK).is_ok();
    match places.iter().any(runs) {
        true => Ok(()),
        false if places.is_empty() => Err(io::ErrorKind::NotFound.into()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The bash that commands run in; without one it is `/bin/sh`.
pub fn bash() -> Option<&'static str> {
    let places = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    places.into_iter().find(|path| Path::new(path).exists())
}

impl Background {
    /// How far it is.
    pub(crate) fn state(&self) -> State {
        self.running.exit().map_or(State::Running, State::Ended)
    }

    /// What it printed since this was last asked.
    pub(crate) fn news(&self) -> Excerpt {
        let runs = self.state() == State::Running;
        if !runs {
            self.running.drain();
        }
        let mut told = self.told.lock();
        let mut excerpt = self.running.output().since(*told);
        if runs {
            excerpt = excerpt.up_to_whole_character();
        }
        *told = excerpt.total;
        excerpt
    }

    /// Waits for its end, for `limit` at most; see [`Running::follow`].
    pub(crate) fn follow(&self, limit: Duration, cancel: &Cancel, news: impl FnMut()) -> End {
        self.running.follow(limit, cancel, news)
    }

    /// The end of its output.
    pub(crate) fn progress(&self) -> Progress {
        self.running.output().progress()
    }

    /// Writes to its input.
    ///
    /// # Errors
    /// See [`Running::write`].
    pub(crate) fn write(&self, text: &str, cancel: &Cancel) -> io::Result<()> {
        self.running.write(text, cancel)
    }

    /// Ends it and what it started; see [`Running::end`].
    pub(crate) fn end(&self, grace: Duration) {
        self.running.end(grace);
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let mut groups = std::mem::take(&mut *self.left.lock());
        let background = self.background.lock();
        groups.extend(
            background
                .commands
                .iter()
                .filter_map(|background| background.running.alive().cloned()),
        );
        end_together(&groups);
        if let Some(watched) = self.watched.take() {
            stray::end_all(&self.environment.mark());
            drop(watched);
        }
    }
}

/// Asks all groups to end, gives all of them one grace together, and kills what is left.
fn end_together(groups: &[Arc<Guarded>]) {
    groups.iter().for_each(|guarded| guarded.group().ask());
    let deadline = Instant::now() + LAST_GRACE;
    for guarded in groups {
        guarded.group().end(deadline.saturating_duration_since(Instant::now()));
    }
}
