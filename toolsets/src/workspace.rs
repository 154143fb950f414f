//! A session's place on this machine, as the core asks for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_core::asker::Asker;
use agent_core::cancel::Cancel;
use agent_core::config::{Config, FilesBackend};
use agent_core::content::Content;
use agent_core::event::{Event, PlanEntry};
use agent_core::id::SessionId;
use agent_core::plan::Place;
use agent_core::server::{Server, ServerView, Transport};
use agent_core::store::Store;
use agent_core::tool::Tool;
use agent_core::workspace::{
    FileNow, NotPutBack, PutBack, RuleBook, SavedOtherwise, Scope, Surroundings, Workspace, Workspaces,
};

use crate::ask_user::AskUser;
use crate::command::Judge;
use crate::editor::Editor;
use crate::files::Files;
use crate::mcp::{Edge, Servers};
use crate::mention;
use crate::patch::Patch;
use crate::place::Places;
use crate::process::{Environment, Hidden, Processes, State};
use crate::process_tool::Process;
use crate::put_back;
use crate::read_file::ReadFile;
use crate::rules;
use crate::runs::Runs;
use crate::sandbox::{self, Sandbox};
use crate::search::SearchFiles;
use crate::session_search::SessionSearch;
use crate::surroundings;
use crate::terminal::Terminal;
use crate::todo::Todo;
use crate::web_fetch::WebFetch;
use crate::write_file::WriteFile;

/// The names of all tools that a session can have.
pub const TOOLS: [&str; 10] = [
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "terminal",
    "process",
    "todo",
    "session_search",
    "web_fetch",
    "ask_user",
];

/// Opens places on this machine.
pub struct LocalWorkspaces {
    forbidden: Vec<PathBuf>,
    user_rules: Option<PathBuf>,
    edge: Edge,
    store: Store,
}

impl LocalWorkspaces {
    /// Workspaces whose tools never touch the `forbidden` folders, and whose user keeps rules for all work in a file.
    pub fn new(forbidden: Vec<PathBuf>, user_rules: Option<PathBuf>) -> Self {
        Self {
            forbidden,
            user_rules,
            edge: Arc::new(|| Err("MCP servers are not served here".to_owned())),
            store: Store::later(Store::memory),
        }
    }

    /// The same, whose MCP servers are spoken with by what `edge` starts at the first of them.
    #[must_use]
    pub fn with_edge(self, edge: Edge) -> Self {
        Self { edge, ..self }
    }

    /// The same, whose tools look into the sessions of this store.
    #[must_use]
    pub fn with_history(self, store: Store) -> Self {
        Self { store, ..self }
    }
}

impl Workspaces for LocalWorkspaces {
    fn open(&self, scope: Scope, config: &Config, asker: Asker) -> Arc<dyn Workspace> {
        let runs = Arc::new(Runs::default());
        let places = Places::new(&scope, &self.forbidden);
        let editor = editor(&scope, config, &asker, &runs);
        let files = Arc::new(Files::new(places, editor, Arc::clone(&runs)));
        let mut tools = file_tools(&files);
        let processes = processes(&scope, config, runs, &self.forbidden);
        tools.extend(command_tools(&scope, config, &self.forbidden, &processes, &asker));
        let todo = Arc::new(Todo::new());
        tools.push(todo.clone());
        tools.push(Arc::new(SessionSearch::new(self.store.clone(), scope.session.clone())));
        tools.push(Arc::new(WebFetch::new(config)));
        tools.push(Arc::new(AskUser::new(asker, config)));
        Arc::new(LocalWorkspace {
            files,
            tools,
            todo,
            servers: Servers::open(&scope, config, &processes, &self.edge),
            processes,
            starts_servers: starts_servers(&scope, config),
            disabled: config.agent.disabled_tools.clone(),
            user_rules: self.user_rules.clone(),
            has_told: AtomicBool::new(false),
        })
    }
}

/// How the MCP servers of the configuration do: all are started in a folder, not seeing our `own`, looked at once they answer or a turn would not
/// wait for them any longer, and ended.
pub fn look_at_servers(cwd: &Path, config: &Config, own: &[PathBuf], edge: &Edge) -> Vec<ServerView> {
    let scope = Scope {
        session: SessionId::new(),
        cwd: cwd.to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    };
    let processes = processes(&scope, config, Arc::new(Runs::default()), own);
    let servers = Servers::open(&scope, config, &processes, edge);
    // What it tells, the views say too.
    servers.get_ready(&Cancel::new(), &mut |_| {});
    servers.views()
}

/// What there is of a sandbox for sessions in this folder, for people, and whether it is there at all.
pub fn look_at_sandbox(cwd: &Path, config: &Config) -> (bool, String) {
    sandbox::survey(config, cwd)
}

/// Whether one of a session's servers is a program that is started.
fn starts_servers(scope: &Scope, config: &Config) -> bool {
    let is_program = |server: &Server| matches!(server.transport, Transport::Stdio { .. });
    scope.servers.iter().any(is_program) || config.mcp_servers.values().any(|server| server.command.is_some())
}

/// The editor, if it is to serve files.
fn editor(scope: &Scope, config: &Config, asker: &Asker, runs: &Arc<Runs>) -> Option<Editor> {
    let roots: Vec<PathBuf> = scope.roots().cloned().collect();
    match config.files.backend {
        FilesBackend::Auto => Some(Editor::new(asker.clone(), &roots, Arc::clone(runs))),
        FilesBackend::Local => None,
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

fn processes(scope: &Scope, config: &Config, runs: Arc<Runs>, own: &[PathBuf]) -> Arc<Processes> {
    let keys = config
        .providers
        .values()
        .filter_map(|provider| provider.api_key_env.clone());
    let environment = Environment::new(scope.session.clone(), Hidden(keys.collect()));
    Arc::new(Processes::new(environment, runs, Sandbox::new(scope, config, own)))
}

fn command_tools(
    scope: &Scope,
    config: &Config,
    forbidden: &[PathBuf],
    processes: &Arc<Processes>,
    asker: &Asker,
) -> Vec<Arc<dyn Tool>> {
    let judge = Arc::new(Judge::new(scope, config, forbidden));
    vec![
        Arc::new(Terminal::new(
            scope,
            config,
            Arc::clone(&judge),
            Arc::clone(processes),
            asker,
        )),
        Arc::new(Process::new(Arc::clone(processes), judge)),
    ]
}

/// One session's place on this machine. It and its tools own what runs for them; the last handle to drop ends that.
struct LocalWorkspace {
    files: Arc<Files>,
    tools: Vec<Arc<dyn Tool>>,
    /// One of them.
    todo: Arc<Todo>,
    /// Before the processes, which would end them without asking.
    servers: Servers,
    processes: Arc<Processes>,
    /// It has servers that are programs, which are looked for where commands are.
    starts_servers: bool,
    disabled: Vec<String>,
    user_rules: Option<PathBuf>,
    /// The user was told what is not held in.
    has_told: AtomicBool,
}

impl Workspace for LocalWorkspace {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.tools.iter().cloned().chain(self.servers.tools());
        tools
            .filter(|tool| !self.disabled.contains(&tool.spec().name))
            .collect()
    }

    fn recall_plan(&self, entries: &[PlanEntry]) {
        self.todo.recall(entries);
    }

    fn get_ready(&self, cancel: &Cancel, tell: &mut dyn FnMut(Event)) {
        if self.starts_servers {
            self.processes
                .wait_for_programs(cancel, "MCP servers are started with it.", tell);
        }
        let sandbox = self.processes.sandbox();
        sandbox.get_ready();
        if !self.has_told.swap(true, Ordering::Relaxed) {
            sandbox.notice().into_iter().for_each(&mut *tell);
        }
        self.servers.get_ready(cancel, tell);
    }

    fn sandbox(&self) -> String {
        self.processes.sandbox().sentence()
    }

    fn servers(&self) -> Vec<ServerView> {
        self.servers.views()
    }

    fn background(&self) -> Vec<String> {
        let commands = self.processes.background().into_iter();
        let running = commands.filter(|background| background.state() == State::Running);
        running.map(|background| background.command.clone()).collect()
    }

    fn surroundings(&self) -> Surroundings {
        self.processes.look_for_programs();
        surroundings::look(&self.files.places)
    }

    fn rules(&self) -> RuleBook {
        RuleBook {
            user: self.user_rules.as_deref().and_then(rules::of_user),
            project: rules::of_project(&self.files.places),
        }
    }

    fn mention(&self, uri: &str, cancel: &Cancel) -> Vec<Content> {
        vec![mention::read(&self.files, uri, cancel)]
    }

    fn look(&self, place: &Place, cancel: &Cancel) -> Result<FileNow, String> {
        put_back::look(&self.files, place, cancel)
    }

    fn put_back(&self, files: Vec<PutBack>, cancel: &Cancel) -> Result<Vec<SavedOtherwise>, NotPutBack> {
        put_back::put_back(&self.files, files, cancel)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use agent_core::tool::ToolError;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Room, call};

    fn open(room: &Room, disabled: &[&str]) -> Arc<dyn Workspace> {
        let mut config = Config::default();
        config.agent.disabled_tools = disabled.iter().map(|name| (*name).to_owned()).collect();
        LocalWorkspaces::new(vec![room.forbidden().to_owned()], None).open(
            room.scope(),
            &config,
            crate::testing::nobody(),
        )
    }

    fn run(workspace: &dyn Workspace, name: &str, input: Value) -> Result<String, ToolError> {
        let tools = workspace.tools();
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        call(tool.as_ref(), input).map(|output| output.text)
    }

    #[test]
    fn disabled_tools_are_left_out() {
        let room = Room::new();
        let names = |disabled: &[&str]| -> Vec<String> {
            open(&room, disabled)
                .tools()
                .iter()
                .map(|tool| tool.spec().name.clone())
                .collect()
        };
        assert_eq!(names(&[]), TOOLS);
        for name in TOOLS {
            assert!(!names(&[name]).iter().any(|tool| tool == name));
        }
    }

    #[test]
    fn the_tools_of_a_session_know_what_the_others_read_and_wrote() {
        let room = Room::new();
        room.write("f", "one\ntwo\n");
        let (workspace, other) = (open(&room, &[]), open(&room, &[]));
        run(&*workspace, "read_file", json!({"path": "f"})).unwrap();
        run(
            &*workspace,
            "patch",
            json!({"path": "f", "old_string": "one", "new_string": "three"}),
        )
        .unwrap();
        assert!(
            run(&*other, "write_file", json!({"path": "f", "content": "x"}))
                .unwrap_err()
                .message
                .contains("read it first")
        );
        run(&*workspace, "write_file", json!({"path": "f", "content": "x"})).unwrap();
        assert_eq!(room.text("f"), "x");
    }

    #[test]
    fn a_patch_of_a_file_that_was_not_read_does_not_make_it_known() {
        let room = Room::new();
        room.write("f", "one\ntwo\n");
        let workspace = open(&room, &[]);
        run(
            &*workspace,
            "patch",
            json!({"path": "f", "old_string": "one", "new_string": "three"}),
        )
        .unwrap();
        assert!(run(&*workspace, "write_file", json!({"path": "f", "content": "x"})).is_err());
    }

    #[test]
    fn what_tools_say_to_a_model_is_lean() {
        let room = Room::new();
        let workspace = open(&room, &[]);
        let tools = workspace.tools();
        let specs = tools.iter().map(|tool| tool.spec());
        let size: usize = specs
            .map(|spec| spec.name.len() + spec.description.len() + spec.schema.to_string().len())
            .sum();
        assert!(size < 5_000, "{size} bytes");
    }

    #[test]
    fn no_input_is_a_fault() {
        let room = Room::new();
        let workspace = open(&room, &[]);
        let odd = [
            json!(null),
            json!([]),
            json!("x"),
            json!({"path": 1, "pattern": [], "items": {}, "patch": {}}),
            json!({"path": "\0"}),
        ];
        for (tool, input) in workspace
            .tools()
            .iter()
            .flat_map(|tool| odd.iter().map(move |input| (tool, input)))
        {
            let title = tool.title(input);
            assert!(
                !title.is_empty() && title.chars().count() < 200 && !title.contains(char::is_control),
                "{title}"
            );
            tool.only_reads(input);
            assert!(
                tool.plan(input, &Cancel::new()).is_err() || tool.spec().name == "todo",
                "{} {input}",
                tool.spec().name
            );
        }
    }
}
