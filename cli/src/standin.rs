//! Stands in for the pieces that are built beside this one, with their signatures and none of their work: each says
//! so when it is used. `wiring` is its only reader; replacing its imports there makes this file superfluous.

#![expect(dead_code, reason = "the pieces read what is only handed over here")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::event::{Envelope, ErrorClass, Failure};
use agent_core::id::SessionId;
use agent_core::outward::{Parcel, SessionPage};
use agent_core::provider::{Delta, ModelInfo, ModelRef, Origin, Provider, ProviderError, Reply, Request};
use agent_core::runtime::Runtime;
use agent_core::store::SessionRecord;
use agent_core::workspace::{Scope, Workspace, Workspaces};
use crossbeam_channel::Receiver;
use secrecy::SecretString;
use tokio::runtime::Handle;

/// A piece that isn't there yet.
#[derive(Debug, thiserror::Error)]
#[error("this build has no {0} yet")]
pub(crate) struct Missing(&'static str);

pub(crate) type StoreError = Missing;

#[derive(Clone)]
pub(crate) struct Store {
    warning: Option<String>,
}

impl Store {
    pub(crate) fn open(_dir: &Path) -> Result<Self, StoreError> {
        Err(Missing("store"))
    }

    pub(crate) fn memory_because(reason: String) -> Self {
        Self { warning: Some(reason) }
    }

    pub(crate) fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    pub(crate) fn session(&self, _id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        Err(Missing("store"))
    }

    pub(crate) fn find(&self, _prefix: &str) -> Result<Vec<SessionId>, StoreError> {
        Err(Missing("store"))
    }

    pub(crate) fn list(
        &self,
        _cwd: Option<&Path>,
        _cursor: Option<&str>,
        _limit: usize,
    ) -> Result<SessionPage, StoreError> {
        Err(Missing("store"))
    }

    pub(crate) fn events(&self, _id: &SessionId, _after: u64, _limit: usize) -> Result<Vec<Envelope>, StoreError> {
        Err(Missing("store"))
    }

    pub(crate) fn close(&self) {}

    pub(crate) fn into_core(self) -> Result<agent_core::store::Store, Missing> {
        Err(Missing("runtime"))
    }
}

pub(crate) struct LocalWorkspaces;

impl LocalWorkspaces {
    pub(crate) fn new(_forbidden: Vec<PathBuf>, _user_rules: Option<PathBuf>) -> Self {
        Self
    }
}

impl Workspaces for LocalWorkspaces {
    fn open(&self, _scope: Scope, _config: &Config) -> Arc<dyn Workspace> {
        panic!("{}", Missing("tools"))
    }
}

pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) base_url: String,
    pub(crate) key: Option<SecretString>,
    pub(crate) headers: BTreeMap<String, String>,
}

pub(crate) struct OpenAiChat(ModelInfo);

impl OpenAiChat {
    pub(crate) fn new(_service: Service, info: ModelInfo, _handle: Handle) -> Result<Self, Missing> {
        Ok(Self(info))
    }
}

impl Provider for OpenAiChat {
    fn model(&self) -> &ModelInfo {
        &self.0
    }

    fn complete(
        &self,
        _request: &Request<'_>,
        _cancel: &Cancel,
        _sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        Err(missing("model services"))
    }
}

pub(crate) fn list_models(_service: &Service, _handle: &Handle) -> Result<Vec<String>, ProviderError> {
    Err(missing("model services"))
}

fn missing(piece: &'static str) -> ProviderError {
    ProviderError::Failed(Box::new(Failure {
        class: ErrorClass::Internal,
        message: Missing(piece).to_string(),
        provider: None,
        status: None,
        retry_after_ms: None,
    }))
}

pub(crate) struct Offline(ModelInfo);

impl Offline {
    pub(crate) fn new() -> Self {
        Self(plain_info(ModelRef::offline()))
    }
}

impl Provider for Offline {
    fn model(&self) -> &ModelInfo {
        &self.0
    }

    fn complete(
        &self,
        _request: &Request<'_>,
        _cancel: &Cancel,
        _sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        Err(missing("built-in model"))
    }
}

pub(crate) struct Script(ModelInfo);

impl Script {
    pub(crate) fn open(path: &Path, model: ModelRef) -> Result<Self, std::io::Error> {
        std::fs::metadata(path)?;
        Ok(Self(plain_info(model)))
    }
}

impl Provider for Script {
    fn model(&self) -> &ModelInfo {
        &self.0
    }

    fn complete(
        &self,
        _request: &Request<'_>,
        _cancel: &Cancel,
        _sink: &mut dyn FnMut(Delta) -> ControlFlow<()>,
    ) -> Result<Reply, ProviderError> {
        Err(missing("scripts"))
    }
}

fn plain_info(name: ModelRef) -> ModelInfo {
    ModelInfo {
        origin: Origin {
            api: name.provider.clone(),
            base_url: String::new(),
            model: name.model.clone(),
        },
        name,
        context_window: None,
        max_output: None,
        images: false,
        tools: true,
    }
}

pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) provider: String,
    pub(crate) setup_args: Vec<String>,
}

pub(crate) fn serve(
    _runtime: Runtime,
    _inlet: Receiver<Parcel>,
    _settings: Settings,
    _input: impl Read + Send + 'static,
    _output: impl Write + Send + 'static,
    _stop: Cancel,
) -> Result<(), Missing> {
    Err(Missing("protocol"))
}
