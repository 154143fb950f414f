//! Why the store can't be opened or can't answer. The cause is each error's source.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::folder::FolderError;
use crate::id::SessionId;

/// Why the store can't be opened or can't answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The SQLite library in this program has a fault that loses rows.
    #[error("this program was built with SQLite {found}, which can lose rows: version {needed} or later is needed")]
    OldLibrary {
        /// Its version.
        found: String,
        /// The first version that may be used.
        needed: &'static str,
    },
    /// The state folder can't be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file of the store belongs to another user.
    #[error(
        "{} belongs to the user with the number {owner}, not to the one who runs this: set TALARIA_HOME to a folder of \
         your own", path.display()
    )]
    ForeignOwner {
        /// The path.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// A symbolic link, a folder or a device where a file of the store should be.
    #[error("{} is not a regular file: move it away", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file of the store can't be made, looked at or locked.
    #[error("can't use {}: check that it can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has been opening the store for too long.
    #[error("another process has been opening {} for over 5 s: see whether one hangs, then try again", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Another process holds the database for too long.
    #[error("another process holds the session database {}: see whether one hangs, then try again", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// SQLite can't open the database or prepare it.
    #[error("can't open the session database {}: if it is damaged, `agent doctor --repair` saves what can be read",
            path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The disk has no room for the database.
    #[error("the disk that holds {} is full: make room there", path.display())]
    Full {
        /// The database, or the folder for it.
        path: PathBuf,
        /// What could not be done.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file that is no database.
    #[error("{} is no database: `agent doctor --repair` puts it aside", path.display())]
    NoDatabase {
        /// The file.
        path: PathBuf,
    },
    /// What was not yet moved into a database that is gone or empty. SQLite would throw it away.
    #[error(
        "{} holds what was said, but its database {} is gone or empty: put that file back if you have it, or save what \
         the log holds with `agent doctor --repair`", log.display(), path.display()
    )]
    LoneLog {
        /// The database.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// A standing permission can't be taken back now.
    #[error("can't take back the permission {id}: {reason}")]
    Revoke {
        /// Its number.
        id: i64,
        /// Why, a sentence.
        reason: String,
    },
    /// A database of another program.
    #[error("{} is a database of another program: move it away", path.display())]
    NotOurs {
        /// The database.
        path: PathBuf,
    },
    /// The database was written by a later version of this program.
    #[error(
        "{} has schema {found}, and this program knows schemas up to {known}: update this program, or set \
         TALARIA_HOME to another folder", path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The last one this program knows.
        known: i64,
    },
    /// The database has an older form, which can't be changed where nothing can be written.
    #[error(
        "{} has schema {found}, and this program reads schema {known}: it is brought to that when its folder can be \
         written and its disk has room", path.display()
    )]
    OldAndStill {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: usize,
        /// The one that can be read.
        known: usize,
    },
    /// What was said last is in a log, which can't be read where nothing can be written.
    #[error(
        "{} holds what was said last, and can't be read while {}: {}", log.display(),
        if *is_full { "its disk is full" } else { "its folder can't be written" },
        if *is_full { "make room there".to_owned() } else {
            format!("make that writable, or copy it and {} into a folder of your own and set TALARIA_HOME to that", path.display())
        }
    )]
    StillLog {
        /// The database.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// The disk is full.
        is_full: bool,
        /// Why, if that was tried.
        source: Option<rusqlite::Error>,
    },
    /// The database was read without a lock, since nobody could write to it; and somebody did.
    #[error("another process has written to {} while it was read: try again", path.display())]
    Changed {
        /// The database.
        path: PathBuf,
    },
    /// The database that the sessions are in can't be used.
    #[error("{reason}")]
    Unread {
        /// Why, with what to do.
        reason: String,
    },
    /// A query has met damage.
    #[error(
        "the session database {} is damaged: end all agents, then run `agent doctor --repair`, which saves what can be \
         read", path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was met.
        source: rusqlite::Error,
    },
    /// A query failed.
    #[error("can't read {what} from {}", path.display())]
    Read {
        /// What was asked for.
        what: String,
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// For a file or folder of the store that can't be used.
    pub(super) fn of_file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match is_full(&source) {
            true => Self::Full {
                path,
                source: Box::new(source),
            },
            false => Self::File { path, source },
        }
    }

    /// Whether the only fault is that the disk is full, so that a later try may do better.
    pub fn is_full(&self) -> bool {
        if let Self::Folder(FolderError::Io { source, .. }) = self {
            return is_full(source);
        }
        matches!(self, Self::Full { .. })
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Why a session can't be copied or removed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no such session.
    #[error("there is no session {0}")]
    Unknown(SessionId),
    /// Another process works in it.
    #[error("process {} is working in this session: close it there first", .0.pid)]
    Held(Held),
    /// That can't be written now; a sentence says why.
    #[error("{0}")]
    NotNow(String),
    /// The store can't answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why there is no page of sessions.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The cursor is not one of ours, or belongs to a list of another folder.
    #[error("this cursor does not belong to this list; begin again without one")]
    BadCursor,
    /// The store can't answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nothing was looked for.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Whoever asked does not want to know any more.
    #[error("the search was cancelled")]
    Cancelled,
    /// The index of the history is damaged, and being made anew or waits for that.
    #[error(
        "the index of the history is damaged and is not made anew yet; search again in a moment, and if that stays so, \
         `agent doctor --repair` mends the database. {reason}"
    )]
    NoIndex {
        /// What it waits for, a sentence.
        reason: String,
    },
    /// The index of the history is damaged and can't be made anew.
    #[error("{reason}; what is stored is still listed and shown, and `agent doctor --repair` mends the database")]
    BrokenIndex {
        /// Why, the beginning of a sentence.
        reason: String,
    },
    /// The store can't answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Another process writes to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("process {pid} is working in this session: go on there, or fork the session (session/fork) to go on here")]
pub struct Held {
    /// That process.
    pub pid: u32,
}

impl Held {
    /// What that means for what was to be stored.
    pub(super) fn not_saved(self) -> String {
        format!("Not saved: {self}.")
    }
}
