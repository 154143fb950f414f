//! What holds in the processes of one session: which wall they get, and what it holds. What a command's text says about
//! it is [`crate::command`]'s, and no wall.
//!
//! [`found`] says which wall there is; [`confinement`] what is held in, as plain data, from which each wall is built:
//! [`bwrap`], [`kernel`], [`mac`]. A wall that can't be put up is the failure of what was to be started behind it, and
//! never a start without it.

mod bwrap;
mod caches;
mod confinement;
mod found;
#[cfg(target_os = "linux")]
mod kernel;
mod mac;
mod places;
mod protected;
mod repository;
mod start;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod tmp;
mod told;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use agent_core::config::{Config, SandboxMode, TerminalBackend};
use agent_core::id::SessionId;
use agent_core::wall::Sandbox as State;
use agent_core::workspace::Scope;
use parking_lot::Mutex;

use self::caches::Caches;
use self::confinement::Confinement;
use self::found::{Found, Wall};
pub(crate) use self::protected::Protected;
use self::tmp::Tmp;
use crate::command::real;
use crate::process::{Ready, Spawner};

/// What holds in the processes of one session.
pub(crate) struct Sandbox {
    mode: SandboxMode,
    network: bool,
    /// Real paths of the session's folders.
    roots: Vec<PathBuf>,
    /// Real paths of further folders that may be written.
    more: Vec<PathBuf>,
    /// What processes with a network may write, too.
    caches: Caches,
    /// What servers without one may write, too.
    of_servers: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    /// Servers that no wall is around.
    outside: Vec<String>,
    /// Commands run in the terminals of the editor, where it has them.
    in_editor: bool,
    /// The wall, where it is not to be looked for.
    given: Option<Found>,
    /// Whether all that is protected was found when it was last looked for.
    is_whole: Mutex<Option<bool>>,
    /// The threads that are behind a wall of their own, each with where what it starts may write. After the last handle
    /// what they have started ends.
    spawners: Mutex<BTreeMap<(Who, Vec<PathBuf>), Spawner>>,
    /// Made for the first process.
    tmp: OnceLock<Tmp>,
    /// The lives of processes that may put a link in the place of a `.git` folder.
    loose: Mutex<Vec<Weak<()>>>,
}

/// Whose process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The model's.
    Command,
    /// An MCP server.
    Server,
}

/// How a command is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Behind the wall, if there is one.
    Inside,
    /// Without it.
    Left,
    /// In a terminal of the editor.
    InEditor,
}

/// A process that is ready to be started, and what is to be known of it.
pub(crate) struct Held {
    /// The process.
    pub(crate) ready: Ready,
    /// Its folder for temporary files, by the name that it has for the process.
    tmp: Option<PathBuf>,
    /// What was protected when it was started.
    pub(crate) before: Option<Protected>,
}

/// A wall could not be put up.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// What a process that never heard of a wall would stumble over.
const MISLEADING: [&str; 4] = ["TMP", "TEMP", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"];

impl Sandbox {
    /// What the configuration wants for a session of this scope; the `own` folders are seen by none of its processes.
    pub(crate) fn new(scope: &Scope, config: &Config, own: &[PathBuf]) -> Self {
        let roots: Vec<PathBuf> = scope.roots().map(|root| real(root)).collect();
        let home = std::env::home_dir();
        let home = home.as_deref();
        let more = places::configured(&config.sandbox.writable, home);
        let writable = [roots.as_slice(), &more].concat();
        Self {
            mode: config.sandbox.mode,
            network: config.sandbox.network,
            caches: Caches::of(home, |name| std::env::var_os(name), &writable),
            more,
            of_servers: places::of_fetchers(home),
            hidden: places::hidden(own, home, &roots),
            roots,
            outside: config.sandbox.outside.clone(),
            in_editor: config.terminal.backend == TerminalBackend::Client,
            given: None,
            is_whole: Mutex::default(),
            spawners: Mutex::default(),
            tmp: OnceLock::new(),
            loose: Mutex::default(),
        }
    }

    /// The wall, or why there is none.
    fn wall(&self) -> Result<&Wall, &str> {
        if self.mode == SandboxMode::Off {
            return Err("it is switched off in the configuration");
        }
        let found = self.given.as_ref().unwrap_or_else(|| found::found());
        found.wall.as_ref().ok_or(&found.lacks)
    }

    /// Finds out which wall there is, so that nobody waits for it later.
    pub(crate) fn get_ready(&self) {
        let _wall = self.wall();
    }

    /// Whether a command may ask to run without the wall.
    pub(crate) fn may_be_left(&self) -> bool {
        self.mode == SandboxMode::Auto && self.wall().is_ok()
    }

    /// What will hold in a command.
    ///
    /// # Errors
    /// Why it can't run at all.
    pub(crate) fn around(&self, way: Way) -> Result<State, String> {
        let required = self.mode == SandboxMode::Required;
        match (way, self.wall()) {
            (Way::Left, _) if required => Err("it can't run outside the sandbox: the user's configuration has \
                 `mode = \"required\"` under [sandbox]. Do it inside, or ask the user"
                .to_owned()),
            (Way::InEditor, _) if required => Err("terminals of the editor have no sandbox, and the user's configuration \
                 has `mode = \"required\"` under [sandbox]: `backend = \"local\"` under [terminal] runs commands inside it"
                .to_owned()),
            (Way::InEditor, _) => Ok(State::None { why: "it runs in a terminal of the editor".to_owned() }),
            (Way::Left, Ok(_)) => Ok(State::Left),
            (Way::Inside, Ok(wall)) => Ok(State::Inside(self.told(wall, self.holds_all(wall)))),
            (Way::Inside | Way::Left, Err(why)) if required => Err(no_wall(why)),
            (Way::Inside | Way::Left, Err(why)) => Ok(State::None { why: why.to_owned() }),
        }
    }

    fn holds_all(&self, wall: &Wall) -> bool {
        // What the wall of macOS holds it holds by its name.
        match wall {
            Wall::Bubblewrap(_) => {
                let known = *self.is_whole.lock();
                known.unwrap_or_else(|| self.look().is_whole)
            }
            Wall::Kernel(_) | Wall::Seatbelt => wall.holds_protected(),
        }
    }

    /// Whether commands may write history. Where the network is off they may run unasked, so that they may not.
    fn lends_history(&self, wall: &Wall) -> bool {
        self.network && matches!(wall, Wall::Bubblewrap(_))
    }

    /// Whether the server of this name has no wall around it.
    pub(crate) fn leaves_out(&self, server: &str) -> bool {
        self.outside.iter().any(|name| name == server)
    }

    /// Whether the server of this name has a wall around it.
    pub(crate) fn holds_in(&self, server: &str) -> bool {
        !self.leaves_out(server) && self.wall().is_ok()
    }

    /// Looks for what is protected now.
    pub(crate) fn look(&self) -> Protected {
        self.noted(Protected::look(&self.roots))
    }

    fn noted(&self, found: Protected) -> Protected {
        *self.is_whole.lock() = Some(found.is_whole);
        found
    }

    fn tmp(&self) -> io::Result<&Path> {
        if let Some(tmp) = self.tmp.get() {
            return Ok(tmp.path());
        }
        // Two may be made at once; the second one goes at once, too.
        let made = Tmp::make()?;
        Ok(self.tmp.get_or_init(|| made).path())
    }

    /// What holds in a process, and what is to live as long as the process does.
    fn confinement(&self, wall: &Wall, who: Who, before: &Protected, tmp: &Path) -> (Confinement, Option<Arc<()>>) {
        let more = match (self.network, who) {
            (true, _) => self.caches.there(),
            (false, Who::Server) => self.of_servers.clone(),
            (false, Who::Command) => Vec::new(),
        };
        let writable = self.roots.iter().chain(&self.more).chain(&more);
        let mut loose = self.loose.lock();
        loose.retain(|life| life.strong_count() > 0);
        // What is bound to be written is bound by its name, which must not lead elsewhere in that moment.
        let (read_only, fixed) = match self.lends_history(wall) && loose.is_empty() {
            true => before.held_beside_history(),
            false => (before.held(), Vec::new()),
        };
        let mut repositories = self.roots.iter().map(|root| root.join(".git"));
        let life = repositories
            .any(|git| !fixed.contains(&git) && !read_only.contains(&git))
            .then(Arc::default);
        loose.extend(life.as_ref().map(Arc::downgrade));
        drop(loose);
        let confinement = Confinement {
            writable: writable.filter(|folder| folder.exists()).cloned().collect(),
            fixed,
            read_only,
            hidden: self.hidden.iter().filter(|place| place.exists()).cloned().collect(),
            tmp: tmp.to_owned(),
            network: self.network,
        };
        (confinement, life)
    }
}

impl Held {
    /// Tells the process where its temporary files go, and nothing of what it can't reach.
    pub(crate) fn set_variables(&mut self) {
        if let Some(tmp) = self.tmp.take() {
            let command = self.ready.command();
            command.env("TMPDIR", tmp);
            for name in MISLEADING {
                command.env_remove(name);
            }
        }
    }
}

fn fault(text: String) -> io::Error {
    io::Error::other(Fault(text))
}

fn no_wall(why: &str) -> String {
    format!("there is no sandbox, and the user's configuration has `mode = \"required\"` under [sandbox]: {why}")
}

fn scope(cwd: &Path) -> Scope {
    Scope {
        session: SessionId::new(),
        cwd: cwd.to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    }
}

#[cfg(test)]
impl Sandbox {
    /// No wall.
    pub(crate) fn none() -> Self {
        let mut config = Config::default();
        config.sandbox.mode = SandboxMode::Off;
        Self::new(&scope(Path::new("/")), &config, &[])
    }
}

/// What there is of a sandbox here by a configuration, and whether that is what it wants; for people.
pub(crate) fn survey(config: &Config, cwd: &Path) -> (bool, String) {
    let sandbox = Sandbox::new(&scope(cwd), config, &[]);
    let lacks = sandbox
        .wall()
        .is_ok()
        .then(|| found::found().lacks.as_str())
        .filter(|lacks| !lacks.is_empty());
    let sentence = match lacks {
        Some(lacks) => format!("{}. A better one can't be had: {lacks}", sandbox.sentence()),
        None => sandbox.sentence(),
    };
    (sandbox.wall().is_ok(), sentence)
}
