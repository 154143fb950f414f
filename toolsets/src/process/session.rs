//! The processes of one session: its shell, the commands in the background, and what foreground commands left running.
//! Dropping it ends them all.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::{Event, Progress};
use agent_core::surface::NewTerminal;
use parking_lot::Mutex;

use super::environment::{Environment, Mark};
use super::guard::{Guarded, Watched};
use super::output::Excerpt;
use super::running::{End, Exit, Input, Running, Spoken};
use super::search_path::{self, search_path};
use super::stray;
use crate::runs::{RunGuard, Runs};

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
    pub(crate) fn new(environment: Environment, runs: Arc<Runs>) -> Self {
        Self {
            environment,
            runs,
            left: Mutex::default(),
            watched: OnceLock::new(),
            background: Mutex::default(),
        }
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
    pub(crate) fn start(&self, command: &str, cwd: &Path) -> io::Result<Running> {
        let (shell, mark) = self.shell(command, cwd);
        let run = self.runs.begin();
        Ok(Running::start(shell, Some(mark), Input::Empty)?.during(run))
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

    /// Starts a program that is spoken with over its stdin and stdout, with these variables beside those of commands.
    ///
    /// # Errors
    /// What the operating system says about the start.
    pub(crate) fn start_spoken(
        &self,
        mut program: Command,
        variables: &BTreeMap<String, String>,
        cwd: &Path,
    ) -> io::Result<(Running, Spoken)> {
        self.watched.get_or_init(Watched::new);
        program.current_dir(cwd);
        let mark = self.environment.apply_marked(&mut program);
        program.env("PATH", self.search_path()).env("PWD", cwd).envs(variables);
        Running::start_spoken(program, mark)
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
    pub(crate) fn start_background(&self, command: &str, cwd: &Path) -> io::Result<Arc<Background>> {
        let mut started = self.background.lock();
        if started.commands.len() >= MOST {
            let ended = started
                .commands
                .iter()
                .position(|background| background.running.exit().is_some());
            started.commands.remove(ended.ok_or(io::ErrorKind::QuotaExceeded)?);
        }
        let (shell, mark) = self.shell(command, cwd);
        let run = self.runs.begin();
        let running = Running::start(shell, Some(mark), Input::Written)?.during(run);
        started.count += 1;
        let background = Arc::new(Background {
            id: format!("p{}", started.count),
            command: command.to_owned(),
            cwd: cwd.to_owned(),
            running,
            told: Mutex::new(0),
        });
        started.commands.push(Arc::clone(&background));
        Ok(background)
    }

    /// The background commands, the oldest first.
    pub(crate) fn background(&self) -> Vec<Arc<Background>> {
        self.background.lock().commands.clone()
    }

    fn shell(&self, text: &str, cwd: &Path) -> (Command, Mark) {
        self.watched.get_or_init(Watched::new);
        let bash = bash();
        let mut command = Command::new(bash.unwrap_or("/bin/sh"));
        if bash.is_some() {
            command.args(BARE);
        }
        // Without `--` a text that begins with `-` would be read as options.
        command
            .args(["-c", "--"])
            .arg(OsStr::from_bytes(text.as_bytes()))
            .current_dir(cwd);
        let mark = self.environment.apply_marked(&mut command);
        command.env("PATH", self.search_path()).env("PWD", cwd);
        (command, mark)
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
