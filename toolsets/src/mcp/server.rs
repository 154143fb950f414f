//! One server of a session, from its start to its end, and what is told of it.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::{Event, Severity};
use agent_core::server::{self, ServerState, ServerView, Transport};
use crossbeam_channel::{Receiver, after, bounded, select};
use parking_lot::Mutex;

use super::connection::{Connection, Failure, Stop, Target, Told};
use super::listing::{Fault, Listed, Listing};
use super::stdio::Program;
use super::{Edge, fingerprint, http};
use crate::process::Processes;

mod calling;

/// The pauses before each time a server that has ended is started again; after the last it is not.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(4)];
/// How long the end of a start is waited for at the session's end.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A server of a session.
pub(super) struct Server {
    name: String,
    definition: server::Server,
    /// Where it starts.
    cwd: PathBuf,
    identity: String,
    processes: Arc<Processes>,
    edge: Edge,
    /// Set at the session's end.
    ending: Cancel,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    /// The tools it has listed last, by their names here. They stay while it is gone, so that a call starts it again.
    listed: Vec<Arc<Listed>>,
    /// What is amiss with what it has listed last, to be read after its name.
    faults: Vec<String>,
    /// What was not told yet.
    news: Vec<Event>,
    /// How often it was started again.
    restarts: usize,
    /// It is not started again before.
    rests_until: Instant,
}

enum Phase {
    Starting {
        /// Closes when it is ready or failed.
        over: Receiver<()>,
        /// A turn has waited for it, and gone on without it.
        waited: bool,
    },
    Ready(Arc<Connection>),
    /// It will be started again; how it ended.
    Gone(String),
    /// It will not; the reason.
    Failed(String),
}

impl Server {
    /// A server that is not started yet.
    pub(super) fn new(
        name: String,
        definition: server::Server,
        cwd: &Path,
        processes: &Arc<Processes>,
        edge: &Edge,
    ) -> Self {
        let cwd = match &definition.transport {
            Transport::Stdio { cwd: Some(own), .. } => cwd.join(own),
            Transport::Stdio { cwd: None, .. } | Transport::Http { .. } | Transport::Unserved { .. } => cwd.to_owned(),
        };
        Self {
            identity: fingerprint::of_server(&definition.transport, &cwd),
            name,
            definition,
            cwd,
            processes: Arc::clone(processes),
            edge: Arc::clone(edge),
            ending: Cancel::new(),
            state: Mutex::new(State {
                phase: Phase::Failed("it was not started yet".to_owned()),
                listed: Vec::new(),
                faults: Vec::new(),
                news: Vec::new(),
                restarts: 0,
                rests_until: Instant::now(),
            }),
        }
    }

    /// Its name in this session.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Begins to start it, on a thread of its own that ends when it is ready or failed.
    pub(super) fn start(self: &Arc<Self>) {
        self.start_in(&mut self.state.lock());
    }

    fn start_in(self: &Arc<Self>, state: &mut State) {
        let (done, over) = bounded::<()>(0);
        state.phase = Phase::Starting { over, waited: false };
        let server = Arc::clone(self);
        let bring_up = move || {
            if panic::catch_unwind(AssertUnwindSafe(|| server.bring_up())).is_err() {
                let cause = "a fault of the agent's own, which its log describes".to_owned();
                server.failed(&mut server.state.lock(), Failure::new("starting it", cause));
            }
            drop(done);
        };
        if let Err(error) = thread::Builder::new().name("mcp start".into()).spawn(bring_up) {
            self.failed(
                state,
                Failure::new("starting it", format!("there is no thread for it: {error}")),
            );
        }
    }

    fn bring_up(&self) {
        let opened = self.open();
        let mut state = self.state.lock();
        match opened {
            Ok((connection, _)) if self.ending.is_set() => {
                drop(state);
                connection.end();
            }
            Ok((connection, told)) => {
                self.take_list(&mut state, &told);
                state.phase = Phase::Ready(Arc::new(connection));
            }
            Err(failure) => self.failed(&mut state, failure),
        }
    }

    fn open(&self) -> Result<(Connection, Told), Failure> {
        let target = match &self.definition.transport {
            Transport::Stdio { command, args, env, .. } => {
                let program = Program {
                    name: &self.definition.name,
                    command,
                    args,
                    env,
                    cwd: &self.cwd,
                };
                Target::Program(program, &self.processes)
            }
            Transport::Http { url, headers } => Target::Address(url, headers),
            Transport::Unserved { why } => return Err(Failure::new("connecting to it", why.clone())),
        };
        let handle = (self.edge)().map_err(|cause| Failure::new("starting it", cause))?;
        Connection::open(&target, handle, &self.ending)
    }

    /// Takes over what the server has listed.
    fn take_list(&self, state: &mut State, told: &Told) {
        let Listing { tools, faults } = Listing::of(told, &self.name, &self.identity, self.definition.tools.as_deref());
        state.listed = tools;
        state.faults = faults.iter().map(|fault| fault.what.clone()).collect();
        let news = faults
            .into_iter()
            .map(|Fault { what, detail }| self.notice(&what, detail));
        state.news.extend(news);
    }

    /// It could not be started.
    fn failed(&self, state: &mut State, failure: Failure) {
        let Failure { phase, cause } = failure;
        if state.restarts > 0 {
            return self.gone(state, format!("{phase} again failed: {cause}"));
        }
        state.phase = Phase::Failed(format!("{phase} failed: {cause}"));
        if !self.ending.is_set() {
            let news = self.notice(&format!("can't be used: {phase} failed"), cause);
            state.news.push(news);
        }
    }

    /// It has ended. It is started again when it is needed, but not for ever.
    fn gone(&self, state: &mut State, how: String) {
        if let Some(pause) = PAUSES.get(state.restarts) {
            state.rests_until = Instant::now() + *pause;
            let detail = format!("{how}\nIt is started again when it is needed.");
            state.news.push(self.notice("has ended", detail));
            state.phase = Phase::Gone(how);
        } else {
            let why = format!(
                "it has ended {} times, and is not started again: {how}",
                PAUSES.len() + 1
            );
            state.news.push(self.notice("has ended and stays away", why.clone()));
            state.listed.clear();
            state.faults.clear();
            state.phase = Phase::Failed(why);
        }
    }

    /// Notices that it has ended, if it has.
    fn look(&self) {
        let dead = match &self.state.lock().phase {
            Phase::Ready(connection) if connection.is_dead() => Arc::clone(connection),
            Phase::Ready(_) | Phase::Starting { .. } | Phase::Gone(_) | Phase::Failed(_) => return,
        };
        let how = dead.last_words();
        {
            let mut state = self.state.lock();
            // Another call may have been first.
            if !matches!(&state.phase, Phase::Ready(connection) if Arc::ptr_eq(connection, &dead)) {
                return;
            }
            self.gone(&mut state, how);
        }
        dead.end();
    }

    /// Starts it again if it is gone. What comes back closes when it has been started, if that is to be waited for.
    pub(super) fn refresh(self: &Arc<Self>) -> Option<Receiver<()>> {
        self.look();
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Gone(_)) && Instant::now() >= state.rests_until {
            self.restart(&mut state);
        }
        match &state.phase {
            Phase::Starting { over, waited: false } => Some(over.clone()),
            Phase::Starting { .. } | Phase::Ready(_) | Phase::Gone(_) | Phase::Failed(_) => None,
        }
    }

    fn restart(self: &Arc<Self>, state: &mut State) {
        state.restarts += 1;
        self.start_in(state);
    }

    /// What closes when the start that is under way is over.
    pub(super) fn starts(&self) -> Option<Receiver<()>> {
        match &self.state.lock().phase {
            Phase::Starting { over, .. } => Some(over.clone()),
            Phase::Ready(_) | Phase::Gone(_) | Phase::Failed(_) => None,
        }
    }

    /// A turn has waited for it long enough.
    pub(super) fn give_up_waiting(&self) {
        let mut state = self.state.lock();
        if let Phase::Starting { waited, .. } = &mut state.phase {
            *waited = true;
            let detail = "This turn goes on without its tools; a later one has them if it answers by then.";
            let news = self.notice("is still being started", detail.to_owned());
            state.news.push(news);
        }
    }

    /// Whom to ask for its tools if it has said that they have changed.
    pub(super) fn take_change(&self) -> Option<Arc<Connection>> {
        match &self.state.lock().phase {
            Phase::Ready(connection) if connection.take_list_changed() => Some(Arc::clone(connection)),
            Phase::Ready(_) | Phase::Starting { .. } | Phase::Gone(_) | Phase::Failed(_) => None,
        }
    }

    /// Asks for its changed tools. Those known before stay where it does not say which it has now.
    pub(super) fn take_over_change(&self, connection: &Connection, cancel: &Cancel, deadline: Instant) {
        let told = connection.list(cancel, deadline.into());
        let mut state = self.state.lock();
        match told {
            Ok(told) => self.take_list(&mut state, &told),
            Err(Stop::Cancelled) => connection.note_list_changed(),
            Err(Stop::TimedOut) => {
                let detail = "Those known before stay. It is asked again when it says again that they have changed.";
                let news = self.notice("has other tools now, and does not say which", detail.to_owned());
                state.news.push(news);
            }
            Err(Stop::Failed(why)) => {
                connection.note_list_changed();
                let news = self.notice("has other tools now, and can't say which", why);
                state.news.push(news);
            }
        }
    }

    /// What the user was not told yet.
    pub(super) fn take_news(&self) -> Vec<Event> {
        std::mem::take(&mut self.state.lock().news)
    }

    /// Its tools.
    pub(super) fn tools(&self) -> Vec<Arc<Listed>> {
        self.state.lock().listed.clone()
    }

    /// How it does.
    pub(super) fn view(&self) -> ServerView {
        self.look();
        let place = match &self.definition.transport {
            // Arguments may be keys.
            Transport::Stdio { command, .. } => command.display().to_string(),
            Transport::Http { url, .. } => http::shown(url),
            Transport::Unserved { .. } => "not served".to_owned(),
        };
        let state = self.state.lock();
        ServerView {
            name: self.name.clone(),
            place,
            state: match &state.phase {
                Phase::Starting { .. } => ServerState::Starting,
                Phase::Ready(_) => ServerState::Ready,
                Phase::Gone(how) => ServerState::Gone(how.clone()),
                Phase::Failed(why) => ServerState::Failed(why.clone()),
            },
            tools: state.listed.iter().map(|listed| listed.spec.name.clone()).collect(),
            faults: state.faults.clone(),
        }
    }

    /// Lets a start that is under way end, and no other begin.
    pub(super) fn stop(&self) {
        self.ending.set();
    }

    /// Ends it, after [`Self::stop`].
    pub(super) fn end(&self) {
        let over = Phase::Failed("the session is over".to_owned());
        let phase = std::mem::replace(&mut self.state.lock().phase, over);
        match phase {
            Phase::Ready(connection) => connection.end(),
            Phase::Starting { over, .. } => select! {
                recv(over) -> _ => {}
                recv(after(LAST_MOMENT)) -> _ => {}
            },
            Phase::Gone(_) | Phase::Failed(_) => {}
        }
    }

    fn notice(&self, what: &str, detail: String) -> Event {
        Event::Notice {
            severity: Severity::Warning,
            title: format!("the MCP server `{}` {what}", self.name),
            detail: Some(detail),
        }
    }
}
