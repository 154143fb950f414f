//! How a store is opened: from its file, only to look, when there is room, later, or in memory.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::database::Database;
use super::location::{self, Location};
use super::{Store, StoreError, not_open, schema, still};

/// A store that opens at its first use.
pub(super) type Opening = LazyLock<Opened, Box<dyn FnOnce() -> Opened + Send>>;

#[derive(Clone)]
pub(super) struct Opened {
    pub(super) database: Arc<Database>,
    pub(super) warning: Option<String>,
    /// What is to be said of a database that was there before.
    pub(super) absent: Option<String>,
    /// Why the sessions that there are can't be read, where this store stands in for theirs.
    pub(super) unread: Option<String>,
}

impl Opened {
    pub(super) fn new(database: Database, warning: Option<String>) -> Self {
        Self {
            database: Arc::new(database),
            warning,
            absent: None,
            unread: None,
        }
    }
}

impl Store {
    /// Opens the store in a folder, and makes both if they are not there. Only this user can read them.
    ///
    /// # Errors
    /// When folder or database can't be used; nothing in them has been changed then but missing files and modes.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let location = Location::prepare(folder)?;
        let connection = schema::open(&location)?;
        let database = Database::of_file(connection, location.database.clone());
        Ok(Self::of(Opened {
            absent: location.absent.clone(),
            ..Opened::new(database, location.warning())
        }))
    }

    /// Opens the store to look at what is in it: also where nothing can be written, and then without making or changing
    /// any file.
    ///
    /// # Errors
    /// As [`open`](Self::open), and where nothing can be written also when a log beside the database can't be read.
    pub fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        let database = folder.join("state.db");
        if still::is_needed(folder) {
            return Self::open_still(folder);
        }
        // To open it is to make files beside it, for which there may be no room.
        if location::is_full(&database)
            && database.is_file()
            && let Ok(store) = Self::open_still(folder)
        {
            return Ok(store);
        }
        match Self::open(folder) {
            Err(error) if error.is_full() && database.is_file() => {
                let still = Self::open_still(folder);
                still.map_err(|unread| match matches!(unread, StoreError::StillLog { .. }) {
                    true => unread,
                    false => error,
                })
            }
            opened => opened,
        }
    }

    fn open_still(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("state.db");
        let still = still::open(&path)?;
        Ok(Self::of(Opened::new(Database::still(still, path), None)))
    }

    /// A store in a folder whose disk was full when it was to be opened. What is to be stored waits in memory, and each
    /// try to store it is one to open the database first.
    pub fn when_there_is_room(folder: &Path, error: &StoreError) -> Self {
        Self::of(Opened::new(Database::unopened(folder, not_open(error).of_rows()), None))
    }

    /// A store that `open` opens when it is first used, so that a program that starts can answer before that.
    pub fn later(open: impl FnOnce() -> Self + Send + 'static) -> Self {
        let open = move || Opened::clone(&open().0);
        Self(Arc::new(LazyLock::new(Box::new(open))))
    }

    /// Makes a store that lives in memory, for tests.
    pub fn memory() -> Self {
        Self::in_memory(None, None)
    }

    /// Makes a store that lives in memory because there can be no other; `reason` says why.
    pub fn memory_because(reason: &str) -> Self {
        Self::in_memory(Some(nothing_is_saved(reason)), None)
    }

    /// The same in the place of a database that is there and can't be used: of what it may hold nothing is said not to be.
    pub fn memory_in_place(reason: String) -> Self {
        Self::in_memory(Some(nothing_is_saved(&reason)), Some(reason))
    }

    fn in_memory(warning: Option<String>, unread: Option<String>) -> Self {
        let connection = schema::open_memory().expect("the library has run the same steps in every test");
        Self::of(Opened {
            unread,
            ..Opened::new(Database::in_memory(connection), warning)
        })
    }

    fn of(opened: Opened) -> Self {
        let store = Self(Arc::new(LazyLock::new(Box::new(move || opened))));
        LazyLock::force(&store.0);
        store
    }
}

fn nothing_is_saved(reason: &str) -> String {
    format!("Nothing is saved: {reason}")
}
