//! The port to a session's place in the world: its tools, its surroundings, and the files a prompt mentions.

use std::path::PathBuf;
use std::sync::Arc;

use crate::asker::Asker;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::content::Content;
use crate::event::{Event, Hash, PlanEntry};
use crate::id::SessionId;
use crate::plan::Place;
use crate::server::{Server, ServerView};
use crate::tool::Tool;

/// Opens workspaces.
pub trait Workspaces: Send + Sync {
    /// The workspace of a session. Dropping the last handle ends what still runs in it.
    /// Its tools ask the surface through `asker`, and never while it opens: the surface does not know the session yet.
    fn open(&self, scope: Scope, config: &Config, asker: Asker) -> Arc<dyn Workspace>;
}

/// One session's place in the world.
pub trait Workspace: Send + Sync {
    /// Its tools as they are now, in a stable order. They may be others after [`Self::get_ready`], and only then.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Brings the tools up to date before a turn: waits for servers that are still being started, starts those again
    /// that have gone, and takes over lists that have changed. Bounded in time, ends with `cancel`, and never fails:
    /// what the user should know of it is told.
    fn get_ready(&self, _cancel: &Cancel, _tell: &mut dyn FnMut(Event)) {}

    /// What the model's to-do list holds by the history, which the tools know only as far as they have made it.
    fn recall_plan(&self, _entries: &[PlanEntry]) {}

    /// Its MCP servers, in the order of their definition.
    fn servers(&self) -> Vec<ServerView> {
        Vec::new()
    }

    /// What holds in its commands and servers, as a sentence; empty where nobody knows.
    fn sandbox(&self) -> String {
        String::new()
    }

    /// The texts of the commands in the background that run now.
    fn background(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the system prompt tells of it. Asks git; bounded in time.
    fn surroundings(&self) -> Surroundings;

    /// The rules that hold in it now. Cheap enough for each turn; bounded in size.
    fn rules(&self) -> RuleBook;

    /// What a mention in the user's prompt puts in beside the mention itself: a file's text (with its `#L` range), a
    /// folder's listing, a picture, or a sentence that says why it was not put in. Never empty.
    fn mention(&self, uri: &str, cancel: &Cancel) -> Vec<Content>;

    /// What a file holds now, on disk and in the editor.
    ///
    /// # Errors
    /// Why that can't be known, for people and behind the file's name: that it is a folder by now, or leads elsewhere.
    fn look(&self, _place: &Place, _cancel: &Cancel) -> Result<FileNow, String> {
        Err("is none of this session's files".to_owned())
    }

    /// Puts files back, all or none, each only if it still holds what it did when it was looked at. After a cancel those
    /// that were put back may stay so, where it would take long to take that back.
    ///
    /// # Errors
    /// Which file could not be put back, why, and what that leaves.
    fn put_back(&self, _files: Vec<PutBack>, _cancel: &Cancel) -> Result<Vec<SavedOtherwise>, NotPutBack> {
        Ok(Vec::new())
    }
}

/// What a file holds now.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNow {
    /// Its bytes on disk; none where there is no file.
    pub disk: Option<Arc<[u8]>>,
    /// What the editor shows instead and has not saved.
    pub unsaved: Option<Arc<[u8]>>,
    /// Its permissions.
    pub mode: Option<u32>,
    /// So many of the folders that it would lie in are not there.
    pub missing_folders: usize,
}

/// A file that is to be put back.
#[derive(Clone, Debug, PartialEq)]
pub struct PutBack {
    /// Where it is.
    pub place: Place,
    /// What it holds now.
    pub now: FileNow,
    /// What it is to hold, and its permissions where there is no file now; none for a file that goes, or has gone.
    pub to: Option<(Arc<[u8]>, Option<u32>)>,
    /// It has those permissions also where there is a file now: that is another one than it was.
    pub sets_mode: bool,
    /// So many of the folders that it lies in go with it, if they are empty then.
    pub folders: usize,
}

/// A file that the editor saved otherwise than it was told to.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedOtherwise {
    /// The file.
    pub place: Place,
    /// What it holds; none where there is no file.
    pub holds: Option<Hash>,
}

/// Why not all files were put back.
#[derive(Clone, Debug, PartialEq)]
pub struct NotPutBack {
    /// The file that could not be.
    pub place: Place,
    /// Why, for people and behind its name.
    pub why: String,
    /// Sentences about files that were put back before it and could not be brought forth again; none if all were.
    pub left: Option<String>,
    /// Files that were put back before a cancel, and stay so.
    pub done: Vec<Place>,
    /// What the editor saved otherwise of these.
    pub others: Vec<SavedOtherwise>,
}

/// Where a session works.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The session.
    pub session: SessionId,
    /// Its folder, absolute.
    pub cwd: PathBuf,
    /// Further folders it works in, absolute.
    pub extra_roots: Vec<PathBuf>,
    /// The MCP servers that its client brought along, beside those of the configuration.
    pub servers: Vec<Server>,
}

impl Scope {
    /// All folders the session works in, its own first.
    pub fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.cwd).chain(&self.extra_roots)
    }
}

/// What the system prompt tells of a session's place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// The operating system and its version.
    pub os: String,
    /// The shell that commands run in.
    pub shell: String,
    /// Today's date, `2026-11-30`.
    pub date: String,
    /// The state of the folder's git repository, in words; none outside of one.
    pub git: Option<String>,
}

/// The rules that hold in a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleBook {
    /// The user's own, for all their work.
    pub user: Option<Rules>,
    /// The project's, from its root down to the session's folder.
    pub project: Vec<Rules>,
}

/// A file of rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Where it is.
    pub path: PathBuf,
    /// Its text, cut with a note if it is long.
    pub text: String,
}
