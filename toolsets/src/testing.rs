//! A folder for one test, with a session's files in it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::asker::{Asker, Desk};
use agent_core::cancel::Cancel;
use agent_core::event::ToolOutput;
use agent_core::id::SessionId;
use agent_core::outward::outlet;
use agent_core::plan::Plan;
use agent_core::tool::{Run, Tool, ToolError};
use agent_core::workspace::Scope;
use serde_json::Value;
use tempfile::TempDir;

use crate::files::Files;
use crate::place::Places;

/// A session's folder, and one that is forbidden.
pub(crate) struct Room {
    folder: PathBuf,
    forbidden: PathBuf,
    pub(crate) files: Arc<Files>,
    _dirs: TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        let dirs = tempfile::tempdir().unwrap();
        let base = dirs.path().canonicalize().unwrap();
        let (folder, forbidden) = (base.join("work"), base.join("own"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&forbidden).unwrap();
        let places = Places::new(&scope(&folder), std::slice::from_ref(&forbidden));
        Self {
            files: Arc::new(Files::new(places, None, Arc::default())),
            folder,
            forbidden,
            _dirs: dirs,
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        scope(&self.folder)
    }

    /// A path in the session's folder; the folder itself for `""`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.folder.clone()
        } else {
            self.folder.join(name)
        }
    }

    pub(crate) fn forbidden(&self) -> &Path {
        &self.forbidden
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn write_forbidden(&self, name: &str, content: &str) {
        fs::write(self.forbidden.join(name), content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }
}

fn scope(folder: &Path) -> Scope {
    Scope {
        session: SessionId::from("test"),
        cwd: folder.to_owned(),
        extra_roots: Vec::new(),
        servers: Vec::new(),
    }
}

/// Plans and runs a call.
pub(crate) fn call(tool: &dyn Tool, input: Value) -> Result<ToolOutput, ToolError> {
    let planned = tool.plan(&input, &Cancel::new())?;
    (planned.action)(&Run {
        cancel: &Cancel::new(),
        report: &|_| {},
        keep: &|_| Ok(()),
    })
}

/// The plan of a call.
pub(crate) fn plan(tool: &dyn Tool, input: Value) -> Result<Plan, ToolError> {
    tool.plan(&input, &Cancel::new()).map(|planned| planned.plan)
}

/// Asks a surface that can do nothing.
pub(crate) fn nobody() -> Asker {
    Desk::new(outlet().0).asker(SessionId::from("test"))
}

/// Makes a named pipe.
pub(crate) fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}
