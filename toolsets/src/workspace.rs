//! A session's place on this machine, as the core asks for it.

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::config::Config;
use agent_core::content::Content;
use agent_core::tool::Tool;
use agent_core::workspace::{RuleBook, Scope, Surroundings, Workspace, Workspaces};

use crate::files::Files;
use crate::mention;
use crate::patch::Patch;
use crate::place::Places;
use crate::process::{Environment, Hidden, Processes};
use crate::process_tool::Process;
use crate::read_file::ReadFile;
use crate::rules;
use crate::search::SearchFiles;
use crate::surroundings;
use crate::terminal::Terminal;
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
        tools.extend(command_tools(&scope, config, &self.forbidden));
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

fn command_tools(scope: &Scope, config: &Config, forbidden: &[PathBuf]) -> Vec<Arc<dyn Tool>> {
    let keys = config
        .providers
        .values()
        .filter_map(|provider| provider.api_key_env.clone());
    let environment = Environment::new(scope.session.clone(), Hidden(keys.collect()));
    let processes = Arc::new(Processes::new(environment));
    vec![
        Arc::new(Terminal::new(scope, config, forbidden, Arc::clone(&processes))),
        Arc::new(Process::new(processes)),
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
        surroundings::look(&self.files.places)
    }

    fn rules(&self) -> RuleBook {
        RuleBook {
            user: self.user_rules.as_deref().and_then(rules::of_user),
            project: rules::of_project(&self.files.places),
        }
    }

    fn mention(&self, uri: &str) -> Vec<Content> {
        vec![mention::read(&self.files, uri)]
    }
}
