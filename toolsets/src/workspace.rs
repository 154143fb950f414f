//! A session's place on this machine, as the core asks for it.

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::tool::Tool;
use agent_core::workspace::{Scope, Surroundings, Workspace, Workspaces};

use crate::files::Files;
use crate::mention;
use crate::patch::Patch;
use crate::place::Places;
use crate::read_file::ReadFile;
use crate::search::SearchFiles;
use crate::surroundings;
use crate::todo::Todo;
use crate::write_file::WriteFile;

/// Opens places on this machine.
pub struct LocalWorkspaces {
    forbidden: Vec<PathBuf>,
    user_rules: Option<PathBuf>,
}

impl LocalWorkspaces {
    /// Workspaces whose tools never touch the `forbidden` folders, and whose user keeps rules for all work in a file.
    pub fn new(forbidden: Vec<PathBuf>, user_rules: Option<PathBuf>) -> Self {
        Self { forbidden, user_rules }
    }
}

impl Workspaces for LocalWorkspaces {
    fn open(&self, scope: Scope, config: &Config) -> Arc<dyn Workspace> {
        let files = Arc::new(Files::new(Places::new(&scope, &self.forbidden)));
        let mut tools = file_tools(&files);
        // Commands and their processes come here, behind the files.
        tools.push(Arc::new(Todo::new()));
        tools.retain(|tool| !config.agent.disabled_tools.contains(&tool.spec().name));
        Arc::new(LocalWorkspace {
            files,
            tools,
            user_rules: self.user_rules.clone(),
        })
    }
}

fn file_tools(files: &Arc<Files>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::new(Arc::clone(files))),
        Arc::new(WriteFile::new(Arc::clone(files))),
        Arc::new(Patch::new(Arc::clone(files))),
        Arc::new(SearchFiles::new(Arc::clone(files))),
    ]
}

/// One session's place on this machine. Its tools own what runs for them; the last handle to drop ends that.
struct LocalWorkspace {
    files: Arc<Files>,
    tools: Vec<Arc<dyn Tool>>,
    user_rules: Option<PathBuf>,
}

impl Workspace for LocalWorkspace {
    fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    fn surroundings(&self) -> Surroundings {
        surroundings::look(&self.files.places, self.user_rules.as_deref())
    }

    fn mention(&self, uri: &str) -> Vec<Content> {
        vec![mention::read(&self.files, uri)]
    }
}
