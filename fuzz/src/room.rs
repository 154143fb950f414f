//! A throw-away folder with the tools of a session in it, and what lies there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::asker::Desk;
use agent_core::cancel::Cancel;
use agent_core::config::Config;
use agent_core::event::ToolOutput;
use agent_core::id::SessionId;
use agent_core::outward::outlet;
use agent_core::tool::{Planned, Run, Tool, ToolError};
use agent_core::workspace::{Scope, Workspace, Workspaces};
use tempfile::TempDir;
use toolsets::LocalWorkspaces;

/// A session's folder, `work`, beside others that are none of its own.
pub struct Room {
    /// All that the room has.
    pub base: PathBuf,
    /// The session's folder.
    pub work: PathBuf,
    workspace: Arc<dyn Workspace>,
    _folder: TempDir,
}

/// All files, folders and links below a folder, by their names in it.
pub type Contents = BTreeMap<PathBuf, Thing>;

/// What has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    File(Vec<u8>),
    Folder,
    Link(PathBuf),
}

impl Room {
    /// An empty folder, and an empty one beside it that no tool may touch.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let base = folder.path().canonicalize().expect("it is there");
        let (work, own) = (base.join("work"), base.join("own"));
        fs::create_dir(&work).expect("a folder can be made");
        fs::create_dir(&own).expect("a folder can be made");
        let scope = Scope {
            session: SessionId::from("fuzz"),
            cwd: work.clone(),
            extra_roots: Vec::new(),
            servers: Vec::new(),
        };
        let asker = Desk::new(outlet().0).asker(SessionId::from("fuzz"));
        let workspace = LocalWorkspaces::new(vec![own], None).open(scope, &Config::default(), asker);
        Self {
            base,
            work,
            workspace,
            _folder: folder,
        }
    }

    /// A tool by its name.
    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let mut tools = self.workspace.tools().into_iter();
        tools
            .find(|tool| tool.spec().name == name)
            .expect("it is one of the tools")
    }

    /// All that the room has now, seen without following a link.
    pub fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        collect(&self.base, &self.base, &mut contents);
        contents
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

fn collect(base: &Path, folder: &Path, contents: &mut Contents) {
    for entry in fs::read_dir(folder).expect("a folder can be listed").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(base).expect("it is below").to_owned();
        let kind = entry.file_type().expect("an entry has a type");
        if kind.is_symlink() {
            contents.insert(name, Thing::Link(fs::read_link(&path).expect("a link leads somewhere")));
        } else if kind.is_dir() {
            contents.insert(name, Thing::Folder);
            collect(base, &path, contents);
        } else {
            contents.insert(name, Thing::File(fs::read(&path).expect("a file can be read")));
        }
    }
}

/// Carries out what was planned.
pub fn run(planned: Planned) -> Result<ToolOutput, ToolError> {
    (planned.action)(&Run {
        cancel: &Cancel::new(),
        report: &|_| {},
        keep: &|_| Ok(()),
    })
}
