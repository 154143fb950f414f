//! What the agent works with: a scripted model whose key may be missing, and no tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::provider::{ModelRef, Provider};
use agent_core::script::Script;
use agent_core::setup::{Setup, SetupError};
use agent_core::tool::Tool;
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};

/// A scripted model whose key may be missing.
pub(crate) struct Scripted {
    pub(crate) script: String,
    pub(crate) has_key: Arc<AtomicBool>,
}

impl Setup for Scripted {
    fn config(&self) -> Result<Config, SetupError> {
        let model = "script/test".parse().unwrap();
        Ok(Config {
            model,
            ..Config::default()
        })
    }

    fn provider(&self, _: &Config, model: &ModelRef) -> Result<Arc<dyn Provider>, SetupError> {
        if !self.has_key.load(Ordering::SeqCst) {
            return Err(SetupError::NoCredentials {
                provider: "script".into(),
                message: "the key is missing: run `agent setup`".into(),
            });
        }
        Ok(Arc::new(Script::parse(&self.script, model.clone()).unwrap()))
    }

    fn models(&self, config: &Config) -> Vec<ModelRef> {
        vec![config.model.clone()]
    }
}

pub(crate) struct NoTools;

impl Workspaces for NoTools {
    fn open(&self, _: Scope, _: &Config, _: Asker) -> Arc<dyn Workspace> {
        Arc::new(Self)
    }
}

impl Workspace for NoTools {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    fn rules(&self) -> RuleBook {
        RuleBook::default()
    }

    fn mention(&self, uri: &str, _: &Cancel) -> Vec<Content> {
        vec![Content::text(uri)]
    }
}
