//! A session on a stage: the real core, store and tools, a scripted model, a throw-away folder, and what happens as lines.

mod lines;
mod names;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::event::{Envelope, Event};
use agent_core::id::{SessionId, TurnId};
use agent_core::outward::{Answer, CallError, CallId, Outward, Parcel};
use agent_core::provider::{ModelRef, Provider};
use agent_core::runtime::{Folders, Parts, Preferences, REST_AFTER, Runtime};
use agent_core::script::{Script, ScriptReply};
use agent_core::setup::{Setup, SetupError};
use agent_core::store::Store;
use agent_core::workspace::Workspaces;
use crossbeam_channel::Receiver;
use tempfile::TempDir;
use toolsets::LocalWorkspaces;

use crate::stage::lines::Lines;
use crate::stage::names::Names;

/// How long a test waits for something that must come.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A runtime with one session.
pub struct Stage {
    /// The session's folder.
    pub folder: TempDir,
    /// The runtime.
    pub runtime: Runtime,
    /// The session.
    pub session: SessionId,
    /// Where it is kept.
    pub store: Store,
    disk: Option<TempDir>,
    inlet: Receiver<Parcel>,
    names: Names,
}

/// One model, whatever is asked for.
pub struct OneModel {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The configuration.
    pub config: Config,
}

impl Setup for OneModel {
    fn config(&self) -> Result<Config, SetupError> {
        Ok(self.config.clone())
    }

    fn provider(&self, _: &Config, _: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        Ok(self.provider.clone())
    }

    fn models(&self, _: &Config) -> Vec<ModelRef> {
        vec![self.provider.model().name.clone()]
    }
}

impl Stage {
    /// A session whose model plays these replies.
    pub fn new(replies: Vec<ScriptReply>) -> Self {
        Self::with(
            Arc::new(Script::from_replies(replies)),
            Config::default(),
            Store::memory(),
        )
    }

    /// The same with a store on disk, for a restart.
    pub fn stored(replies: Vec<ScriptReply>) -> Self {
        Self::stored_with(Arc::new(Script::from_replies(replies)))
    }

    /// The same with this model.
    pub fn stored_with(provider: Arc<dyn Provider>) -> Self {
        let disk = tempfile::tempdir().expect("a temporary folder can be made");
        let store = Store::open(disk.path()).expect("a store can be made");
        let mut stage = Self::with(provider, Config::default(), store);
        stage.disk = Some(disk);
        stage
    }

    /// A session with this model, configuration and store.
    pub fn with(provider: Arc<dyn Provider>, config: Config, store: Store) -> Self {
        Self::in_workspaces(provider, config, store, local())
    }

    /// A session with these and with workspaces that are no real ones.
    pub fn in_workspaces(
        provider: Arc<dyn Provider>,
        config: Config,
        store: Store,
        workspaces: Arc<dyn Workspaces>,
    ) -> Self {
        Self::resting_after(provider, config, store, workspaces, REST_AFTER)
    }

    /// The same, and sessions rest after this time.
    pub fn resting_after(
        provider: Arc<dyn Provider>,
        config: Config,
        store: Store,
        workspaces: Arc<dyn Workspaces>,
        rest_after: Duration,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (runtime, inlet) = runtime(provider, config, store.clone(), workspaces, rest_after);
        let call = runtime.create(folders(folder.path()), None);
        let mut stage = Self {
            folder,
            runtime,
            session: SessionId::new(),
            store,
            disk: None,
            inlet,
            names: Names::default(),
        };
        stage.session = match stage.answer(call) {
            Ok(Answer::Created(view)) => view.id,
            other => panic!("the session was not created: {other:?}"),
        };
        stage
    }

    /// A session that is in the store already, opened by a runtime of its own.
    pub fn opening(provider: Arc<dyn Provider>, store: Store, session: SessionId) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (runtime, inlet) = runtime(provider, Config::default(), store.clone(), local(), REST_AFTER);
        let call = runtime.open(session.clone(), Some(folders(folder.path())), None, false);
        let mut stage = Self {
            folder,
            runtime,
            session,
            store,
            disk: None,
            inlet,
            names: Names::default(),
        };
        let opened = stage.answer(call);
        assert!(opened.is_ok(), "the session is not opened: {opened:?}");
        stage
    }

    /// Writes a file into the session's folder.
    pub fn file(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.folder.path().join(name), text).expect("a file can be written");
        self
    }

    /// Reads a file of the session's folder; empty if there is none.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Sends a prompt.
    pub fn prompt(&self, text: &str) -> TurnId {
        let content = if text.is_empty() {
            Vec::new()
        } else {
            vec![Content::text(text)]
        };
        self.runtime
            .prompt(&self.session, content)
            .expect("the session is open")
    }

    /// The next thing that comes out.
    #[expect(
        clippy::should_implement_trait,
        reason = "it waits and panics, which no iterator should"
    )]
    pub fn next(&mut self) -> Outward {
        let mut parcel = self
            .inlet
            .recv_timeout(LIMIT)
            .expect("something comes within the limit");
        parcel.take().expect("a parcel that arrives is full")
    }

    /// What comes until an event that is meant, as lines; `act` sees each event as it comes.
    pub fn until(
        &mut self,
        mut act: impl FnMut(&Runtime, &SessionId, &Event),
        is_last: impl Fn(&Envelope) -> bool,
    ) -> String {
        let mut lines = Lines::default();
        loop {
            match self.next() {
                Outward::Live(envelope) => {
                    lines.add(self.names.line(&envelope.event));
                    act(&self.runtime, &self.session, &envelope.event);
                    if is_last(&envelope) {
                        return lines.text;
                    }
                }
                Outward::Replay { envelope, .. } => lines.add(format!("old {}", self.names.line(&envelope.event))),
                Outward::OptionChanged { .. }
                | Outward::ContextChanged { .. }
                | Outward::Ask(_)
                | Outward::TakeBack(_)
                | Outward::Answer { .. } => {}
            }
        }
    }

    /// Prompts and follows the turn to its end.
    pub fn turn(&mut self, text: &str, act: impl FnMut(&Runtime, &SessionId, &Event)) -> String {
        let turn = self.prompt(text);
        self.until(act, |envelope| {
            envelope.turn == Some(turn) && envelope.event.ends_turn()
        })
    }

    /// Waits for a call's answer; what comes before it is passed over.
    pub fn answer(&mut self, call: CallId) -> Result<Answer, CallError> {
        loop {
            if let Outward::Answer { call: answered, result } = self.next()
                && answered == call
            {
                return result;
            }
        }
    }

    /// Loads the session again; its replay as lines.
    pub fn replay(&mut self) -> String {
        let call = self.runtime.open(self.session.clone(), None, None, true);
        let mut lines = Lines::default();
        loop {
            match self.next() {
                Outward::Replay { envelope, .. } => lines.add(self.names.line(&envelope.event)),
                Outward::Live(envelope) => lines.add(format!("live {}", self.names.line(&envelope.event))),
                Outward::Answer { call: answered, result } if answered == call => {
                    assert!(result.is_ok(), "{result:?}");
                    return lines.text;
                }
                Outward::OptionChanged { .. }
                | Outward::ContextChanged { .. }
                | Outward::Ask(_)
                | Outward::TakeBack(_)
                | Outward::Answer { .. } => {}
            }
        }
    }

    /// The same store on disk under a new runtime, as after a restart.
    pub fn restart(self, replies: Vec<ScriptReply>) -> Self {
        self.restart_with(Arc::new(Script::from_replies(replies)))
    }

    /// The same with this model.
    pub fn restart_with(mut self, provider: Arc<dyn Provider>) -> Self {
        self.runtime.shutdown();
        let disk = self.disk.as_ref().expect("only a store on disk outlives its runtime");
        self.store = Store::open(disk.path()).expect("the store can be opened again");
        (self.runtime, self.inlet) = runtime(provider, Config::default(), self.store.clone(), local(), REST_AFTER);
        self
    }
}

/// Workspaces on the local disk.
pub fn local() -> Arc<dyn Workspaces> {
    Arc::new(LocalWorkspaces::new(Vec::new(), None))
}

fn runtime(
    provider: Arc<dyn Provider>,
    config: Config,
    store: Store,
    workspaces: Arc<dyn Workspaces>,
    rest_after: Duration,
) -> (Runtime, Receiver<Parcel>) {
    Runtime::start(Parts {
        store,
        setup: Arc::new(OneModel { provider, config }),
        workspaces,
        source: "acp",
        preferences: Preferences::default(),
        forbidden: Vec::new(),
        rest_after,
    })
}

fn folders(path: &Path) -> Folders {
    Folders {
        cwd: path.to_owned(),
        extra_roots: Vec::<PathBuf>::new(),
        servers: Vec::new(),
    }
}
