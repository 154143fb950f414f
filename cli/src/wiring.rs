//! Where the crates meet: opens the store, makes models and workspaces, starts the runtime. No decision is made here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acp_adapter::agent::{self, Lines, Settings};
use agent_core::cancel::Cancel;
use agent_core::offline::Offline;
use agent_core::outward::Parcel;
use agent_core::provider::{ModelInfo, ModelRef, Provider};
use agent_core::runtime::{Parts, Preferences, REST_AFTER, Runtime};
use agent_core::script::Script;
pub(crate) use agent_core::search::{Found, Hit, Query, Search};
pub(crate) use agent_core::store::{ChangeError, ListError, Repair, Salvaged, Store, Tidied};
use crossbeam_channel::Receiver;
use parking_lot::Mutex;
use providers::RemoteModel;
pub(crate) use providers::{
    Dialect, LIST_PATIENCE, ListedModel, Service, header_fault, holds_secret, host, list_models,
};
pub(crate) use tokio::runtime::Handle;
use toolsets::{Edge, LocalWorkspaces};
pub(crate) use toolsets::{TOOLS, bash, deny_rule_fault, look_at_sandbox, look_at_servers, os, program};

use crate::paths::{NoHome, Paths};
use crate::setup_port::UserSetup;

/// Shorter than what clients wait for an agent that says nothing, and too long to be traffic.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// A runtime at work, and what was needed to start it.
pub(crate) struct Wired {
    /// The runtime.
    pub(crate) runtime: Runtime,
    /// What leaves it.
    pub(crate) inlet: Receiver<Parcel>,
    /// The store it writes to.
    pub(crate) store: Store,
}

/// Starts a runtime. Its store is opened when it is first used, so that a client is greeted before that; `tell` says
/// then what the user should know about where things are saved.
pub(crate) fn start(
    paths: Result<&Paths, NoHome>,
    setup: Arc<UserSetup>,
    source: &'static str,
    preferences: Preferences,
    tell: fn(&str),
) -> Wired {
    let of_store = paths.cloned();
    let store = Store::later(move || {
        let store = open_store(of_store.as_ref().map_err(|no_home| *no_home));
        store.warning().as_deref().into_iter().for_each(tell);
        store
    });
    let edge = Arc::clone(&setup);
    let forbidden = paths.map(Paths::forbidden).unwrap_or_default();
    let rules = paths.ok().map(Paths::rules_file);
    let parts = Parts {
        store: store.clone(),
        setup,
        workspaces: Arc::new(
            LocalWorkspaces::new(forbidden.clone(), rules)
                .with_edge(Arc::new(move || edge.http().handle()))
                .with_history(store.clone()),
        ),
        source,
        preferences,
        forbidden,
        rest_after: REST_AFTER,
    };
    let (runtime, inlet) = Runtime::start(parts);
    Wired { runtime, inlet, store }
}

/// A way to MCP servers by an async runtime that is there already, or the reason why there is none.
pub(crate) fn edge(handle: Result<Handle, String>) -> Edge {
    Arc::new(move || handle.clone())
}

/// Opens the store; where that can't be, one in memory that tells the reason.
fn open_store(paths: Result<&Paths, NoHome>) -> Store {
    let paths = match paths {
        Ok(paths) => paths,
        Err(error) => return Store::memory_because(&error.to_string()),
    };
    match Store::open(&paths.state) {
        Ok(store) => store,
        Err(error) if error.is_full() => Store::when_there_is_room(&paths.state, &error),
        Err(error) => {
            let reason = format!("{:#}", anyhow::Error::new(error));
            match paths.has_database() {
                true => Store::memory_in_place(reason),
                false => Store::memory_because(&reason),
            }
        }
    }
}

/// Opens the store on disk to look at what is in it.
pub(crate) fn stored_to_read(paths: &Paths) -> anyhow::Result<Store> {
    Ok(Store::open_to_read(&paths.state)?)
}

/// Opens the store on disk.
pub(crate) fn stored(paths: &Paths) -> anyhow::Result<Store> {
    Ok(Store::open(&paths.state)?)
}

/// Repairs the store on disk, in which this process has none open.
pub(crate) fn repaired(paths: &Paths, label: &str) -> anyhow::Result<Repair> {
    Ok(agent_core::store::repair(&paths.state, label)?)
}

/// The built-in model, which says what is `configured` if that is another one.
pub(crate) fn offline(configured: &ModelRef) -> Arc<dyn Provider> {
    Arc::new(match *configured == ModelRef::offline() {
        true => Offline::new(),
        false => Offline::beside(configured),
    })
}

/// A model that plays a file of replies; an error is a sentence.
pub(crate) fn script(path: &Path, model: ModelRef) -> Result<Arc<dyn Provider>, String> {
    match Script::open(path, model) {
        Ok(script) => Ok(Arc::new(script)),
        Err(error) => Err(format!("{:#}", anyhow::Error::new(error))),
    }
}

/// A model behind a service; an error is a sentence.
pub(crate) fn remote(service: Service, info: ModelInfo, handle: Handle) -> Result<Arc<dyn Provider>, String> {
    let name = info.name.clone();
    match RemoteModel::new(service, info, handle) {
        Ok(model) => Ok(Arc::new(model)),
        Err(error) => Err(format!(
            "can't set up the model {name}: {:#}",
            anyhow::Error::new(error)
        )),
    }
}

/// Serves an editor that says these `lines`, on stdout, until it is gone or `stop` is set.
pub(crate) fn serve(
    wired: &Wired,
    lines: Lines,
    setup: Arc<UserSetup>,
    provider: Option<String>,
    stop: &Cancel,
) -> anyhow::Result<()> {
    let settings = Settings {
        name: "talaria".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider,
        setup_args: vec!["--setup".to_owned()],
        command: own_command(),
        longest_silence: LONGEST_SILENCE,
        setup,
    };
    let (runtime, inlet) = (wired.runtime.clone(), wired.inlet.clone());
    agent::serve(runtime, inlet, settings, lines, std::io::stdout(), stop)?;
    Ok(())
}

/// The command line of this process, with its program's whole path.
fn own_command() -> Vec<String> {
    let mut command: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    if let (Ok(program), Some(first)) = (std::env::current_exe(), command.first_mut()) {
        *first = program.to_string_lossy().into_owned();
    }
    command
}

/// The one async runtime behind all model services and MCP servers; begins with the first of them, so that an agent that
/// needs none starts without it.
pub(crate) struct Http(Mutex<Option<tokio::runtime::Runtime>>);

impl Http {
    /// Starts nothing yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The runtime's handle; an error is a sentence.
    pub(crate) fn handle(&self) -> Result<Handle, String> {
        let mut slot = self.0.lock();
        if let Some(runtime) = &*slot {
            return Ok(runtime.handle().clone());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(|error| {
                format!("can't start the threads that speak to model services and MCP servers: {error}")
            })?;
        let handle = runtime.handle().clone();
        *slot = Some(runtime);
        Ok(handle)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // A name lookup that hangs must not hold up the end of the process.
        if let Some(runtime) = self.0.get_mut().take() {
            runtime.shutdown_background();
        }
    }
}
